"""How much each task counts, learnt by an expert of its own (FSE, Eq. 5, 8 and 9)."""

from __future__ import annotations

import math

import torch
from scipy.optimize import brentq
from torch import Tensor, nn


class TaskExperts(nn.Module):
    """Coefficients of the tasks of each pair, which sum to 1.

    Three layers for each task, h-h-1, so that all of them end in one number a task.

    NOTE: the loss alone would have the coefficients move to whichever task is the easiest and leave the others. So no
    choice of theirs has less entropy than ``floor``; and they read the tasks' features without shaping them.

    Args:
        floor: Least entropy, as a share of that of equal coefficients.
    """

    def __init__(self, width: int, tasks: int, floor: float):
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
            for _ in range(tasks)
        )
        self.equal = _equal_share(tasks, floor)

    def forward(self, features: Tensor, present: Tensor) -> Tensor:
        """Features [p, tasks, h] of the tasks that a pair has, bool [p, tasks] -> coefficients [p, tasks].

        Those of absent tasks are 0.
        """
        read = features.detach()
        votes = torch.cat([expert(read[:, task]) for task, expert in enumerate(self.experts)], 1).float()
        chosen = votes.masked_fill(~present, -math.inf).softmax(1)
        equal = present / present.sum(1, keepdim=True)
        return (1 - self.equal) * chosen + self.equal * equal


def _equal_share(tasks: int, floor: float) -> float:
    """The share of equal coefficients beside which even a choice of one task has the least entropy."""

    def missing(equal: float) -> float:
        coefficients = [1 - equal + equal / tasks] + [equal / tasks] * (tasks - 1)
        return floor - sum(-c * math.log(c) for c in coefficients if c > 0) / math.log(tasks)

    return float(brentq(missing, 0, 1)) if 0 < floor < 1 else floor
