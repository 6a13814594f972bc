"""InfoNCE against its formula read out loud, and what must not change it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.losses.conftest import unit
from tqnet.losses.contrastive import infonce


def literal(query: Tensor, key: Tensor, negatives: Tensor, temperature: float, excluded: Tensor | None) -> float:
    total = 0.0
    for i in range(len(query)):
        positive = math.exp(float(query[i] @ key[i]) / temperature)
        others = 0.0
        for k in range(len(negatives)):
            if excluded is None or not excluded[i, k]:
                others += math.exp(float(query[i] @ negatives[k]) / temperature)
        total += -math.log(positive / (positive + others))
    return total / len(query)


@given(st.integers(1, 5), st.integers(0, 6), st.sampled_from([0.07, 0.2, 1.0]), st.integers(0, 99))
def test_the_loss_is_its_formula(b: int, k: int, temperature: float, seed: int) -> None:
    query, key, negatives = (unit(n, 4, seed=seed + i) for i, n in enumerate((b, b, k)))
    random = torch.Generator().manual_seed(seed)
    for excluded in (None, torch.rand(b, k, generator=random) < 0.4, torch.ones(b, k, dtype=torch.bool)):
        loss, logits = infonce(query, key, negatives, temperature, excluded)
        assert loss.item() == pytest.approx(literal(query, key, negatives, temperature, excluded), abs=1e-5)
        assert logits.shape == (b, 1 + k)
        torch.testing.assert_close(logits[:, 0], (query * key).sum(1).float() / temperature)


def test_without_negatives_there_is_nothing_to_learn() -> None:
    query = unit(3, 4).requires_grad_()
    for negatives, excluded in ((unit(0, 4), None), (unit(2, 4), torch.ones(3, 2, dtype=torch.bool))):
        loss, _ = infonce(query, unit(3, 4, seed=1), negatives, 0.1, excluded)
        assert loss.item() == 0
        (gradient,) = torch.autograd.grad(loss, query)
        assert (gradient == 0).all()


def test_excluded_keys_do_not_matter_not_even_in_the_gradient() -> None:
    query, key, negatives = unit(3, 4).requires_grad_(), unit(3, 4, seed=1), unit(5, 4, seed=2)
    excluded = torch.zeros(3, 5, dtype=torch.bool)
    excluded[:, [1, 4]] = True
    changed = negatives.clone()
    changed[[1, 4]] = unit(2, 4, seed=3)
    results = []
    for queue, mask in ((negatives, excluded), (changed, excluded), (negatives[[0, 2, 3]], None)):
        loss, _ = infonce(query, key, queue, 0.2, mask)
        results.append(torch.stack([loss.double(), *torch.autograd.grad(loss, query)[0].flatten()]))
    torch.testing.assert_close(results[0], results[1])
    torch.testing.assert_close(results[0], results[2])
    assert infonce(query, key, negatives, 0.2)[0] > infonce(query, key, negatives, 0.2, excluded)[0]


def test_the_gradient_is_that_of_the_formula() -> None:
    query, key, negatives = unit(3, 4), unit(3, 4, seed=1), unit(5, 4, seed=2)
    excluded = torch.zeros(3, 5, dtype=torch.bool)
    excluded[0, 1] = True
    leaf = query.clone().requires_grad_()
    infonce(leaf, key, negatives, 0.2, excluded)[0].backward()
    step = 1e-6
    for i in range(3):
        for d in range(4):
            moved = [query.clone(), query.clone()]
            moved[0][i, d] += step
            moved[1][i, d] -= step
            up, down = (literal(m, key, negatives, 0.2, excluded) for m in moved)
            assert leaf.grad[i, d].item() == pytest.approx((up - down) / (2 * step), abs=1e-4)
