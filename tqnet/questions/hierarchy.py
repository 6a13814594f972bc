"""The hierarchy of knowledge concepts that the paths of a bank span."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tqnet.questions.bank import QuestionBank
from tqnet.questions.question import BankError, Fault, FieldError, KnowledgePath

# Concepts with unique names: which is under which, and what contradicts that.


@dataclass
class ConceptTree:
    """A forest of named concepts that grows link by link.

    Attributes:
        parents: The parents of each concept in the order they were named, with the line that did; None is
            the parent of a root. More than one is a fault, but later links are checked against all.
    """

    parents: dict[str, dict[str | None, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> tuple[ConceptTree, list[Fault]]:
        """The tree of a ``knowledge.jsonl`` (an object with ``concept`` and ``parent`` or null a line)."""
        tree, faults = cls(), []
        for line, text in enumerate(file.read_bytes().split(b"\n"), 1):
            if not text.strip():
                continue
            try:
                concept, parent = _read_link(text)
                tree.add(concept, parent, line)
            except FieldError as error:
                faults.append(Fault(str(file), line, error.field, error.message))
        faults += [Fault(str(file), line, "parent", message) for line, message in tree._unknown_parents()]
        return tree, sorted(faults, key=lambda fault: fault.line)

    def add(self, concept: str, parent: str | None, line: int) -> None:
        """Puts ``concept`` under ``parent`` (None: at the root); a link that is known already changes nothing.

        Raises:
            FieldError: The concept has another parent already, or the link closes a cycle.
        """
        known = self.parents.setdefault(concept, {})
        if parent in known:
            return
        cycle = None if parent is None else self._way_up(parent, concept)
        known[parent] = line
        if cycle:
            raise FieldError("parent", f"cycle: {' > '.join((*reversed(cycle), cycle[-1]))}")
        if len(known) > 1:
            first, at = next(iter(known.items()))
            raise FieldError("parent", f"{concept!r} has two parents: {_show(first)} (line {at}) and {_show(parent)}")

    def contradictions(self, path: KnowledgePath) -> Iterator[tuple[int, str]]:
        """(position in ``path``, what is wrong there) for each concept that is unknown or elsewhere."""
        above: str | None = None
        for j, name in enumerate(path):
            known = self.parents.get(name)
            if known is None:
                yield j, f"unknown concept {name!r}"
            elif above not in known and (above is None or above in self.parents):
                declared = _show(next(iter(known)))
                yield j, f"{name!r} is under {_show(above)} here, but declared under {declared}"
            above = name

    def _way_up(self, start: str, goal: str) -> list[str] | None:
        """The concepts from ``start`` up to ``goal``, or None; a loop, as trees may be of any depth."""
        came_from: dict[str, str | None] = {start: None}
        waiting = [start]
        while waiting:
            concept = waiting.pop()
            if concept == goal:
                way: list[str] = []
                step: str | None = concept
                while step is not None:
                    way.append(step)
                    step = came_from[step]
                return way[::-1]
            for parent in self.parents.get(concept, {}):
                if parent is not None and parent not in came_from:
                    came_from[parent] = concept
                    waiting.append(parent)
        return None

    def _unknown_parents(self) -> Iterator[tuple[int, str]]:
        for known in self.parents.values():
            for parent, line in known.items():
                if parent is not None and parent not in self.parents:
                    yield line, f"unknown concept {parent!r}"


def _show(parent: str | None) -> str:
    return "no parent" if parent is None else repr(parent)


def _read_link(text: bytes) -> tuple[str, str | None]:
    try:
        record: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise FieldError("record", "not valid JSON") from None
    if not isinstance(record, dict):
        raise FieldError("record", "expected an object with concept and parent")
    for name in ("concept", "parent"):
        if name not in record:
            raise FieldError(name, "missing")
    concept, parent = record["concept"], record["parent"]
    if not isinstance(concept, str) or not concept.strip():
        raise FieldError("concept", "expected a non-empty string")
    if parent is not None and not isinstance(parent, str):
        raise FieldError("parent", "expected a string or null")
    return concept, parent


class KnowledgeHierarchy:
    """The concepts of a bank, each identified by its whole path, since names recur under many parents.

    Attributes:
        concepts: Every path and every prefix of one, sorted; a concept is referred to by its place here.
        questions: For each question, the concepts its paths end in (indices into `concepts`), ascending.
    """

    def __init__(self, knowledge: list[tuple[KnowledgePath, ...]]):
        self.concepts: list[KnowledgePath] = sorted(
            {path[:level] for paths in knowledge for path in paths for level in range(1, len(path) + 1)}
        )
        index = {concept: i for i, concept in enumerate(self.concepts)}
        self.questions = [tuple(sorted({index[path] for path in paths})) for paths in knowledge]

    @classmethod
    def from_bank(cls, bank: QuestionBank, unique_names: bool = False) -> KnowledgeHierarchy:
        """The hierarchy of ``bank``, checked against its ``knowledge.jsonl`` if it has one.

        Args:
            unique_names: Without such a file, take a name under two parents for a fault.

        Raises:
            BankError: See `hierarchy_faults`.
        """
        if faults := hierarchy_faults(bank, unique_names):
            raise BankError(faults)
        return cls(bank.column("knowledge"))

    @property
    def depth(self) -> int:
        """The length of the longest path; 0 without any."""
        return max(map(len, self.concepts), default=0)

    @property
    def class_counts(self) -> list[int]:
        """How many concepts there are at each level, coarsest first."""
        counts = [0] * self.depth
        for concept in self.concepts:
            counts[len(concept) - 1] += 1
        return counts

    @property
    def ambiguous_names(self) -> list[str]:
        """Names that stand for several concepts, i.e. recur under different parents, sorted."""
        concepts_of = Counter(concept[-1] for concept in self.concepts)
        return sorted(name for name, count in concepts_of.items() if count > 1)

    def labels(self, level: int) -> tuple[list[str], list[tuple[int, ...]]]:
        """What a probe of one level predicts: class names, and the classes of each question.

        Args:
            level: 1 is the coarsest.

        Returns:
            The class names (see `class_name`) and for each question the indices of its classes,
            ascending; empty if all of its paths are shorter than ``level``.

        Raises:
            ValueError: The hierarchy has no such level.
        """
        if not 1 <= level <= self.depth:
            raise ValueError(f"level: expected 1 to {self.depth}, got {level}")
        classes = [concept for concept in self.concepts if len(concept) == level]
        index = {concept: i for i, concept in enumerate(classes)}
        # The class of each concept is looked up once, not once per question.
        class_of = [index[c[:level]] if len(c) >= level else None for c in self.concepts]
        labels = [
            tuple(sorted({k for concept in concepts if (k := class_of[concept]) is not None}))
            for concepts in self.questions
        ]
        return [class_name(concept) for concept in classes], labels


def class_name(concept: KnowledgePath) -> str:
    """What a probe calls a concept: its path, joined by " > "."""
    return " > ".join(concept)


def hierarchy_faults(bank: QuestionBank, unique_names: bool = False) -> list[Fault]:
    """What is wrong with the paths of ``bank`` (none of it, unless names are unique).

    Names are unique if ``knowledge.jsonl`` lies beside the bank: then its own faults (two parents, a cycle,
    an unknown parent) and the paths that contradict it are returned. Without the file, ``unique_names``
    takes the paths themselves for the declaration: a name under two parents or a cycle is a fault. (A path
    may then start anywhere: nothing says that its first concept is a root.)
    """
    declaration = bank.path.parent / "knowledge.jsonl" if bank.path else None
    if declaration and declaration.is_file():
        tree, faults = ConceptTree.read(declaration)
        return faults + _contradictions(bank, tree)
    return _path_faults(bank) if unique_names else []


def load_bank(
    path: str | os.PathLike[str], on_error: Literal["stop", "skip"] = "stop", verify_images: bool = False
) -> QuestionBank:
    """The bank at ``path`` as `QuestionBank.load` reads it, its paths checked against its ``knowledge.jsonl`` too.

    Args:
        on_error: ``skip`` also leaves out the questions that contradict the declared hierarchy, with a warning.

    Raises:
        FileNotFoundError: No such bank.
        BankError: Faults; with ``skip`` only if no record is left, or the declaration itself is to blame.
    """
    bank = QuestionBank.load(path, on_error, verify_images)
    faults = hierarchy_faults(bank)
    if not faults:
        return bank
    kept = bank.select(np.flatnonzero(~np.isin(bank.column("line"), [fault.line for fault in faults])))
    if on_error == "stop" or not len(kept) or any(fault.file != str(bank.path) for fault in faults):
        raise BankError(faults)
    left_out = len(bank) - len(kept)
    kept.skipped += left_out
    message = f"{bank.path}: {left_out} of {len(bank)} records left out, {len(faults)} faults; the first: {faults[0]}"
    warnings.warn(message, stacklevel=2)
    return kept


def _contradictions(bank: QuestionBank, tree: ConceptTree) -> list[Fault]:
    faults = []
    for lines, knowledge in bank.batches("line", "knowledge"):
        for line, paths in zip(lines, knowledge, strict=True):
            for i, path in enumerate(paths):
                for j, problem in tree.contradictions(path):
                    faults.append(Fault(str(bank.path), line, f"knowledge[{i}][{j}]", problem))
    return faults


def _path_faults(bank: QuestionBank) -> list[Fault]:
    """Names under two parents and cycles across all paths, each parent and each cycle once."""
    file = str(bank.path or "questions")
    tree = ConceptTree()
    faults = []
    for lines, knowledge in bank.batches("line", "knowledge"):
        for line, paths in zip(lines, knowledge, strict=True):
            for i, path in enumerate(paths):
                for j, name in enumerate(path[1:], 1):
                    try:
                        tree.add(name, path[j - 1], line)
                    except FieldError as error:
                        faults.append(Fault(file, line, f"knowledge[{i}][{j}]", error.message))
    return faults


# How far questions are from one another in the knowledge hierarchy (QuesCo, Eq. 1).


IntArray = npt.NDArray[np.integer]


class KnowledgeDistance:
    """KH-distances between the questions of a bank: L - u + 1, u the level of the deepest concept that they share.

    Of a question with several paths, any of them may share it; a level that a path does not reach is shared by none.
    L + 1: they share nothing; L + 2: one of them has no concept, so that nothing is known.

    Questions of the same concepts are alike here: distances are computed between sets of concepts, and looked up.

    Attributes:
        depth: L, the length of the longest path.
        set_of: int [n], number of each question's set of concepts; 0 is that of none.
    """

    def __init__(self, knowledge: Sequence[tuple[KnowledgePath, ...]]):
        hierarchy = KnowledgeHierarchy(list(knowledge))
        self.depth = hierarchy.depth
        numbers: dict[tuple[int, ...], int] = {(): 0}
        self.set_of = np.array([numbers.setdefault(concepts, len(numbers)) for concepts in hierarchy.questions], int)
        self._above = [self._prefixes(hierarchy, concepts) for concepts in numbers]
        under: dict[KnowledgePath, list[int]] = defaultdict(list)
        for number, concepts in enumerate(self._above):
            for concept in concepts:
                under[concept].append(number)
        self._under = {concept: np.array(sets) for concept, sets in under.items()}
        self._row = lru_cache(maxsize=1024)(self._compute_row)

    def __call__(self, first: IntArray, second: IntArray) -> npt.NDArray[np.int16]:
        """[b, k], from each of the questions ``first`` [b] to each of the questions ``second`` [k]."""
        return self.rows(first)[:, self.set_of[second]]

    def rows(self, questions: IntArray) -> npt.NDArray[np.int16]:
        """[b, sets], from each of these questions to every set of concepts."""
        rows = [self._row(number) for number in self.set_of[questions].tolist()]
        return np.stack(rows) if rows else np.empty((0, len(self._above)), dtype=np.int16)

    def _compute_row(self, number: int) -> npt.NDArray[np.int16]:
        row = np.full(len(self._above), self.depth + 1 if number else self.depth + 2, dtype=np.int16)
        row[0] = self.depth + 2
        for concept in self._above[number]:  # coarse before fine
            row[self._under[concept]] = self.depth - len(concept) + 1
        return row

    @staticmethod
    def _prefixes(hierarchy: KnowledgeHierarchy, concepts: tuple[int, ...]) -> list[KnowledgePath]:
        paths = (hierarchy.concepts[concept] for concept in concepts)
        return sorted({path[:level] for path in paths for level in range(1, len(path) + 1)}, key=len)
