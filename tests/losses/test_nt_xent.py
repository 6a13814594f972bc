"""NT-Xent against its formula read out loud."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tqnet.losses.contrastive import nt_xent


def views(b: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    drawn = torch.randn(2, b, 4, generator=torch.Generator().manual_seed(seed))
    first, second = F.normalize(drawn, dim=-1)
    return first, second


@pytest.mark.parametrize("left_out", [[], [(0, 2)]])
def test_the_equation_term_by_term(left_out: list[tuple[int, int]]) -> None:
    b, temperature = 4, 0.3
    first, second = views(b)
    excluded = torch.eye(b, dtype=torch.bool)
    for i, j in left_out:
        excluded[i, j] = excluded[j, i] = True
    z = torch.cat([first, second]).tolist()
    terms = []
    for i in range(2 * b):
        e = [math.exp(sum(x * y for x, y in zip(z[i], z[k], strict=True)) / temperature) for k in range(2 * b)]
        other = (i + b) % (2 * b)
        negatives = [k for k in range(2 * b) if k % b != i % b and not excluded[i % b, k % b]]
        terms.append(-math.log(e[other] / (e[other] + sum(e[k] for k in negatives))))
    loss, logits = nt_xent(first, second, temperature, excluded)
    assert float(loss) == pytest.approx(sum(terms) / len(terms), rel=1e-5)
    assert logits.shape == (2 * b, 2 * b)
    without = nt_xent(first, second, temperature)[0]
    assert (float(loss) == pytest.approx(float(without))) == (not left_out)
