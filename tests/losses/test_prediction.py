"""Losses of labels, masked tokens, words and figures against their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tqnet.losses.prediction import (
    concept_classification,
    figure_reconstruction,
    masked_token_prediction,
    mutual_information,
    skip_gram,
    soft_label_classification,
)
from tqnet.modeling.visual import TQNetImageProcessor


def softplus(x: Tensor | float) -> float:
    return math.log1p(math.exp(float(x)))


@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 99))
def test_labels(b: int, classes: int, seed: int) -> None:
    """Softmax with labels of 1/n each, or a logistic loss of each label; questions without a label take no part."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(b, classes, generator=generator, dtype=torch.float64)
    labels = torch.rand(b, classes, generator=generator) < 0.4
    soft, logistic = [], []
    for scores, has in zip(logits.tolist(), labels.tolist(), strict=True):
        if any(has):
            total = math.log(sum(map(math.exp, scores)))
            soft.append(sum(total - x for x, true in zip(scores, has, strict=True) if true) / sum(has))
            logistic.append(sum(softplus(-x if true else x) for x, true in zip(scores, has, strict=True)))
    for loss, terms in (
        (soft_label_classification(logits, labels), soft),
        (concept_classification(logits, labels, multi_label=False), soft),
        (concept_classification(logits, labels, multi_label=True), logistic),
    ):
        assert loss.item() == pytest.approx(sum(terms) / max(1, len(terms)), abs=1e-5)


def test_masked_tokens() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.5, -1.0]])
    loss, accuracy = masked_token_prediction(logits, torch.tensor([0, 1]))
    assert loss.item() == pytest.approx((softplus(-2) + softplus(1.5)) / 2)
    assert accuracy.item() == 0.5


def test_a_batch_without_labels_or_masks_moves_nothing() -> None:
    logits, labels = torch.randn(3, 5, requires_grad=True), torch.zeros(3, 5, dtype=torch.bool)
    loss, accuracy = masked_token_prediction(logits[:0], torch.zeros(0, dtype=torch.long))
    loss = loss + sum(concept_classification(logits, labels, multi) for multi in (True, False))
    loss.backward()
    assert loss.item() == accuracy.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


@pytest.mark.parametrize("window", [1, 2, 9])
def test_skip_gram(window: int) -> None:
    random = torch.Generator().manual_seed(0)
    centre, context = torch.randn(2, 2, 5, 3, generator=random)
    noise, mask = torch.randn(2, 5, 4, 3, generator=random), torch.rand(2, 5, generator=random) < 0.7
    places = [(t, i, j) for t in range(2) for i in range(5) for j in range(5) if mask[t, i] and mask[t, j]]
    terms = [
        softplus(-centre[t, i] @ context[t, j]) + sum(softplus(centre[t, i] @ n) for n in noise[t, i])
        for t, i, j in places
        if 0 < abs(i - j) <= window
    ]
    loss = skip_gram(centre, context, noise, mask, window)
    assert loss.item() == pytest.approx(sum(terms) / len(terms), abs=1e-5)
    centre.requires_grad_()
    nothing = skip_gram(centre, context, noise, torch.eye(2, 5) > 0, window)  # of one word
    assert nothing.item() == 0
    assert not torch.autograd.grad(nothing, centre)[0].any()


def test_mutual_information() -> None:
    joint, product = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    terms = [softplus(-joint[row, word]) + softplus(product[row, word]) for row, word in mask.nonzero().tolist()]
    assert mutual_information(joint, product, mask).item() == pytest.approx(sum(terms) / len(terms), rel=1e-6)
    nothing = torch.zeros(3, 4)
    assert mutual_information(nothing, nothing, mask).item() == pytest.approx(2 * math.log(2))
    assert mutual_information(joint, product, torch.zeros_like(mask)).item() == 0


@pytest.mark.parametrize(("ink", "paper"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 3.0)])
def test_ink_and_paper_of_a_figure_are_a_mean_each(ink: float, paper: float) -> None:
    figure = torch.full((1, 3, 8, 8), 2.0)  # white paper with a black line
    figure[:, :, 3] = -2
    drawn = figure[:, :1] + torch.where(figure[:, :1] < 0, ink, paper)
    assert figure_reconstruction(drawn, figure).item() == pytest.approx((ink**2 + paper**2) / 2)


def test_a_figure_costs_the_same_however_it_is_normalised() -> None:
    square = np.full((8, 8, 3), 255, dtype=np.uint8)
    square[3, 2:6] = (0, 90, 30)
    drawn = torch.rand(1, 1, 8, 8)
    first, second = (
        figure_reconstruction(drawn, images.as_imagenet(images.normalise([square])))
        for images in (TQNetImageProcessor(8), TQNetImageProcessor(8, (0.5,) * 3, (0.5,) * 3))
    )
    assert first.item() == pytest.approx(second.item(), rel=1e-5)


def test_figures_are_compared_at_the_size_of_the_drawing() -> None:
    wanted = torch.rand(2, 3, 8, 8)
    small = wanted.mean(1, keepdim=True).unflatten(2, (4, 2)).unflatten(4, (4, 2)).mean((3, 5))
    assert figure_reconstruction(small, wanted).item() == pytest.approx(0, abs=1e-10)
