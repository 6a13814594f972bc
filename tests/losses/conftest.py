"""Vectors for the losses."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def unit(*shape: int, seed: int = 0) -> Tensor:
    """Draw float64 vectors of length one."""
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=-1)
