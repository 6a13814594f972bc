"""The loss of concepts against its formula."""

from __future__ import annotations

import math

import pytest
import torch
from tqnet.losses.classification import concept_classification

LOGITS = torch.tensor([[2.0, 0.0], [0.5, -1.0], [3.0, 3.0]])


def test_one_concept_each() -> None:
    concepts = torch.tensor([[True, False], [False, True], [False, False]])
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1.5))) / 2
    assert concept_classification(LOGITS, concepts, multi_label=False).item() == pytest.approx(expected)


def test_several_concepts() -> None:
    concepts = torch.tensor([[True, True], [False, True], [False, False]])
    signed = [2.0, 0.0, -0.5, -1.0]
    expected = sum(math.log(1 + math.exp(-x)) for x in signed) / 2
    assert concept_classification(LOGITS, concepts, multi_label=True).item() == pytest.approx(expected)


def test_a_batch_without_labels_moves_nothing() -> None:
    logits = LOGITS.clone().requires_grad_()
    for multi_label in (False, True):
        loss = concept_classification(logits, torch.zeros(3, 2, dtype=torch.bool), multi_label)
        loss.backward()
        assert loss.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()
