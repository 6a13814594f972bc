"""RINCE against Eq. 4 of QuesCo read out loud, and what has no term."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.losses.conftest import assert_gradient
from tqnet.losses.ranking import PAPER_TEMPERATURES, rince, temperatures_for

FORMS = ("in", "out", "out-in")
LEFT_OUT = -1


def literal(similarity: Tensor, ranks: Tensor, temperatures: Tensor, form: str) -> float:
    """Eq. 4, sum over i = 0 .. L, term by term."""
    depth = len(temperatures) - 2
    losses = []
    for h, rank in zip(similarity.tolist(), ranks.tolist(), strict=True):
        by_rank = {
            u: [math.exp(x / float(temperatures[min(u, depth + 1)])) for x, r in zip(h, rank, strict=True) if r == u]
            for u in range(depth + 3)
        }
        loss = 0.0
        for i in range(depth + 1):
            positives = by_rank[i]
            if not positives or not any(by_rank[j] for j in range(i + 1, depth + 2 + (i == 0))):
                continue
            denominator = sum(sum(by_rank[j]) for j in range(i, depth + 2)) + (sum(by_rank[depth + 2]) if i == 0 else 0)
            if form == "out" or (form == "out-in" and i < 2):
                loss += sum(-math.log(e / denominator) for e in positives) / len(positives)
            else:
                loss += -math.log(sum(positives) / denominator)
        losses.append(loss)
    return sum(losses) / len(losses)


def draw(seed: int, depth: int = 3, rows: int = 5, keys: int = 40) -> tuple[Tensor, Tensor]:
    """Similarities, and ranks of all kinds; the first column is what was made of the anchor."""
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.rand(rows, keys + 1, generator=generator, dtype=torch.float64) * 2 - 1
    ranks = torch.randint(1, depth + 3, (rows, keys + 1), generator=generator)
    ranks[torch.rand(ranks.shape, generator=generator) < 0.1] = LEFT_OUT
    ranks[:, 0] = 0
    return similarity, ranks


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_equation_term_by_term(depth: int, form: str) -> None:
    """Without a hierarchy, all that is not the anchor's own is of one rank, or of none that is known."""
    similarity, ranks = draw(depth, depth)
    ranks[1][ranks[1] == 2] = LEFT_OUT  # a rank without questions
    ranks[2, 1:] = depth + 2  # an anchor without concepts: its augmentation alone
    temperatures = temperatures_for(depth)
    loss, terms = rince(similarity, ranks, temperatures, form)
    assert float(loss) == pytest.approx(literal(similarity, ranks, temperatures, form), rel=1e-5)
    assert terms.shape == (5, depth + 1)
    assert depth < 2 or terms[1, 2] == 0
    assert not terms[2, 1:].any()
    assert terms[2, 0] > 0


@pytest.mark.parametrize("form", FORMS)
def test_the_gradient(form: str) -> None:
    similarity, ranks = draw(3, rows=2, keys=10)
    temperatures = temperatures_for(3)
    assert_gradient(
        lambda h: rince(h, ranks, temperatures, form)[0], lambda h: literal(h, ranks, temperatures, form), similarity
    )
    alone = torch.rand(2, 4, requires_grad=True)
    loss, _ = rince(alone, torch.full((2, 4), LEFT_OUT), temperatures, form)
    loss.backward()
    assert loss == 0
    assert alone.grad is not None
    assert (alone.grad == 0).all()


def test_nearer_ranks_are_drawn_nearer() -> None:
    """Steps down the gradient order free similarities by rank, which InfoNCE would not."""
    similarity = torch.zeros(1, 10, requires_grad=True)
    ranks = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4, 4, LEFT_OUT]])
    for _ in range(300):
        loss, _ = rince(similarity.tanh(), ranks, torch.full((5,), 0.2))
        (gradient,) = torch.autograd.grad(loss, similarity)
        similarity = (similarity - 0.1 * gradient).detach().requires_grad_()
    free = similarity.detach()
    mean = [float(free[ranks == rank].mean()) for rank in range(5)]
    assert mean == sorted(mean, reverse=True)
    assert float(free[0, -1]) == 0


def test_temperatures() -> None:
    assert temperatures_for(3).tolist() == pytest.approx(PAPER_TEMPERATURES)
    deeper = temperatures_for(5).tolist()
    assert len(deeper) == 7
    assert deeper == sorted(deeper)
    assert (deeper[0], deeper[-1]) == pytest.approx((0.1, 0.6))
    assert temperatures_for(1, [0.1, 0.2, 0.2]).tolist() == pytest.approx([0.1, 0.2, 0.2])
    with pytest.raises(ValueError, match="3 for the 5 ranks of a hierarchy of 3 levels"):
        temperatures_for(3, [0.1, 0.2, 0.3])
    for wrong in ([0, 0.1, 0.2], [0.2, 0.1, 0.3]):
        with pytest.raises(ValueError, match="none less than the one before"):
            temperatures_for(1, wrong)
