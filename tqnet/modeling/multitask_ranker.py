"""What the cross-encoder is trained as: several tasks at once (FSE, "Ranking Module")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from accelerate import Accelerator
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.cross_encoder import CrossEncoder, TaskHead
from tqnet.modeling.experts import TaskExperts
from tqnet.search.evidence import WEIGHTS

#: Logits for a likeness of 1, at most: beyond, all good candidates would have a probability of 1.
SUREST = 10.0


class MultiTaskRanker(nn.Module):
    """The cross-encoder, and what it is trained with: the other tasks' heads, and the experts (FSE, Eq. 5, 8 and 9).

    Args:
        coefficients: Of each task, scaled to sum to 1 over those that a pair has.
        entropy_floor: Least entropy of coefficients that experts learn in their place, as a share of that of equal
            ones; None learns none.
    """

    fixed: Tensor

    def __init__(self, cross: CrossEncoder, coefficients: Sequence[float], entropy_floor: float | None = None):
        super().__init__()
        width = cross.encoder.config.hidden_size
        self.cross = cross
        self.heads = nn.ModuleList([cross.head, *(TaskHead(width) for _ in coefficients[1:])])
        learnt = entropy_floor is not None and len(self.heads) > 1
        self.experts = TaskExperts(width, len(self.heads), entropy_floor or 0.0) if learnt else None
        self.register_buffer("fixed", torch.tensor(coefficients), persistent=False)

    def forward(self, pair: Tensor, task: Tensor, evidence: Tensor, **batch: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and coefficients of the tasks of each pair, both [p, tasks]; 0 where a pair has not that task.

        Args:
            pair, task, evidence: Of each row, [r] and [r, 3] (`tqnet.training.exercise_views`).
            batch: The packed rows.
        """
        rows, cosines = self.cross.read(**batch)
        pairs = int(pair.max()) + 1
        logits, features, present = [], [], []
        for number, head in enumerate(self.heads):
            own = task == number
            of_rows, scores = head(rows, cosines, evidence)
            features.append(rows.new_zeros(pairs, rows.shape[1]).index_put((pair[own],), of_rows[own].to(rows.dtype)))
            logits.append(scores.new_zeros(pairs, dtype=torch.float).index_put((pair[own],), scores[own].float()))
            present.append(torch.zeros(pairs, dtype=torch.bool, device=rows.device).index_fill(0, pair[own], True))
        has = torch.stack(present, 1)
        if self.experts is not None:
            return torch.stack(logits, 1), self.experts(torch.stack(features, 1), has)
        return torch.stack(logits, 1), has * self.fixed / (has * self.fixed).sum(1, keepdim=True)

    @torch.no_grad()
    def calibrate(self, evidence: np.ndarray, similar: np.ndarray) -> None:
        """Start from the evidence [p, 3], weighed as the labels [p] have it, and be no surer of it than they allow.

        Nor surer than `SUREST`: labels that confident learning has cleaned follow from little else.

        The first task's head starts without the cosine of texts that are read together, the others have nothing else.
        """
        worth, slope = np.array(WEIGHTS), 1.0
        if 0 < similar.sum() < len(similar):
            fitted = LogisticRegression(C=100).fit(evidence, similar).coef_[0].clip(min=0)  # none speaks against
            if fitted.any():
                worth, slope = fitted / fitted.max(), float(np.clip(fitted.max(), slope, SUREST))
        for number, head in enumerate(self.heads):
            weights = (0.0, *worth) if number == 0 else (1.0, *np.zeros_like(worth))
            cast(TaskHead, head).weights.copy_(torch.tensor(weights))
            cast(TaskHead, head).scale.fill_(slope)

    @torch.no_grad()
    def centre(self, accelerator: Accelerator, task: Tensor, evidence: Tensor, **batch: Tensor) -> None:
        """Put the even odds of each task at the mean likeness of its rows in a first batch, of all processes."""
        self.eval()
        _, cosines = self.cross.read(**batch)
        heads = [cast(TaskHead, head) for head in self.heads]
        likeness = torch.stack([head.likeness(cosines, evidence) for head in heads])
        of_task = F.one_hot(task, len(heads)).T.to(likeness.dtype)
        sums, counts = accelerator.reduce(torch.stack([(likeness * of_task).sum(1), of_task.sum(1)]))
        for head, total, count in zip(heads, sums, counts, strict=True):
            if count:
                head.centre.copy_(total / count)
