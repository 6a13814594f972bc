"""Vectors for the losses, and their gradients against small steps of a literal formula."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F


def unit(*shape: int, seed: int = 0) -> Tensor:
    """Draw float64 vectors of length one."""
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=-1)


def relation(size: int, *pairs: tuple[int, int]) -> Tensor:
    """A symmetric bool matrix."""
    matrix = torch.zeros(size, size, dtype=torch.bool)
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = True
    return matrix


def assert_gradient(loss: Callable[..., Tensor], literal: Callable[..., float], *values: Tensor) -> None:
    """Compare the gradient of ``loss`` in each of ``values``, float64, with the slope of ``literal``."""
    leaves = [value.clone().requires_grad_() for value in values]
    loss(*leaves).backward()
    step = 1e-6
    for leaf, value in zip(leaves, values, strict=True):
        assert leaf.grad is not None
        for place in range(value.numel()):
            moved = []
            for sign in (1, -1):
                shifted = value.clone()
                shifted.view(-1)[place] += sign * step
                moved.append(literal(*(shifted if v is value else v for v in values)))
            slope = (moved[0] - moved[1]) / (2 * step)
            assert leaf.grad.reshape(-1)[place].item() == pytest.approx(slope, abs=1e-4)
