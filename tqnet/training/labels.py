"""Labels of training questions as classes, any number per question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tqnet.evaluation.linear_probe import indicators
from tqnet.evaluation.metrics import BoolArray
from tqnet.questions import QuestionBank
from tqnet.questions.hierarchy import KnowledgeHierarchy, class_name, hierarchy_faults
from tqnet.questions.question import BankError, KnowledgePath


def readable_labels(bank: QuestionBank) -> BoolArray:
    """Return a mask [n] of questions whose labels and solutions pre-training may read: all but ``valid`` and ``test``.

    Transductive pre-training includes those too, but only their stems, options and figures.
    """
    return np.array([split not in ("valid", "test") for split in bank.column("split")], dtype=bool)


def training_knowledge(bank: QuestionBank) -> list[tuple[KnowledgePath, ...]]:
    """Return the concepts of every question, empty if pre-training may not read them (:func:`readable_labels`).

    Raises:
        BankError: The hierarchy has faults.
    """
    if faults := hierarchy_faults(bank):
        raise BankError(faults)
    return [paths if readable else () for paths, readable in _with_readable(bank, "knowledge")]


def _with_readable(bank: QuestionBank, field: str) -> Iterator[tuple[Any, bool]]:
    return zip(bank.column(field), readable_labels(bank), strict=True)


class ClassLabels:
    """Classes of every question.

    Attributes:
        names: Names of the classes.
        labels: Class numbers of each question.
        labelled: Number of questions with a class.
        multi_label: Whether any question has several.
    """

    def __init__(self, names: Sequence[str], labels: Sequence[Sequence[int]]):
        self.names, self.labels = names, labels
        self.labelled = sum(map(bool, labels))
        self.multi_label = any(len(classes) > 1 for classes in labels)

    def indicators(self, index: np.ndarray) -> BoolArray:
        """Return indicators [b, classes] of the questions ``index``."""
        return indicators([self.labels[question] for question in index], len(self.names))

    def mean(self, normalised: bool) -> Tensor:
        """Average over labelled questions, [classes]: indicators, or 1/n for each of a question's n classes."""
        classes = [k for classes in self.labels for k in classes]
        weights = [1 / len(classes) if normalised else 1.0 for classes in self.labels for _ in classes]
        total = np.bincount(classes, weights, minlength=len(self.names))
        return torch.from_numpy(total / max(1, self.labelled)).float()


def type_labels(bank: QuestionBank) -> ClassLabels:
    """Return question types, where labels may be read."""
    types = [kind if readable else None for kind, readable in _with_readable(bank, "type")]
    names = sorted({kind for kind in types if kind})
    return ClassLabels(names, [(names.index(kind),) if kind else () for kind in types])


def difficulty_labels(bank: QuestionBank, max_levels: int) -> ClassLabels:
    """Bin difficulties, where labels may be read, into at most ``max_levels`` levels, easiest first.

    With few distinct values, each is a level; otherwise levels hold equally many questions, as far as ties allow.
    """
    known = {i: d for i, (d, readable) in enumerate(_with_readable(bank, "difficulty")) if readable and d is not None}
    values = np.array(list(known.values()), dtype=float)
    ends = np.unique(values)
    if len(ends) > max_levels:
        ends = np.unique(np.quantile(values, np.arange(1, max_levels + 1) / max_levels, method="inverted_cdf"))
    labels: list[tuple[int, ...]] = [()] * len(bank)
    for question, level in zip(known, np.searchsorted(ends, values), strict=True):
        labels[question] = (int(level),)
    return ClassLabels([f"up to {end:g}" for end in ends], labels)


class ConceptLabels(ClassLabels):
    """Concepts of every question at one level of the hierarchy (1 is the coarsest).

    Attributes:
        first: int [n], a question's first class; -1 without one at that level.

    Raises:
        ValueError: The hierarchy has no such level.
    """

    def __init__(self, hierarchy: KnowledgeHierarchy, level: int):
        super().__init__(*hierarchy.labels(level))
        self.level = level
        self.first = np.array([classes[0] if len(classes) else -1 for classes in self.labels])

    @classmethod
    def from_bank(cls, bank: QuestionBank, level: int) -> ConceptLabels:
        """Build the labels of ``bank``.

        Raises:
            BankError: The hierarchy has faults.
            ValueError: The hierarchy has no such level.
        """
        return cls(KnowledgeHierarchy.from_bank(bank), level)

    def matrix(self, index: np.ndarray) -> np.ndarray:
        """Return bool [b, b], True where two different rows of ``index`` share a concept."""
        has = self.indicators(index).astype(np.float32)
        shared = has @ has.T > 0
        np.fill_diagonal(shared, False)
        return shared

    def indicators_of(self, bank: QuestionBank) -> np.ndarray:
        """Return bool [n, classes] for other questions, ignoring unknown concepts."""
        number = {name: i for i, name in enumerate(self.names)}
        classes = [{class_name(path[: self.level]) for path in paths} for paths in bank.column("knowledge")]
        return indicators([[number[name] for name in names if name in number] for names in classes], len(self.names))


def class_head(width: int, labels: ClassLabels, softmax: bool = True) -> nn.Linear:
    """Build a head [b, width] -> logits [b, classes] of a softmax, or of a sigmoid per class.

    The bias starts at the class frequencies, so training need not learn them first.
    """
    head = nn.Linear(width, len(labels.names))
    nn.init.normal_(head.weight, std=0.02)
    frequency = labels.mean(normalised=softmax).clamp(1e-6, 1 - 1e-6)
    head.bias.data = frequency.log() if softmax else frequency.logit()
    return head
