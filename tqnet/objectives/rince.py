"""Ranking contrast: the more two questions share, the closer (RINCE, Hoffmann et al. 2022; QuesCo, Eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor

#: Whether the positives of a rank are summed inside the logarithm (QuesCo, Eq. 4), each has a logarithm of its own, of
#: which the mean is taken, or the latter for the augmented question and its nearest rank and the former for the rest.
FORMS = ("in", "out", "out-in")

#: Temperatures of ranks 0 to 4, for a hierarchy of three levels (QuesCo, "QuesCo Setup").
PAPER_TEMPERATURES = (0.1, 0.1, 0.225, 0.35, 0.6)


def rince(similarity: Tensor, ranks: Tensor, temperatures: Tensor, form: str = "in") -> tuple[Tensor, Tensor]:
    """Sum over i = 0 .. L of l_i, mean over the anchors (Eq. 4):

    l_i = -log( sum over p of rank i of e^(h(q,p)/T_i)  /  sum over p of rank j >= i of e^(h(q,p)/T_j) )

    Args:
        similarity: [b, k], h(q, p), dot products of normalised projections.
        ranks: int [b, k], 0 for what was made of the anchor itself, then its KH-distances, 1 to L + 1. L + 2 marks a
            question without a concept: nothing is known of its distance, so that it stands in the denominator of l_0
            alone, at the last temperature. -1 leaves a question out.
        temperatures: [L + 2], one for each rank.
        form: One of FORMS.

    Returns:
        The loss, and [b, L + 1] the terms, 0 where an anchor has no question of a rank.

    NOTE: h is not normalised in the paper's text; a temperature of 0.1 has no meaning without it. A rank without
    questions has no term; neither has one with nothing farther away, where there is nothing to tell it from.
    """
    if form not in FORMS:
        raise ValueError(f"form: {form!r} is none of {', '.join(FORMS)}")
    last = len(temperatures) - 1
    with torch.autocast(similarity.device.type, enabled=False):
        scaled = similarity.float() / temperatures.float()[ranks.clamp(0, last).int()]
        sums = [_log_sum(scaled, ranks == rank) for rank in range(last + 1)]
        below = _from_the_end(sums)
        below[0] = torch.logaddexp(below[0], _log_sum(scaled, ranks == last + 1))
        outside = {"in": 0, "out": last, "out-in": 2}[form]
        positives = [_mean(scaled, ranks == rank) if rank < outside else sums[rank] for rank in range(last)]
        farthest = [last + 1, *[last] * (last - 1)]
        farther = [((ranks > rank) & (ranks <= farthest[rank])).any(1) for rank in range(last)]
        present = torch.stack([(ranks == rank).any(1) & farther[rank] for rank in range(last)], 1)
        terms = torch.where(present, torch.stack(below[:last], 1) - torch.stack(positives, 1), 0.0)
        return terms.sum(1).mean(), terms.detach()


def temperatures_for(depth: int, given: Sequence[float] | None = None) -> Tensor:
    """[depth + 2], of ranks 0 to L + 1: as given, or the paper's, interpolated where the depth is not 3.

    Without a hierarchy, all but the augmented question are of one rank, and its temperature is theirs: InfoNCE.

    Raises:
        ValueError: As many as the ranks are needed, above 0, none less than the one before.
    """
    if given is None and not depth:
        return torch.tensor(PAPER_TEMPERATURES[:1] * 2)
    if given is None:
        paper = torch.tensor(PAPER_TEMPERATURES, dtype=torch.double)
        places = torch.linspace(0, len(paper) - 1, depth + 2, dtype=torch.double)
        left = places.long().clamp(max=len(paper) - 2)
        return torch.lerp(paper[left], paper[left + 1], places - left).float()
    if len(given) != depth + 2:
        raise ValueError(f"{len(given)} for the {depth + 2} ranks of a hierarchy of {depth} levels")
    if given[0] <= 0 or any(later < earlier for earlier, later in pairwise(given)):
        raise ValueError(f"{list(given)}: expected numbers above 0, none less than the one before")
    return torch.tensor(given)


def _log_sum(scaled: Tensor, chosen: Tensor) -> Tensor:
    """log sum e^x over the chosen of each row, [b]; -1e30 rather than -inf for none, whose gradient is no number."""
    return scaled.masked_fill(~chosen, -1e30).logsumexp(1)


def _from_the_end(sums: list[Tensor]) -> list[Tensor]:
    """log of the sums from each place to the last."""
    return list(accumulate(reversed(sums), torch.logaddexp))[::-1]


def _mean(scaled: Tensor, chosen: Tensor) -> Tensor:
    return scaled.masked_fill(~chosen, 0).sum(1) / chosen.sum(1).clamp(min=1)
