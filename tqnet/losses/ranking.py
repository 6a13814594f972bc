"""Ranking contrast: the more concepts questions share, the closer (RINCE, Hoffmann et al. 2022; QuesCo, Eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor

#: Temperatures of ranks 0 to 4, for a hierarchy of three levels (QuesCo, "QuesCo Setup").
PAPER_TEMPERATURES = (0.1, 0.1, 0.225, 0.35, 0.6)


def rince(similarity: Tensor, ranks: Tensor, temperatures: Tensor, form: str = "in") -> tuple[Tensor, Tensor]:
    """Compute ranking InfoNCE, summed over ranks i = 0 .. L, mean over anchors (QuesCo, Eq. 4)::

        l_i = -log( sum over p of rank i of e^(h(q,p)/T_i)  /  sum over p of rank j >= i of e^(h(q,p)/T_j) )

    NOTE: the paper's text does not normalise h, but a temperature of 0.1 makes no sense otherwise. Ranks without
    questions, or with none farther away, have no term.

    Args:
        similarity: [b, k], h(q, p), dot products of normalised projections.
        ranks: int [b, k], 0 for augmentations of the anchor, then KH-distances, 1 to L + 1. L + 2 marks a question
            without a concept, whose distance is unknown: it enters only the denominator of l_0, at the last
            temperature. -1 excludes a question.
        temperatures: [L + 2], one per rank.
        form: ``in`` (QuesCo's) sums a rank's positives inside the logarithm, ``out`` averages their logarithms, and
            ``out-in`` uses ``out`` for ranks 0 and 1 and ``in`` for the rest.

    Returns:
        The loss, and the terms [b, L + 1], 0 where a rank has none.
    """
    last = len(temperatures) - 1
    outside = {"in": 0, "out": last, "out-in": min(2, last)}[form]
    with torch.autocast(similarity.device.type, enabled=False):
        # Excluded questions get an extra rank after the unknown ones.
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
    """Return temperatures [depth + 2] of ranks 0 to L + 1: as given, or the paper's, interpolated if depth is not 3.

    Without a hierarchy, all other questions share one rank at the augmentation's temperature: InfoNCE.

    Raises:
        ValueError: Their number differs from that of ranks, or they are not above 0 and ascending.
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
    """Return logsumexp over the questions of each rank, [b, ranks], and which ranks are present.

    Empty ranks get -1e30, since -inf has a NaN gradient. All ranks take one pass: on a CPU, with a queue of 65,536, a
    tenth of the time of one mask per rank.
    """
    peaks = scaled.new_full((len(scaled), ranks), -torch.inf).scatter_reduce(1, places, scaled.detach(), "amax")
    present = peaks > -torch.inf
    peaks = peaks.masked_fill(~present, -1e30)
    sums = torch.zeros_like(peaks).scatter_add(1, places, (scaled - peaks.gather(1, places)).exp())
    return torch.where(present, sums, 1).log() + peaks, present


def _means(scaled: Tensor, places: Tensor, ranks: int) -> Tensor:
    """Average x over the questions of each rank, [b, ranks]; 0 for empty ranks."""
    nothing = scaled.new_zeros((len(scaled), ranks))
    counts = nothing.scatter_add(1, places, torch.ones_like(scaled))
    return nothing.scatter_add(1, places, scaled) / counts.clamp(min=1)
