"""Labels of which a question may have several, and masked tokens, against their formulas."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tqnet.losses.classification import concept_classification, masked_token_prediction, soft_label_classification


@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 99))
def test_the_loss_is_its_formula(b: int, classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(b, classes, generator=generator, dtype=torch.float64)
    labels = torch.rand(b, classes, generator=generator) < 0.4
    terms = []
    for of, own in zip(logits.tolist(), labels.tolist(), strict=True):
        if any(own):
            total = sum(map(math.exp, of))
            terms.append(-sum(math.log(math.exp(x) / total) for x, has in zip(of, own, strict=True) if has) / sum(own))
    expected = sum(terms) / len(terms) if terms else 0
    assert soft_label_classification(logits, labels).item() == pytest.approx(expected, abs=1e-5)


def test_with_one_label_each_it_is_the_usual_cross_entropy() -> None:
    logits, labels = torch.randn(4, 3), torch.eye(3, dtype=torch.bool)[torch.tensor([2, 0, 1, 1])]
    torch.testing.assert_close(
        soft_label_classification(logits, labels), concept_classification(logits, labels, multi_label=False)
    )


def test_a_batch_without_labels_or_masks_moves_nothing() -> None:
    logits = torch.randn(3, 5, requires_grad=True)
    guessed, accuracy = masked_token_prediction(logits[:0], torch.zeros(0, dtype=torch.long))
    loss = soft_label_classification(logits, torch.zeros(3, 5, dtype=torch.bool)) + guessed
    loss.backward()
    assert loss.item() == accuracy.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


def test_masked_tokens() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.5, -1.0]])
    loss, accuracy = masked_token_prediction(logits, torch.tensor([0, 1]))
    assert loss.item() == pytest.approx((math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1.5))) / 2)
    assert accuracy.item() == 0.5
