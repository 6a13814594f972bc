"""The supervised contrastive loss against both formulas read out loud, and what it must not depend on."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from tqnet.losses.contrastive import supervised_contrastive

KINDS = ("negatives", "all")


def unit(b: int, seed: int = 0) -> Tensor:
    return F.normalize(torch.randn(b, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=-1)


def literal(features: Tensor, similar: Tensor, temperature: float, denominator: str) -> float:
    """Eq. 3 of TQ-Net, or L_out of Khosla et al. 2020, Eq. 2; a mean over pairs, then over seeds."""
    b = len(features)
    e = [[math.exp(float(features[i] @ features[j]) / temperature) for j in range(b)] for i in range(b)]
    seeds = []
    for s in range(b):
        terms = []
        for p in range(b):
            if not similar[s, p]:
                continue
            if denominator == "all":
                below = sum(e[s][a] for a in range(b) if a != s)
            else:
                below = e[s][p] + sum(e[s][o] for o in range(b) if o != s and not similar[s, o])
            terms.append(-math.log(e[s][p] / below))
        if terms:
            seeds.append(sum(terms) / len(terms))
    return sum(seeds) / len(seeds) if seeds else 0.0


@st.composite
def label_matrices(draw: st.DrawFn) -> Tensor:
    """Any symmetric relation without the diagonal; pairs files need not be transitive."""
    b = draw(st.integers(1, 7))
    similar = torch.zeros(b, b, dtype=torch.bool)
    for i in range(b):
        for j in range(i):
            similar[i, j] = similar[j, i] = draw(st.booleans())
    return similar


SIMILAR = label_matrices()


@given(SIMILAR, st.sampled_from(KINDS), st.sampled_from([0.07, 0.3, 1.0]), st.integers(0, 99))
def test_the_loss_is_its_formula(similar: Tensor, denominator: str, temperature: float, seed: int) -> None:
    features = unit(len(similar), seed)
    loss = supervised_contrastive(features, similar, temperature, denominator)
    assert loss.item() == pytest.approx(literal(features, similar, temperature, denominator), rel=1e-5, abs=1e-5)


@given(SIMILAR, st.sampled_from(KINDS), st.integers(0, 99))
def test_the_loss_is_finite_and_connected_whatever_the_labels(similar: Tensor, denominator: str, seed: int) -> None:
    features = unit(len(similar), seed).requires_grad_()
    loss = supervised_contrastive(features, similar, 0.01, denominator)
    (gradient,) = torch.autograd.grad(loss, features)
    assert loss.isfinite()
    assert gradient.isfinite().all()
    if not similar.any():
        assert loss.item() == 0
        assert (gradient == 0).all()


@given(SIMILAR, st.sampled_from(KINDS), st.randoms())
def test_the_order_of_the_batch_does_not_matter(similar: Tensor, denominator: str, random: object) -> None:
    features = unit(len(similar))
    order = list(range(len(similar)))
    random.shuffle(order)  # type: ignore[attr-defined]
    loss = supervised_contrastive(features, similar, 0.2, denominator)
    again = supervised_contrastive(features[order], similar[order][:, order], 0.2, denominator)
    assert again.item() == pytest.approx(loss.item(), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("denominator", KINDS)
def test_the_gradient_is_that_of_the_formula(denominator: str) -> None:
    similar = torch.zeros(5, 5, dtype=torch.bool)
    for i, j in ((0, 1), (0, 2), (3, 1)):
        similar[i, j] = similar[j, i] = True
    features = unit(5)
    leaf = features.clone().requires_grad_()
    supervised_contrastive(leaf, similar, 0.2, denominator).backward()
    step = 1e-6
    for i in range(5):
        for d in range(4):
            moved = [features.clone(), features.clone()]
            moved[0][i, d] += step
            moved[1][i, d] -= step
            up, down = (literal(m, similar, 0.2, denominator) for m in moved)
            assert leaf.grad[i, d].item() == pytest.approx((up - down) / (2 * step), abs=1e-4)


def test_other_positives_stay_out_of_the_denominator_of_eq_3() -> None:
    # Seed 0 with two positives; nobody else has any. Where the second positive lies changes its own term alone.
    similar = torch.zeros(4, 4, dtype=torch.bool)
    similar[0, 1] = similar[0, 2] = True
    features = unit(4)
    changed = features.clone()
    changed[2] = unit(1, seed=8)

    def own_term(of: Tensor, place: int) -> float:
        e = (of @ of[0] / 0.2).exp()
        return float(-torch.log(e[place] / (e[place] + e[3])))

    for of in (features, changed):
        mean = (own_term(of, 1) + own_term(of, 2)) / 2
        assert supervised_contrastive(of, similar, 0.2).item() == pytest.approx(mean, rel=1e-5)
    assert own_term(features, 1) == own_term(changed, 1)


def test_questions_without_a_similar_one_count_as_negatives_and_not_as_seeds() -> None:
    pair = torch.zeros(2, 2, dtype=torch.bool)
    pair[0, 1] = pair[1, 0] = True
    with_lone = torch.zeros(3, 3, dtype=torch.bool)
    with_lone[:2, :2] = pair
    features = unit(3)
    assert supervised_contrastive(features[:2], pair, 0.2).item() == pytest.approx(0, abs=1e-6)
    leaf = features.clone().requires_grad_()
    loss = supervised_contrastive(leaf, with_lone, 0.2)
    assert loss.item() == pytest.approx(literal(features, with_lone, 0.2, "negatives"), rel=1e-5)
    loss.backward()
    assert leaf.grad[2].abs().sum() > 0


def test_an_unknown_denominator_is_named() -> None:
    with pytest.raises(ValueError, match=r"^denominator: 'some'"):
        supervised_contrastive(unit(2), torch.zeros(2, 2, dtype=torch.bool), 0.1, "some")
