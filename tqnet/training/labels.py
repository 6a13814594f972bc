"""Labels of the training questions as classes, several or none to a question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from tqnet.evaluation.metrics import BoolArray
from tqnet.evaluation.probe import indicators
from tqnet.questions import QuestionBank
from tqnet.questions.hierarchy import KnowledgeHierarchy, class_name, hierarchy_faults
from tqnet.questions.question import BankError, KnowledgePath


def is_told(bank: QuestionBank) -> BoolArray:
    """[n], whose labels and solution a pre-training may read: not those of ``valid`` and ``test``.

    They are among the questions where it is transductive, with stem and figures alone.
    """
    return np.array([split not in ("valid", "test") for split in bank.column("split")], dtype=bool)


class ClassLabels:
    """Classes of every question.

    Attributes:
        names: Of the classes.
        labels: Numbers of each question's classes.
    """

    def __init__(self, names: Sequence[str], labels: Sequence[Sequence[int]]):
        self.names, self.labels = names, labels

    def indicators(self, index: np.ndarray) -> BoolArray:
        """[b, classes] of the questions ``index``."""
        return indicators([self.labels[question] for question in index], len(self.names))

    @property
    def labelled(self) -> int:
        """How many questions have a class."""
        return sum(map(bool, self.labels))

    @property
    def distribution(self) -> Tensor:
        """[classes], mean over the labelled questions of (.., 1/n, .., 1/n, ..), n classes weighing 1/n each."""
        classes = [k for own in self.labels for k in own]
        weights = [1 / len(own) for own in self.labels for _ in own]
        total = np.bincount(classes, weights, minlength=len(self.names))
        return torch.from_numpy(total / max(1, self.labelled)).float()


def type_labels(bank: QuestionBank) -> ClassLabels:
    """Types of the questions whose labels may be read."""
    types = [own if told else None for own, told in zip(bank.column("type"), is_told(bank), strict=True)]
    names = sorted({own for own in types if own})
    number = {name: k for k, name in enumerate(names)}
    return ClassLabels(names, [(number[own],) if own else () for own in types])


def difficulty_labels(bank: QuestionBank, most: int) -> ClassLabels:
    """Difficulties of the questions whose labels may be read, cut into at most ``most`` levels, the easiest first.

    Every value is a level of its own where they are few; otherwise the levels are of as many questions each, as far
    as equal values allow.
    """
    told = is_told(bank)
    known = [i for i, own in enumerate(bank.column("difficulty")) if told[i] and own is not None]
    values = np.array(bank.select(known).column("difficulty"), dtype=float)
    ends = np.unique(values)
    if len(ends) > most:
        ends = np.unique(np.quantile(values, np.arange(1, most + 1) / most, method="inverted_cdf"))
    labels: list[tuple[int, ...]] = [()] * len(bank)
    for question, level in zip(known, np.searchsorted(ends, values), strict=True):
        labels[question] = (int(level),)
    return ClassLabels([f"up to {end:g}" for end in ends], labels)


def label_head(width: int, labels: ClassLabels) -> nn.Linear:
    """[b, width] -> logits [b, classes] of a softmax.

    It starts at how frequent the classes are, so that the first steps go into what tells them apart.
    """
    head = nn.Linear(width, len(labels.names))
    nn.init.normal_(head.weight, std=0.02)
    head.bias.data = labels.distribution.clamp(min=1e-6).log()
    return head


# Knowledge concepts as labels of a batch.


def training_knowledge(bank: QuestionBank) -> list[tuple[KnowledgePath, ...]]:
    """The concepts of every question that a pre-training may read.

    Questions of ``valid`` and ``test``, which are among them if it is transductive, keep theirs to themselves.

    Raises:
        BankError: The hierarchy has faults.
    """
    if faults := hierarchy_faults(bank):
        raise BankError(faults)
    return [own if told else () for own, told in zip(bank.column("knowledge"), is_told(bank), strict=True)]


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
        self.first = np.array([own[0] if len(own) else -1 for own in self.labels])

    @classmethod
    def from_bank(cls, bank: QuestionBank, level: int) -> ConceptLabels:
        """The labels of the questions of ``bank``.

        Raises:
            BankError: Its hierarchy has faults.
            ValueError: It has no such level.
        """
        return cls(KnowledgeHierarchy.from_bank(bank), level)

    @cached_property
    def multi_label(self) -> bool:
        """Whether some question has several."""
        return any(len(own) > 1 for own in self.labels)

    @property
    def frequency(self) -> Tensor:
        """[classes], share of the labelled questions that have each."""
        counts = np.bincount([k for own in self.labels for k in own], minlength=len(self.names))
        return torch.from_numpy(counts / self.labelled).float()

    def matrix(self, index: np.ndarray) -> np.ndarray:
        """bool [b, b], True where two different rows of ``index`` share a concept."""
        has = self.indicators(index).astype(np.float32)
        shared = has @ has.T > 0
        np.fill_diagonal(shared, False)
        return shared

    def indicators_of(self, bank: QuestionBank) -> np.ndarray:
        """bool [n, classes] of other questions; concepts that are unknown here are left out."""
        known = {name: i for i, name in enumerate(self.names)}
        paths = [{class_name(path[: self.level]) for path in own} for own in bank.column("knowledge")]
        return indicators([[known[name] for name in own if name in known] for own in paths], len(self.names))


def concept_head(width: int, labels: ConceptLabels) -> nn.Linear:
    """[b, width] -> logits [b, classes].

    It starts at how frequent the concepts are, so that the first steps go into what tells them apart.
    """
    head = nn.Linear(width, len(labels.names))
    nn.init.normal_(head.weight, std=0.02)
    frequency = labels.frequency.clamp(1e-6, 1 - 1e-6)
    head.bias.data = frequency.logit() if labels.multi_label else frequency.log()
    return head
