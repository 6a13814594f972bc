"""Diverse beam search (Vijayakumar et al. 2018), which the transformers library has no longer by itself.

There may be as many groups as beams, the setting that its authors report with: a group is then a greedy search of its
own, and `generate` needs no more than a processor of logits that lets later groups keep away from earlier ones. Every
model that generates can do it.

NOTE: ParaQD names neither groups nor strength; groups of several beams, which would need a search of our own, are left
out.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import LogitsProcessor


class HammingDiversity(LogitsProcessor):
    """A token loses ``strength`` for each earlier group that takes it at the same step (Section 4, Hamming diversity).

    Args:
        groups: Rows of a batch are b texts, each ``groups`` times in turn.
        end: Tokens that end a text: groups that have ended take none.
    """

    def __init__(self, groups: int, strength: float, end: Tensor):
        self.groups, self.strength, self.end = groups, strength, end

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids: [b * groups, t], beginning with the start token; scores: [b * groups, vocabulary]."""
        ended = torch.isin(input_ids[:, 1:], self.end.to(input_ids.device)).any(1).view(-1, self.groups)
        by_group = scores.float().view(-1, self.groups, scores.shape[-1])
        taken = torch.zeros_like(by_group[:, 0])
        diverse = []
        for group in range(self.groups):
            own = by_group[:, group] - self.strength * taken
            diverse.append(own)
            taken = taken + F.one_hot(own.argmax(-1), own.shape[-1]) * ~ended[:, group, None]
        return torch.stack(diverse, 1).view_as(scores)
