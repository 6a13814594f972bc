"""The ranks of a queue's keys for the questions of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from tqnet.questions import QuestionBank
from tqnet.questions.distance import KnowledgeDistance
from tqnet.questions.knowledge import class_name
from tqnet.questions.question import KnowledgePath
from tqnet.training.concepts import training_knowledge


class KeyRanks:
    """KH-distances within the training questions as ranks of keys (QuesCo, Eq. 3).

    The queue holds the numbers of its questions and no labels: keys and anchors read the same ones.

    Attributes:
        depth: L of the hierarchy.
    """

    def __init__(self, distance: KnowledgeDistance):
        self.distance, self.depth = distance, distance.depth
        self._set_of = torch.from_numpy(distance.set_of)

    @classmethod
    def of(cls, bank: QuestionBank, hierarchy: bool = True, leaves: bool = False) -> KeyRanks:
        """The ranks of the questions of ``bank``; without ``hierarchy``, nothing is known of any.

        Args:
            leaves: Only whole paths count: questions share a concept of the finest level, or none.

        Raises:
            BankError: The hierarchy has faults.
        """
        known: list[tuple[KnowledgePath, ...]] = training_knowledge(bank) if hierarchy else [()] * len(bank)
        if leaves:
            known = [tuple((class_name(path),) for path in own) for own in known]
        return cls(KnowledgeDistance(known))

    def __call__(self, ids: Tensor, keys: Tensor, excluded: Tensor) -> Tensor:
        """[b, 1 + k], 0 for a question's own key and the ranks of the queue's ``keys`` [k], -1 where ``excluded``."""
        rows = torch.from_numpy(self.distance.rows(ids.cpu().numpy())).to(ids.device)
        self._set_of = self._set_of.to(keys.device)
        ranks = rows.index_select(1, self._set_of[keys])
        return torch.cat([ranks.new_zeros(len(ids), 1), ranks.masked_fill(excluded, -1)], 1)
