"""Contrast of two views within a batch (NT-Xent, Chen et al. 2020, Eq. 1; ConSERT, Yan et al. 2021, Eq. 1)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def nt_xent(first: Tensor, second: Tensor, temperature: float, excluded: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """-log( e^(z_i.z_j/T) / sum over k != i of e^(z_i.z_k/T) ), mean over the 2b views i; j is the other view of i.

    Args:
        first, second: [b, d], of length 1; row i of both is of one question.
        excluded: bool [b, b], symmetric, True where question j is no negative of question i; the diagonal does not
            matter.

    Returns:
        The loss, and the logits [2b, 2b], -inf on the diagonal and where excluded.
    """
    with torch.autocast(first.device.type, enabled=False):
        views = torch.cat([first.float(), second.float()])
        logits = torch.einsum("id,jd->ij", views, views) / temperature
        itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
        left_out = itself
        if excluded is not None:
            others = excluded & ~torch.eye(len(first), dtype=torch.bool, device=views.device)
            left_out = itself | others.repeat(2, 2)
        logits = logits.masked_fill(left_out, float("-inf"))
        target = torch.arange(len(views), device=views.device).roll(len(first))
        return F.cross_entropy(logits, target), logits
