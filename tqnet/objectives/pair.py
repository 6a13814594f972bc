"""The traditional pair objective that the supervised contrastive one is compared with (TQ-Net, Figure 3)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def pair_logistic(left: Tensor, right: Tensor, label: Tensor, scale: Tensor | float, bias: Tensor | float) -> Tensor:
    """Logistic loss of the scaled cosine: -log sigmoid(+-(scale * cos(left, right) + bias)), mean over pairs.

    Args:
        left, right: [p, d], of length 1.
        label: [p], 1 where the pair is similar, else 0.
        scale, bias: Learnt scalars.
    """
    return F.binary_cross_entropy_with_logits(scale * _cosine(left, right) + bias, label.float())


def even_odds(left: Tensor, right: Tensor, label: Tensor, scale: Tensor | float) -> Tensor:
    """The bias by which the mean similar and the mean dissimilar pair are equally far from even odds.

    Where all vectors point one way, as an untrained encoder's do, a bias of any other start has the loss push all
    pairs apart, similar or not. The arguments are those of :func:`pair_logistic`. Where all pairs are of one kind,
    their mean is at even odds; without any pair, the bias is 0.
    """
    cosine = _cosine(left, right)
    means = torch.stack([cosine[label == kind].mean() for kind in (0, 1)])
    return (-scale * means.nanmean()).nan_to_num()


def _cosine(left: Tensor, right: Tensor) -> Tensor:
    with torch.autocast(left.device.type, enabled=False):
        return torch.einsum("pd,pd->p", left.float(), right.float())


def draw_pairs(similar: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Every similar pair (i < j) of a label matrix bool [b, b], and one random dissimilar partner for each.

    Returns:
        left [2p], right [2p] row numbers and labels [2p]: p positives, then p negatives. Seeds that have no
        dissimilar question in the batch give no negative.
    """
    left, right = torch.nonzero(similar.triu(1), as_tuple=True)
    dissimilar = ~similar
    dissimilar.fill_diagonal_(False)
    weights = dissimilar[left].float()
    drawable = weights.sum(1) > 0
    seeds = left[drawable]
    # multinomial refuses an empty matrix.
    partners = torch.multinomial(weights[drawable], 1, generator=generator).squeeze(1) if len(seeds) else seeds
    labels = torch.cat([torch.ones(len(left)), torch.zeros(len(seeds))])
    return torch.cat([left, seeds]), torch.cat([right, partners]), labels
