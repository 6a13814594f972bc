"""Labels of the training questions as classes, several or none to a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tqnet.evaluation.metrics import BoolArray
from tqnet.evaluation.probe import indicators
from tqnet.questions import QuestionBank
from tqnet.questions.hierarchy import KnowledgeHierarchy, class_name, hierarchy_faults
from tqnet.questions.question import BankError, KnowledgePath


def readable_labels(bank: QuestionBank) -> BoolArray:
    """[n], whose labels and solution a pre-training may read: not those of ``valid`` and ``test``.

    They are among the questions where it is transductive, with stem and figures alone.
    """
    return np.array([split not in ("valid", "test") for split in bank.column("split")], dtype=bool)


def training_knowledge(bank: QuestionBank) -> list[tuple[KnowledgePath, ...]]:
    """The concepts of every question that a pre-training may read (:func:`readable_labels`).

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
        names: Of the classes.
        labels: Numbers of each question's classes.
        labelled: How many questions have a class.
        multi_label: Whether some question has several.
    """

    def __init__(self, names: Sequence[str], labels: Sequence[Sequence[int]]):
        self.names, self.labels = names, labels
        self.labelled = sum(map(bool, labels))
        self.multi_label = any(len(classes) > 1 for classes in labels)

    def indicators(self, index: np.ndarray) -> BoolArray:
        """[b, classes] of the questions ``index``."""
        return indicators([self.labels[question] for question in index], len(self.names))

    def mean(self, normalised: bool) -> Tensor:
        """[classes], mean over the labelled questions of their indicators, or of 1/n where a question has n classes."""
        classes = [k for classes in self.labels for k in classes]
        weights = [1 / len(classes) if normalised else 1.0 for classes in self.labels for _ in classes]
        total = np.bincount(classes, weights, minlength=len(self.names))
        return torch.from_numpy(total / max(1, self.labelled)).float()


def type_labels(bank: QuestionBank) -> ClassLabels:
    """Types of the questions whose labels may be read."""
    types = [kind if readable else None for kind, readable in _with_readable(bank, "type")]
    names = sorted({kind for kind in types if kind})
    return ClassLabels(names, [(names.index(kind),) if kind else () for kind in types])


def difficulty_labels(bank: QuestionBank, most: int) -> ClassLabels:
    """Difficulties of the questions whose labels may be read, cut into at most ``most`` levels, the easiest first.

    Every value is a level of its own where they are few; otherwise the levels are of as many questions each, as far
    as equal values allow.
    """
    known = {i: d for i, (d, readable) in enumerate(_with_readable(bank, "difficulty")) if readable and d is not None}
    values = np.array(list(known.values()), dtype=float)
    ends = np.unique(values)
    if len(ends) > most:
        ends = np.unique(np.quantile(values, np.arange(1, most + 1) / most, method="inverted_cdf"))
    labels: list[tuple[int, ...]] = [()] * len(bank)
    for question, level in zip(known, np.searchsorted(ends, values), strict=True):
        labels[question] = (int(level),)
    return ClassLabels([f"up to {end:g}" for end in ends], labels)


class ConceptLabels(ClassLabels):
    """Concepts of every question at one level of the hierarchy (1 is the coarsest).

    Attributes:
        first: int [n], a question's first class; -1 where it has none at that level.

    Raises:
        ValueError: The hierarchy has no such level.
    """

    def __init__(self, hierarchy: KnowledgeHierarchy, level: int):
        super().__init__(*hierarchy.labels(level))
        self.level = level
        self.first = np.array([classes[0] if len(classes) else -1 for classes in self.labels])

    @classmethod
    def from_bank(cls, bank: QuestionBank, level: int) -> ConceptLabels:
        """The labels of the questions of ``bank``.

        Raises:
            BankError: Its hierarchy has faults.
            ValueError: It has no such level.
        """
        return cls(KnowledgeHierarchy.from_bank(bank), level)

    def matrix(self, index: np.ndarray) -> np.ndarray:
        """bool [b, b], True where two different rows of ``index`` share a concept."""
        has = self.indicators(index).astype(np.float32)
        shared = has @ has.T > 0
        np.fill_diagonal(shared, False)
        return shared

    def indicators_of(self, bank: QuestionBank) -> np.ndarray:
        """bool [n, classes] of other questions; concepts that are unknown here are left out."""
        number = {name: i for i, name in enumerate(self.names)}
        classes = [{class_name(path[: self.level]) for path in paths} for paths in bank.column("knowledge")]
        return indicators([[number[name] for name in names if name in number] for names in classes], len(self.names))


def class_head(width: int, labels: ClassLabels, softmax: bool = True) -> nn.Linear:
    """[b, width] -> logits [b, classes], of a softmax or of a logistic function each.

    It starts at how frequent the classes are, so that the first steps go into what tells them apart.
    """
    head = nn.Linear(width, len(labels.names))
    nn.init.normal_(head.weight, std=0.02)
    frequency = labels.mean(normalised=softmax).clamp(1e-6, 1 - 1e-6)
    head.bias.data = frequency.log() if softmax else frequency.logit()
    return head
