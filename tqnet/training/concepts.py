"""Knowledge concepts as labels of a batch."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from tqnet.evaluation.linear_probe import indicators
from tqnet.questions import QuestionBank
from tqnet.questions.faults import BankError
from tqnet.questions.knowledge import KnowledgeHierarchy, class_name, hierarchy_faults
from tqnet.questions.question import KnowledgePath
from tqnet.training.labels import ClassLabels, is_told


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
