"""Labels of the training questions as classes, several or none to a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from tqnet.evaluation.linear_probe import indicators
from tqnet.evaluation.metrics import BoolArray
from tqnet.questions import QuestionBank


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
