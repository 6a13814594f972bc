"""The triplet losses against their formula read out loud, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from tqnet.losses.pairs import cosine_triplet, euclidean_triplet

Distance = Callable[[Tensor, Tensor], float]
LOSSES: dict[str, tuple[Callable[..., Tensor], Distance]] = {
    "cosine": (cosine_triplet, lambda a, b: 1 - float(a @ b) / (float(a.norm()) * float(b.norm()))),
    "euclidean": (euclidean_triplet, lambda a, b: math.sqrt(sum(float(x - y) ** 2 for x, y in zip(a, b, strict=True)))),
}
NAMES = sorted(LOSSES)


def unit(*shape: int, seed: int = 0) -> Tensor:
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def literal(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, distance: Distance) -> float:
    total = 0.0
    for q, near, far in zip(anchor, positive, negative, strict=True):
        total += max(0.0, margin - distance(q, far) + distance(q, near))
    return total / len(anchor)


@pytest.mark.parametrize("name", NAMES)
@given(n=st.integers(1, 6), margin=st.sampled_from([0.1, 1.0, 5.0]), seed=st.integers(0, 99))
def test_the_loss_is_its_formula(name: str, n: int, margin: float, seed: int) -> None:
    loss, distance = LOSSES[name]
    rows = unit(n, 4, seed=seed), unit(n, 4, seed=seed + 1), unit(n, 4, seed=seed + 2)
    assert loss(*rows, margin).item() == pytest.approx(literal(*rows, margin, distance), abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_that_of_small_steps(name: str) -> None:
    loss, _ = LOSSES[name]
    rows = [unit(3, 4, seed=seed).requires_grad_() for seed in range(3)]
    gradients = torch.autograd.grad(loss(*rows, 1.0), rows)
    for row, gradient in zip(rows, gradients, strict=True):
        for at in range(row.numel()):
            step = torch.zeros_like(row).flatten()
            step[at] = 1e-2
            moved = [[r + sign * step.view_as(r) if r is row else r for r in rows] for sign in (1, -1)]
            up, down = (loss(*(r.detach() for r in of), 1.0).item() for of in moved)
            assert gradient.flatten()[at].item() == pytest.approx((up - down) / 2e-2, abs=5e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_triplet_that_is_far_enough_apart_moves_nothing(name: str) -> None:
    loss, _ = LOSSES[name]
    anchor = unit(1, 4).requires_grad_()
    apart = loss(anchor, anchor.detach(), -anchor.detach(), 1.5)
    assert apart.item() == 0
    assert not torch.autograd.grad(apart, anchor)[0].any()
    assert loss(anchor, anchor, -anchor, 5.0).item() == pytest.approx(3, abs=1e-4)  # not with this margin, ever


@pytest.mark.parametrize("name", NAMES)
def test_the_same_vector_has_a_gradient(name: str) -> None:
    """The same sentence without dropout: its distance is 0, where a root has no slope."""
    loss, _ = LOSSES[name]
    anchor, negative = unit(2, 4).requires_grad_(), unit(2, 4, seed=1)
    (gradient,) = torch.autograd.grad(loss(anchor, anchor, negative, 5.0), anchor)
    assert gradient.isfinite().all()
    assert gradient.any()
