"""InfoNCE against a queue of keys (MoCo; TQ-Net, Eq. 1)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def infonce(
    query: Tensor, key: Tensor, negatives: Tensor, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """L = -log( exp(q.k+ / T) / (exp(q.k+ / T) + sum over the queue of exp(q.k- / T)) ), mean over queries.

    Args:
        query, key: [b, d], of length 1; row i of ``key`` is the positive of row i of ``query``.
        negatives: [k, d], of length 1.
        excluded: bool [b, k], True where a queue entry is no negative of the query (the same question, or
            the same content under another id).

    Returns:
        The loss, and the logits [b, 1 + k] whose column 0 is the positive.

    NOTE: computed in fp32 whatever the autocast: at T = 0.07 a bf16 logit is off by several percent.
    """
    with torch.autocast(query.device.type, enabled=False):
        query, key, negatives = query.float(), key.float(), negatives.float()
        positive = torch.einsum("bd,bd->b", query, key).unsqueeze(1)
        negative = torch.einsum("bd,kd->bk", query, negatives)
        if excluded is not None:
            negative = negative.masked_fill(excluded, float("-inf"))
        logits = torch.cat([positive, negative], dim=1) / temperature
        target = torch.zeros(len(query), dtype=torch.long, device=query.device)
        return F.cross_entropy(logits, target), logits
