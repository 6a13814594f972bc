"""The hierarchy of knowledge concepts that the paths of a bank span."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from typing import Literal

import numpy as np

from tqnet.questions.bank import QuestionBank
from tqnet.questions.concepts import ConceptTree
from tqnet.questions.faults import BankError, Fault
from tqnet.questions.question import FieldError, KnowledgePath


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
