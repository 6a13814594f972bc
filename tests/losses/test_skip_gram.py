"""Skip-gram against its formula read out loud."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from tqnet.losses.baselines import skip_gram


def literal(centre: Tensor, context: Tensor, noise: Tensor, mask: Tensor, window: int) -> float:
    def surprise(score: Tensor) -> float:
        return -math.log(1 / (1 + math.exp(-float(score))))

    terms = []
    for text in range(len(mask)):
        words = [i for i in range(mask.shape[1]) if mask[text, i]]
        for i in words:
            for j in words:
                if 0 < abs(i - j) <= window:
                    drawn = sum(surprise(-centre[text, i] @ n) for n in noise[text, i])
                    terms.append(surprise(centre[text, i] @ context[text, j]) + drawn)
    return sum(terms) / max(1, len(terms))


@pytest.mark.parametrize("window", [1, 2, 9])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_its_formula(window: int, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    centre, context = torch.randn(2, 2, 5, 3, generator=random)
    noise, mask = torch.randn(2, 5, 4, 3, generator=random), torch.rand(2, 5, generator=random) < 0.7
    loss = skip_gram(centre, context, noise, mask, window)
    assert loss.item() == pytest.approx(literal(centre, context, noise, mask, window), abs=1e-5)


def test_a_text_of_one_word_teaches_nothing() -> None:
    centre = torch.randn(1, 3, 2, requires_grad=True)
    mask = torch.tensor([[True, False, False]])
    loss = skip_gram(centre, torch.randn(1, 3, 2), torch.randn(1, 3, 4, 2), mask, 2)
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, centre)[0].any()
