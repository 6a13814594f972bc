"""Ranking contrast: the more two questions share, the closer (RINCE, Hoffmann et al. 2022; QuesCo, Eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor

#: Temperatures of ranks 0 to 4, for a hierarchy of three levels (QuesCo, "QuesCo Setup").
PAPER_TEMPERATURES = (0.1, 0.1, 0.225, 0.35, 0.6)


def rince(similarity: Tensor, ranks: Tensor, temperatures: Tensor, form: str = "in") -> tuple[Tensor, Tensor]:
    """Ranking InfoNCE, summed over ranks i = 0 .. L, mean over the anchors (QuesCo, Eq. 4)::

        l_i = -log( sum over p of rank i of e^(h(q,p)/T_i)  /  sum over p of rank j >= i of e^(h(q,p)/T_j) )

    NOTE: h is not normalised in the paper's text; a temperature of 0.1 has no meaning without it. A rank without
    questions has no term; neither has one with nothing farther away.

    Args:
        similarity: [b, k], h(q, p), dot products of normalised projections.
        ranks: int [b, k], 0 for augmentations of the anchor, then KH-distances, 1 to L + 1. L + 2 marks a question
            without a concept, whose distance is unknown: it is in the denominator of l_0 alone, at the last
            temperature. -1 leaves a question out.
        temperatures: [L + 2], one for each rank.
        form: The positives of a rank are summed inside the logarithm (``in``, QuesCo's), or the mean of their
            logarithms is taken (``out``), or the latter for the augmented question and its nearest rank and the former
            for the rest (``out-in``).

    Returns:
        The loss, and [b, L + 1] the terms, 0 where an anchor has no question of a rank.
    """
    last = len(temperatures) - 1
    outside = {"in": 0, "out": last, "out-in": min(2, last)}[form]
    with torch.autocast(similarity.device.type, enabled=False):
        # What is left out is of a rank of its own, behind the unknown ones.
        places = torch.where(ranks < 0, last + 2, ranks).long()
        inverse = 1 / temperatures.float()
        scaled = similarity.float() * torch.cat([inverse, inverse[-1:], inverse.new_zeros(1)])[places]
        sums, present = _log_sums(scaled, places, last + 3)
        below = list(accumulate(reversed(sums[:, : last + 1].unbind(1)), torch.logaddexp))[::-1]  # of rank j >= i
        below[0] = torch.logaddexp(below[0], sums[:, last + 1])
        positives = sums[:, :last]
        if outside:
            positives = torch.cat([_means(scaled, places, last + 3)[:, :outside], positives[:, outside:]], 1)
        farthest = [last + 1, *[last] * (last - 1)]
        farther = torch.stack([present[:, rank + 1 : farthest[rank] + 1].any(1) for rank in range(last)], 1)
        terms = torch.where(present[:, :last] & farther, torch.stack(below[:last], 1) - positives, 0.0)
        return terms.sum(1).mean(), terms.detach()


def temperatures_for(depth: int, given: Sequence[float] | None = None) -> Tensor:
    """Temperatures [depth + 2] of ranks 0 to L + 1: as given, or the paper's, interpolated where the depth is not 3.

    Without a hierarchy, all but the augmented question are of one rank, with its temperature: InfoNCE.

    Raises:
        ValueError: Not as many as ranks, or not above 0 and ascending.
    """
    if given is not None:
        if len(given) != depth + 2:
            raise ValueError(f"{len(given)} for the {depth + 2} ranks of a hierarchy of {depth} levels")
        if given[0] <= 0 or any(later < earlier for earlier, later in pairwise(given)):
            raise ValueError(f"{list(given)}: expected numbers above 0, none less than the one before")
        return torch.tensor(given)
    if not depth:
        return torch.tensor(PAPER_TEMPERATURES[:1] * 2)
    paper = torch.tensor(PAPER_TEMPERATURES, dtype=torch.double)
    places = torch.linspace(0, len(paper) - 1, depth + 2, dtype=torch.double)
    left = places.long().clamp(max=len(paper) - 2)
    return torch.lerp(paper[left], paper[left + 1], places - left).float()


def _log_sums(scaled: Tensor, places: Tensor, ranks: int) -> tuple[Tensor, Tensor]:
    """log sum e^x over the questions of each rank, [b, ranks], and of which ranks there are any.

    Without any it is -1e30 rather than -inf, whose gradient is NaN. All ranks in one pass: with a queue of 65,536
    this takes a tenth of the time of a mask for each rank, on a processor.
    """
    peaks = scaled.new_full((len(scaled), ranks), -torch.inf).scatter_reduce(1, places, scaled.detach(), "amax")
    present = peaks > -torch.inf
    peaks = peaks.masked_fill(~present, -1e30)
    sums = torch.zeros_like(peaks).scatter_add(1, places, (scaled - peaks.gather(1, places)).exp())
    return torch.where(present, sums, 1).log() + peaks, present


def _means(scaled: Tensor, places: Tensor, ranks: int) -> Tensor:
    """Mean of x over the questions of each rank, [b, ranks]; 0 of none."""
    nothing = scaled.new_zeros((len(scaled), ranks))
    counts = nothing.scatter_add(1, places, torch.ones_like(scaled))
    return nothing.scatter_add(1, places, scaled) / counts.clamp(min=1)
