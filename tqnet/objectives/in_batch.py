"""Contrast of each question with what belongs to it, among what belongs to the others (FSE, Eq. 2)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def in_batch_infonce(
    query: Tensor, key: Tensor, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """L = -log( exp(q_i.k_i / T) / (exp(q_i.k_i / T) + sum over j != i of exp(q_i.k_j / T)) ), mean over i.

    NOTE: the paper's formula lacks the exponentials and the temperature: of cosines, some of them negative, it has no
    logarithm. It is this one in its usual form.

    Args:
        query, key: [n, d], of length 1; row i of ``key`` is the positive of row i of ``query``.
        excluded: bool [n, n], True where key j is no negative of query i; the diagonal does not matter.

    Returns:
        The loss, 0 of no rows, and the logits [n, n], -inf where excluded.
    """
    with torch.autocast(query.device.type, enabled=False):
        logits = torch.einsum("id,jd->ij", query.float(), key.float()) / temperature
        if excluded is not None:
            itself = torch.eye(len(query), dtype=torch.bool, device=query.device)
            logits = logits.masked_fill(excluded & ~itself, float("-inf"))
        target = torch.arange(len(query), device=query.device)
        return F.cross_entropy(logits, target, reduction="sum") / max(1, len(query)), logits
