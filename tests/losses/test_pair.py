"""The pair objective against its formula, and which pairs are drawn."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from tqnet.losses.pairs import draw_pairs, even_odds, pair_logistic


def unit(p: int, seed: int) -> Tensor:
    return F.normalize(torch.randn(p, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=-1)


def literal(left: Tensor, right: Tensor, label: list[int], scale: float, bias: float) -> float:
    total = 0.0
    for i, similar in enumerate(label):
        score = scale * float(left[i] @ right[i]) + bias
        total += -math.log(1 / (1 + math.exp(-score if similar else score)))
    return total / len(label)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=6), st.floats(-5, 12), st.floats(-5, 5), st.integers(0, 99))
def test_the_loss_is_its_formula(label: list[int], scale: float, bias: float, seed: int) -> None:
    left, right = unit(len(label), seed), unit(len(label), seed + 1)
    loss = pair_logistic(left, right, torch.tensor(label), scale, bias)
    assert loss.item() == pytest.approx(literal(left, right, label, scale, bias), rel=1e-5, abs=1e-5)


def test_even_odds_lie_between_the_two_kinds_of_pairs() -> None:
    left, right, label = unit(6, 0), unit(6, 1), torch.tensor([1, 0, 0, 1, 0, 0])
    cosine = (left * right).sum(1)
    logits = 10 * cosine + even_odds(left, right, label, 10.0)
    assert logits[label == 1].mean().item() == pytest.approx(-logits[label == 0].mean().item(), abs=1e-5)
    assert even_odds(left, right, torch.ones(6), 10.0).item() == pytest.approx(-10 * cosine.mean().item(), abs=1e-5)
    assert even_odds(left[:0], right[:0], label[:0], 10.0) == 0


def test_gradients_of_vectors_scale_and_bias_are_those_of_the_formula() -> None:
    left, right, label = unit(4, 0), unit(4, 1), [1, 0, 0, 1]
    scale, bias = torch.tensor(10.0, requires_grad=True), torch.tensor(-5.0, requires_grad=True)
    leaf = left.clone().requires_grad_()
    pair_logistic(leaf, right, torch.tensor(label), scale, bias).backward()
    step = 1e-6

    def slope(up: float, down: float) -> object:
        return pytest.approx((up - down) / (2 * step), abs=1e-4)

    assert scale.grad.item() == slope(*(literal(left, right, label, 10 + s, -5) for s in (step, -step)))
    assert bias.grad.item() == slope(*(literal(left, right, label, 10, -5 + s) for s in (step, -step)))
    for i in range(4):
        moved = [left.clone(), left.clone()]
        moved[0][i, 2] += step
        moved[1][i, 2] -= step
        assert leaf.grad[i, 2].item() == slope(*(literal(m, right, label, 10, -5) for m in moved))


@st.composite
def label_matrices(draw: st.DrawFn) -> Tensor:
    b = draw(st.integers(1, 7))
    similar = torch.zeros(b, b, dtype=torch.bool)
    for i in range(b):
        for j in range(i):
            similar[i, j] = similar[j, i] = draw(st.booleans())
    return similar


@given(label_matrices(), st.integers(0, 2**31))
def test_every_similar_pair_is_drawn_once_and_each_seed_gets_a_dissimilar_partner(similar: Tensor, seed: int) -> None:
    before = similar.clone()
    left, right, label = draw_pairs(similar, torch.Generator().manual_seed(seed))
    assert torch.equal(similar, before)
    assert len(left) == len(right) == len(label)
    pairs = list(zip(left.tolist(), right.tolist(), label.tolist(), strict=True))
    positives = [(i, j) for i, j, y in pairs if y == 1]
    b = len(similar)
    assert positives == [(i, j) for i in range(b) for j in range(i + 1, b) if similar[i, j]]
    negatives = [(i, j) for i, j, y in pairs if y == 0]
    assert all(i != j and not similar[i, j] for i, j in negatives)
    drawable = [i for i, _ in positives if any(j != i and not similar[i, j] for j in range(b))]
    assert Counter(i for i, _ in negatives) == Counter(drawable)
    again = draw_pairs(similar, torch.Generator().manual_seed(seed))
    assert all(torch.equal(one, other) for one, other in zip((left, right, label), again, strict=True))


def test_dissimilar_partners_are_drawn_evenly() -> None:
    similar = torch.zeros(5, 5, dtype=torch.bool)
    similar[0, 1] = similar[1, 0] = True
    generator = torch.Generator().manual_seed(0)
    drawn = Counter(int(draw_pairs(similar, generator)[1][1]) for _ in range(600))
    assert drawn.keys() == {2, 3, 4}
    assert min(drawn.values()) > 150
