"""The hierarchy of knowledge concepts: declared in a `knowledge.jsonl` or spanned by the paths of a bank.

`KnowledgeDistance` are distances in it (QuesCo, Eq. 1).
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tqnet.questions.bank import QuestionBank
from tqnet.questions.question import BankError, Fault, FieldError, KnowledgePath, report_faults
from tqnet.questions.reading import read_records

IntArray = npt.NDArray[np.integer]


@dataclass
class ConceptForest:
    """A forest of concepts with unique names that grows link by link.

    Attributes:
        parents: The parents of each concept in order of appearance, with their line; None is the parent of a root.
            More than one is a fault, but later links are checked against all.
    """

    parents: dict[str, dict[str | None, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> tuple[ConceptForest, list[Fault]]:
        """Read a ``knowledge.jsonl`` (an object with ``concept`` and ``parent`` or null per line)."""
        tree = cls()

        def read(record: dict[str, Any], line: int) -> tuple[()]:
            tree.add(*_read_link(record), line)
            return ()

        _, faults = read_records(file, read)
        for known in tree.parents.values():
            for parent, line in known.items():
                if parent is not None and parent not in tree.parents:
                    faults.append(Fault(str(file), line, "parent", f"unknown concept {parent!r}"))
        return tree, sorted(faults, key=lambda fault: fault.line)

    def add(self, concept: str, parent: str | None, line: int) -> None:
        """Put ``concept`` under ``parent`` (None: at the root); a known link changes nothing.

        Raises:
            FieldError: The concept has another parent already, or the link closes a cycle.
        """
        known = self.parents.setdefault(concept, {})
        if parent in known:
            return
        cycle = None if parent is None else self._way_up(parent, concept)
        known[parent] = line
        if cycle:
            raise FieldError("parent", f"cycle: {' > '.join((*cycle, cycle[0]))}")
        if len(known) > 1:
            first, at = next(iter(known.items()))
            raise FieldError("parent", f"{concept!r} has two parents: {_show(first)} (line {at}) and {_show(parent)}")

    def contradictions(self, path: KnowledgePath) -> Iterator[tuple[int, str]]:
        """Yield (position in ``path``, message) for each concept that is unknown or elsewhere."""
        for j, (above, name) in enumerate(zip((None, *path), path, strict=False)):
            known = self.parents.get(name)
            if known is None:
                yield j, f"unknown concept {name!r}"
            elif above not in known and (above is None or above in self.parents):
                declared = _show(next(iter(known)))
                yield j, f"{name!r} is under {_show(above)} here, but declared under {declared}"

    def _way_up(self, start: str, goal: str) -> list[str] | None:
        """Return the concepts from ``goal`` down to ``start``, or None; iterative, as trees may be of any depth."""
        below: dict[str, str | None] = {start: None}
        waiting = [start]
        while waiting and goal not in below:
            concept = waiting.pop()
            for parent in self.parents.get(concept, {}):
                if parent is not None and parent not in below:
                    below[parent] = concept
                    waiting.append(parent)
        way: list[str] = []
        step = goal if goal in below else None
        while step is not None:
            way.append(step)
            step = below[step]
        return way or None


def _show(parent: str | None) -> str:
    return "no parent" if parent is None else repr(parent)


def _read_link(record: dict[str, Any]) -> tuple[str, str | None]:
    for name in ("concept", "parent"):
        if name not in record:
            raise FieldError(name, "missing")
    concept, parent = record["concept"], record["parent"]
    if not isinstance(concept, str) or not concept.strip():
        raise FieldError("concept", "expected a non-empty string")
    if parent is not None and not isinstance(parent, str):
        raise FieldError("parent", "expected a string or null")
    return concept, parent


def prefixes(paths: Iterable[KnowledgePath]) -> set[KnowledgePath]:
    """Return every path and every prefix of one."""
    return {path[:level] for path in paths for level in range(1, len(path) + 1)}


class KnowledgeHierarchy:
    """The concepts of a bank, each identified by its whole path, since names recur under many parents.

    Attributes:
        concepts: Every path and every prefix of one, sorted; a concept is referred to by its index here.
        questions: For each question, the concepts its paths end in (indices into `concepts`), ascending.
    """

    def __init__(self, knowledge: list[tuple[KnowledgePath, ...]]):
        self.concepts: list[KnowledgePath] = sorted(prefixes(path for paths in knowledge for path in paths))
        index = {concept: i for i, concept in enumerate(self.concepts)}
        self.questions = [tuple(sorted({index[path] for path in paths})) for paths in knowledge]

    @classmethod
    def from_bank(cls, bank: QuestionBank, unique_names: bool = False) -> KnowledgeHierarchy:
        """Return the hierarchy of ``bank``, or raise BankError with its `hierarchy_faults`."""
        if faults := hierarchy_faults(bank, unique_names):
            raise BankError(faults)
        return cls(bank.column("knowledge"))

    @property
    def depth(self) -> int:
        """The length of the longest path; 0 without any."""
        return max(map(len, self.concepts), default=0)

    @property
    def class_counts(self) -> list[int]:
        """The number of concepts at each level, coarsest first."""
        counts = Counter(map(len, self.concepts))
        return [counts[level] for level in range(1, self.depth + 1)]

    @property
    def ambiguous_names(self) -> list[str]:
        """Names of several concepts, i.e. under different parents, sorted."""
        counts = Counter(concept[-1] for concept in self.concepts)
        return sorted(name for name, count in counts.items() if count > 1)

    def labels(self, level: int) -> tuple[list[str], list[tuple[int, ...]]]:
        """Return the class names of one level (1 is the coarsest), and the classes of each question, ascending.

        A question whose paths are all shorter has none.

        Raises:
            ValueError: The hierarchy has no such level.
        """
        if not 1 <= level <= self.depth:
            raise ValueError(f"level: expected 1 to {self.depth}, got {level}")
        classes = [concept for concept in self.concepts if len(concept) == level]
        index = {concept: i for i, concept in enumerate(classes)}
        class_of = [index.get(concept[:level]) for concept in self.concepts]
        labels = [
            tuple(sorted({k for concept in concepts if (k := class_of[concept]) is not None}))
            for concepts in self.questions
        ]
        return [class_name(concept) for concept in classes], labels


def class_name(concept: KnowledgePath) -> str:
    """Name a concept by its path, joined by " > "."""
    return " > ".join(concept)


def hierarchy_faults(bank: QuestionBank, unique_names: bool = False) -> list[Fault]:
    """Return the faults of the paths of ``bank``; there are none unless names are unique.

    Names are unique if ``knowledge.jsonl`` lies next to the bank: then its own faults (two parents, a cycle,
    an unknown parent) and the paths that contradict it are returned. Without the file, ``unique_names``
    takes the paths themselves for the declaration: a name under two parents or a cycle is a fault. (A path
    may then start anywhere: nothing says that its first concept is a root.)
    """
    declaration = bank.path.parent / "knowledge.jsonl" if bank.path else None
    if declaration and declaration.is_file():
        tree, faults = ConceptForest.read(declaration)
        for line, field, path in _paths(bank):
            for j, problem in tree.contradictions(path):
                faults.append(Fault(str(bank.path), line, f"{field}[{j}]", problem))
        return faults
    return _path_faults(bank) if unique_names else []


def load_bank(
    path: str | os.PathLike[str], on_error: Literal["stop", "skip"] = "stop", verify_images: bool = False
) -> QuestionBank:
    """Load the bank at ``path`` as `QuestionBank.load` does, and check its paths against its ``knowledge.jsonl``.

    Args:
        on_error: ``skip`` also leaves out the questions that contradict the declared hierarchy, with a warning.

    Raises:
        FileNotFoundError: No such bank.
        BankError: Faults; with ``skip`` only if no record is left, or the declaration itself is faulty.
    """
    bank = QuestionBank.load(path, on_error, verify_images)
    faults = hierarchy_faults(bank)
    if not faults:
        return bank
    kept = bank.select(np.flatnonzero(~np.isin(bank.column("line"), [fault.line for fault in faults])))
    if any(fault.file != str(bank.path) for fault in faults):  # no question is to blame
        on_error = "stop"
    left_out = len(bank) - len(kept)
    kept.skipped += left_out
    report_faults(bank.path, "records", faults, left_out, len(kept), on_error)
    return kept


def _paths(bank: QuestionBank) -> Iterator[tuple[int, str, KnowledgePath]]:
    """Yield (line, field, path) of every path."""
    for lines, knowledge in bank.batches("line", "knowledge"):
        for line, paths in zip(lines, knowledge, strict=True):
            for i, path in enumerate(paths):
                yield line, f"knowledge[{i}]", path


def _path_faults(bank: QuestionBank) -> list[Fault]:
    """Return names under two parents and cycles across all paths, each parent and each cycle once."""
    tree, faults = ConceptForest(), []
    for line, place, path in _paths(bank):
        for j, name in enumerate(path[1:], 1):
            try:
                tree.add(name, path[j - 1], line)
            except FieldError as error:
                faults.append(Fault(str(bank.path or "questions"), line, f"{place}[{j}]", error.message))
    return faults


class KnowledgeDistance:
    """KH-distances between the questions of a bank: L - u + 1, u the level of the deepest concept that they share.

    Any of several paths may share it; a level that a path does not reach is shared by none. L + 1: they share nothing;
    L + 2: one of them has no concept, so that nothing is known. Distances are computed between sets of concepts.

    Attributes:
        depth: L, the length of the longest path.
        set_of: int [n], number of each question's set of concepts; 0 is the empty set.
    """

    def __init__(self, knowledge: Sequence[tuple[KnowledgePath, ...]]):
        hierarchy = KnowledgeHierarchy(list(knowledge))
        self.depth = hierarchy.depth
        numbers: dict[tuple[int, ...], int] = {(): 0}
        self.set_of = np.array([numbers.setdefault(concepts, len(numbers)) for concepts in hierarchy.questions], int)
        path_sets = ([hierarchy.concepts[concept] for concept in concepts] for concepts in numbers)
        self._above = [sorted(prefixes(paths), key=len) for paths in path_sets]
        under: dict[KnowledgePath, list[int]] = defaultdict(list)
        for number, concepts in enumerate(self._above):
            for concept in concepts:
                under[concept].append(number)
        self._under = {concept: np.array(sets) for concept, sets in under.items()}
        self._row = lru_cache(maxsize=1024)(self._compute_row)

    def __call__(self, first: IntArray, second: IntArray) -> npt.NDArray[np.int16]:
        """Return the distances [b, k] from the questions ``first`` [b] to the questions ``second`` [k]."""
        return self.rows(first)[:, self.set_of[second]]

    def rows(self, questions: IntArray) -> npt.NDArray[np.int16]:
        """Return the distances [b, sets] from these questions to every set of concepts."""
        rows = [self._row(number) for number in self.set_of[questions].tolist()]
        return np.stack(rows) if rows else np.empty((0, len(self._above)), dtype=np.int16)

    def _compute_row(self, number: int) -> npt.NDArray[np.int16]:
        row = np.full(len(self._above), self.depth + 1 if number else self.depth + 2, dtype=np.int16)
        row[0] = self.depth + 2
        for concept in self._above[number]:  # coarse before fine
            row[self._under[concept]] = self.depth - len(concept) + 1
        return row
