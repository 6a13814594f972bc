"""Several tokens to one vector."""

from __future__ import annotations

from torch import Tensor


def masked_mean(tokens: Tensor, mask: Tensor) -> Tensor:
    """Mean of tokens [b, t, h] over the True places of mask [b, t]; zero for a row without any. [b, h]."""
    weight = mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weight).sum(1) / weight.sum(1).clamp(min=1)
