"""Losses of pairs and triplets of questions: similar ones should be near, dissimilar ones far."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: Added under the root of a distance, which has no gradient where two vectors are equal.
_EPS = 1e-12


def pair_logistic(left: Tensor, right: Tensor, label: Tensor, scale: Tensor | float, bias: Tensor | float) -> Tensor:
    """The traditional pair objective that TQ-Net's is compared with (Figure 3)::

        L = mean of -log sigmoid(+-(scale * cos(left, right) + bias)),  + where the pair is similar

    Args:
        left, right: [p, d], of length 1.
        label: [p], 1 where the pair is similar, else 0.
        scale, bias: Learnt scalars.
    """
    return F.binary_cross_entropy_with_logits(scale * _cosine(left, right) + bias, label.float())


def even_odds(left: Tensor, right: Tensor, label: Tensor, scale: Tensor | float) -> Tensor:
    """The bias of :func:`pair_logistic` that puts the mean similar and the mean dissimilar pair equally far from 0.

    An untrained encoder's vectors all point one way; started at any other bias, the loss pushes all pairs apart,
    similar or not. Where all pairs are of one kind, their mean is at 0; without any pair, the bias is 0.
    """
    cosine = _cosine(left, right)
    means = torch.stack([cosine[label == kind].mean() for kind in (0, 1)])
    return (-scale * means.nanmean()).nan_to_num()


def draw_pairs(similar: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Draw one dissimilar partner for the first question of each similar pair (i < j) of a batch.

    Args:
        similar: bool [b, b], the label matrix.

    Returns:
        Row numbers left [2p] and right [2p], and labels [2p]: p positives, then p negatives. Questions that have no
        dissimilar one in the batch give no negative.
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


def cosine_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Triplet loss by cosine distance (ParaQD, Section 3.4)::

        L = mean of max(0, margin - dist(Q, Q-) + dist(Q, Q+)),  dist(a, b) = 1 - cos(a, b)

    Args:
        anchor, positive, negative: [n, d], of length 1; row i of each is of one triplet.
        margin: The paper gives none. From 2 on, the largest difference of distances, every triplet has a loss.

    NOTE: the paper sums over the triplets of a batch; the mean does not depend on their number.
    """
    return F.relu(margin + _cosine(anchor, negative) - _cosine(anchor, positive)).mean()


def euclidean_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """As :func:`cosine_triplet`, dist(a, b) = ||a - b||.

    NOTE: not the paper's equation, but what its scores near -1 suggest: the default triplet loss of
    sentence-transformers, with this distance and a margin of 5. Unit vectors are at most 2 apart, so every triplet
    keeps pushing its negative to the other side of the sphere.
    """
    return F.relu(margin - _distance(anchor, negative) + _distance(anchor, positive)).mean()


def _cosine(left: Tensor, right: Tensor) -> Tensor:
    with torch.autocast(left.device.type, enabled=False):
        return torch.einsum("pd,pd->p", left.float(), right.float())


def _distance(left: Tensor, right: Tensor) -> Tensor:
    return ((left.float() - right.float()).square().sum(1) + _EPS).sqrt()
