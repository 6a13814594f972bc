"""Contrast within a batch against its formula read out loud, and what must not change it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.losses.conftest import unit
from tqnet.losses.contrastive import cross_modal_infonce, in_batch_infonce


def literal(query: Tensor, key: Tensor, temperature: float, excluded: Tensor | None) -> float:
    total, n = 0.0, len(query)
    for i in range(n):
        positive = math.exp(float(query[i] @ key[i]) / temperature)
        negatives = sum(
            math.exp(float(query[i] @ key[j]) / temperature)
            for j in range(n)
            if j != i and (excluded is None or not excluded[i, j])
        )
        total -= math.log(positive / (positive + negatives))
    return total / n


@given(st.integers(1, 6), st.sampled_from([0.05, 0.2, 1.0]), st.integers(0, 99))
def test_the_loss_is_its_formula(n: int, temperature: float, seed: int) -> None:
    query, key = unit(n, 4, seed=seed), unit(n, 4, seed=seed + 1)
    some = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)) < 0.3
    for excluded in (None, some, torch.ones(n, n, dtype=torch.bool)):
        loss, logits = in_batch_infonce(query, key, temperature, excluded)
        assert loss.item() == pytest.approx(literal(query, key, temperature, excluded), abs=1e-4)
        torch.testing.assert_close(logits.diagonal(), ((query * key).sum(1) / temperature).float())


def test_both_directions_are_that_between_modalities() -> None:
    query, key = unit(5, 4), unit(5, 4, seed=1)
    there, back = (in_batch_infonce(*pair, 0.1)[0] for pair in ((query, key), (key, query)))
    torch.testing.assert_close((there + back) / 2, cross_modal_infonce(query, key, 10.0)[0])


def test_no_rows_are_zero_and_have_a_gradient() -> None:
    """Where no question of a batch takes part, on any process."""
    vectors = unit(3, 4).requires_grad_()
    loss, logits = in_batch_infonce(vectors[:0], vectors[:0], 0.05, torch.ones(0, 0, dtype=torch.bool))
    loss.backward()
    assert loss.item() == 0
    assert logits.shape == (0, 0)
    assert vectors.grad is not None
    assert not vectors.grad.any()


def test_equal_questions_do_not_push_each_other_away() -> None:
    query, key = unit(3, 4).requires_grad_(), unit(1, 4, seed=1).expand(3, 4)
    loss, _ = in_batch_infonce(query, key, 0.05, torch.ones(3, 3, dtype=torch.bool))
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, query)[0].any()
