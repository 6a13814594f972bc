"""Multiple negatives ranking against its formula read out loud, and what must not change it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from tqnet.losses.contrastive import in_batch_infonce, multiple_negatives_ranking


def unit(*shape: int, seed: int = 0) -> Tensor:
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def literal(anchor: Tensor, positive: Tensor, negative: Tensor, temperature: float, excluded: Tensor) -> float:
    total = 0.0
    for i, query in enumerate(anchor):
        own = math.exp(float(query @ positive[i]) / temperature)
        others = sum(
            math.exp(float(query @ key) / temperature)
            for j, key in enumerate(positive)
            if j != i and not excluded[i, j]
        )
        hard = sum(math.exp(float(query @ key) / temperature) for key in negative)
        total -= math.log(own / (own + others + hard))
    return total / len(anchor)


@given(st.integers(1, 5), st.integers(0, 4), st.sampled_from([0.05, 0.2, 1.0]), st.integers(0, 99))
def test_the_loss_is_its_formula(n: int, m: int, temperature: float, seed: int) -> None:
    anchor, positive, negative = unit(n, 4, seed=seed), unit(n, 4, seed=seed + 1), unit(m, 4, seed=seed + 2)
    excluded = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)) < 0.3
    found = multiple_negatives_ranking(anchor, positive, negative, temperature, excluded)
    assert found.item() == pytest.approx(literal(anchor, positive, negative, temperature, excluded), abs=1e-4)


def test_without_hard_negatives_it_is_contrast_within_the_batch() -> None:
    anchor, positive = unit(5, 4), unit(5, 4, seed=1)
    torch.testing.assert_close(
        multiple_negatives_ranking(anchor, positive, temperature=0.1), in_batch_infonce(anchor, positive, 0.1)[0]
    )


def test_the_gradient_is_that_of_small_steps() -> None:
    rows = [unit(size, 4, seed=seed).requires_grad_() for seed, size in enumerate((3, 3, 2))]
    gradients = torch.autograd.grad(multiple_negatives_ranking(*rows, temperature=0.5), rows)
    for row, gradient in zip(rows, gradients, strict=True):
        for at in range(row.numel()):
            step = torch.zeros_like(row).flatten()
            step[at] = 1e-2
            moved = [[r + sign * step.view_as(r) if r is row else r for r in rows] for sign in (1, -1)]
            up, down = (multiple_negatives_ranking(*(r.detach() for r in of), temperature=0.5).item() for of in moved)
            assert gradient.flatten()[at].item() == pytest.approx((up - down) / 2e-2, abs=5e-3)


def test_hard_negatives_are_pushed_away() -> None:
    anchor, positive, negative = unit(3, 4), unit(3, 4, seed=1), unit(3, 4, seed=2).requires_grad_()
    loss = multiple_negatives_ranking(anchor, positive, negative)
    assert loss > multiple_negatives_ranking(anchor, positive)
    (gradient,) = torch.autograd.grad(loss, negative)
    closer = multiple_negatives_ranking(anchor, positive, F.normalize(negative - 0.1 * gradient, dim=1))
    assert closer < loss


def test_equal_questions_do_not_push_each_other_away() -> None:
    anchor = unit(1, 4).expand(3, 4)
    same = torch.ones(3, 3, dtype=torch.bool)
    assert multiple_negatives_ranking(anchor, anchor, excluded=same).item() == 0
