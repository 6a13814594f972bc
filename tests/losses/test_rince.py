"""RINCE against Eq. 4 of QuesCo read out loud, and what has no term."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tqnet.losses.ranking import FORMS, PAPER_TEMPERATURES, rince, temperatures_for

DEPTH = 3
UNKNOWN, LEFT_OUT = DEPTH + 2, -1


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


def draw(seed: int, rows: int = 5, keys: int = 40) -> tuple[Tensor, Tensor]:
    """Similarities, and ranks of all kinds; the first column is what was made of the anchor."""
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.rand(rows, keys + 1, generator=generator) * 2 - 1
    ranks = torch.randint(0, UNKNOWN, (rows, keys + 1), generator=generator) + 1
    ranks[torch.rand(ranks.shape, generator=generator) < 0.1] = LEFT_OUT
    ranks[:, 0] = 0
    return similarity, ranks


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_equation_term_by_term(seed: int, form: str) -> None:
    similarity, ranks = draw(seed)
    ranks[1][ranks[1] == 2] = 4  # a rank without questions
    ranks[2, 1:] = UNKNOWN  # an anchor without concepts: its augmentation alone
    temperatures = temperatures_for(DEPTH)
    loss, terms = rince(similarity, ranks, temperatures, form)
    assert float(loss) == pytest.approx(literal(similarity, ranks, temperatures, form), rel=1e-5)
    assert terms.shape == (5, DEPTH + 1)
    assert terms[1, 2] == 0
    assert (terms[2, 1:] == 0).all() and terms[2, 0] > 0  # noqa: PT018


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_hierarchies_of_other_depths(depth: int, form: str) -> None:
    """Without one, all that is not the anchor's own is of one rank, or of none that is known."""
    similarity, ranks = draw(0)
    ranks = torch.where(ranks > depth + 1, depth + 2, ranks)
    temperatures = temperatures_for(depth)
    loss, terms = rince(similarity, ranks, temperatures, form)
    assert float(loss) == pytest.approx(literal(similarity, ranks, temperatures, form), rel=1e-5)
    assert terms.shape == (5, depth + 1)


@pytest.mark.parametrize("form", FORMS)
def test_the_gradient_is_that_of_the_formula(form: str) -> None:
    similarity, ranks = draw(3)
    ranks[1][ranks[1] == 2] = 4
    temperatures = temperatures_for(DEPTH)
    similarity.requires_grad_()
    rince(similarity, ranks, temperatures, form)[0].backward()
    assert similarity.grad is not None
    h, step = similarity.detach().double(), 1e-5
    for row, column in [(0, 0), (0, 3), (1, 5), (1, 7), (4, 11)]:
        above, below = h.clone(), h.clone()
        above[row, column] += step
        below[row, column] -= step
        slope = (literal(above, ranks, temperatures, form) - literal(below, ranks, temperatures, form)) / (2 * step)
        assert float(similarity.grad[row, column]) == pytest.approx(slope, rel=1e-3, abs=1e-5)
    empty = torch.full((2, 4), LEFT_OUT)
    alone = torch.rand(2, 4, requires_grad=True)
    loss, _ = rince(alone, empty, temperatures, form)
    loss.backward()
    assert loss == 0
    assert alone.grad is not None
    assert (alone.grad == 0).all()


def test_nearer_ranks_are_drawn_nearer() -> None:
    """Steps down the gradient order free similarities by rank, which InfoNCE would not."""
    similarity = torch.zeros(1, 10, requires_grad=True)
    ranks = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4, 4, LEFT_OUT]])
    for _ in range(300):
        loss, _ = rince(similarity.tanh(), ranks, torch.full((DEPTH + 2,), 0.2))
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
    with pytest.raises(ValueError, match="'inn' is none of in, out, out-in"):
        rince(torch.zeros(1, 1), torch.zeros(1, 1, dtype=torch.long), temperatures_for(3), "inn")
