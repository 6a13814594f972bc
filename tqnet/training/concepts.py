"""Which questions share a knowledge concept, as labels of a batch."""

from __future__ import annotations

import numpy as np

from tqnet.questions import QuestionBank
from tqnet.questions.knowledge import KnowledgeHierarchy


class ConceptLabels:
    """Concepts of every question at one level of the hierarchy (1 is the coarsest).

    Attributes:
        first: int [n], a question's first concept; -1 where it has none at that level.
    """

    def __init__(self, bank: QuestionBank, level: int):
        names, labels = KnowledgeHierarchy.from_bank(bank).labels(level)
        self.classes, self.labels = len(names), labels
        self.first = np.array([own[0] if len(own) else -1 for own in labels])

    def matrix(self, index: np.ndarray) -> np.ndarray:
        """bool [b, b], True where two different rows of ``index`` share a concept."""
        has = np.zeros((len(index), self.classes), dtype=np.float32)
        for row, question in enumerate(index):
            has[row, list(self.labels[question])] = 1
        shared = has @ has.T > 0
        np.fill_diagonal(shared, False)
        return shared
