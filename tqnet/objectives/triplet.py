"""A question nearer to what asks the same than to what does not, by a margin (ParaQD, Section 3.4)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: Under the root of a distance, whose gradient has no value where two vectors are one: the same sentence, say.
_EPS = 1e-12


def cosine_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """L = max(0, margin - dist(Q, Q-) + dist(Q, Q+)), dist(a, b) = 1 - cos(a, b); mean over triplets.

    Args:
        anchor, positive, negative: [n, d], of length 1; row i of each is of one triplet.
        margin: The paper gives none. From 2 on, the largest difference of distances, no triplet is ever far enough
            apart.

    NOTE: the paper sums over the triplets of a batch; the mean does not depend on how many they are.
    """
    return _hinge(1 - _dot(anchor, positive), 1 - _dot(anchor, negative), margin)


def euclidean_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """As :func:`cosine_triplet`, dist(a, b) = ||a - b||.

    NOTE: not the paper's equation, but what its scores near -1 speak for: sentence-transformers' triplet loss as it
    comes, with this distance and a margin of 5. Unit vectors are at most 2 apart, so that every triplet keeps pushing
    its negative to the other side of the sphere.
    """
    return _hinge(_distance(anchor, positive), _distance(anchor, negative), margin)


def _hinge(near: Tensor, far: Tensor, margin: float) -> Tensor:
    return F.relu(margin - far + near).mean()


def _dot(a: Tensor, b: Tensor) -> Tensor:
    with torch.autocast(a.device.type, enabled=False):
        return torch.einsum("nd,nd->n", a.float(), b.float())


def _distance(a: Tensor, b: Tensor) -> Tensor:
    return ((a.float() - b.float()).square().sum(1) + _EPS).sqrt()
