"""Contrast between modalities against its formula read out loud, and what must not change it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.losses.conftest import unit
from tqnet.losses.contrastive import cross_modal_infonce


def literal(text: Tensor, visual: Tensor, scale: float, excluded: Tensor | None) -> float:
    total, b = 0.0, len(text)
    for i in range(b):
        others = [j for j in range(b) if j == i or excluded is None or not excluded[i, j]]
        positive = math.exp(scale * float(text[i] @ visual[i]))
        figures = sum(math.exp(scale * float(text[i] @ visual[j])) for j in others)
        texts = sum(math.exp(scale * float(text[j] @ visual[i])) for j in others)
        total += -math.log(positive / figures) / 2 - math.log(positive / texts) / 2
    return total / b


@given(st.integers(1, 6), st.sampled_from([1.0, 5.0, 14.3]), st.integers(0, 99))
def test_the_loss_is_its_formula(b: int, scale: float, seed: int) -> None:
    text, visual = unit(b, 4, seed=seed), unit(b, 4, seed=seed + 1)
    same = torch.rand(b, b, generator=torch.Generator().manual_seed(seed)) < 0.3
    for excluded in (None, same | same.T, torch.ones(b, b, dtype=torch.bool)):
        loss, logits = cross_modal_infonce(text, visual, scale, excluded)
        assert loss.item() == pytest.approx(literal(text, visual, scale, excluded), abs=1e-5)
        torch.testing.assert_close(logits.diagonal(), scale * (text * visual).sum(1).float())


def test_questions_of_one_content_do_not_push_each_other_away() -> None:
    """All figures are one: nothing tells them apart, and nothing is learnt from them."""
    text, visual = unit(3, 4).requires_grad_(), unit(1, 4, seed=1).expand(3, 4)
    loss, _ = cross_modal_infonce(text, visual, 10.0, torch.ones(3, 3, dtype=torch.bool))
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, text)[0].any()


def test_the_gradient_is_that_of_the_formula_and_reaches_the_scale() -> None:
    text, visual, scale = unit(3, 4), unit(3, 4, seed=1), 5.0
    excluded = torch.zeros(3, 3, dtype=torch.bool)
    excluded[0, 1] = excluded[1, 0] = True
    leaf, learnt = text.clone().requires_grad_(), torch.tensor(scale, requires_grad=True)
    cross_modal_infonce(leaf, visual, learnt, excluded)[0].backward()
    step = 1e-6
    up, down = (literal(text, visual, scale + d, excluded) for d in (step, -step))
    assert learnt.grad.item() == pytest.approx((up - down) / (2 * step), abs=1e-4)
    for i in range(3):
        for d in range(4):
            moved = [text.clone(), text.clone()]
            moved[0][i, d] += step
            moved[1][i, d] -= step
            up, down = (literal(m, visual, scale, excluded) for m in moved)
            assert leaf.grad[i, d].item() == pytest.approx((up - down) / (2 * step), abs=1e-4)
