"""Losses of the baselines: auto-encoders and QuesNet's image decoder, DisenQNet, word2vec."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def figure_reconstruction(drawn: Tensor, figures: Tensor) -> Tensor:
    """Mean squared error over the ink, plus that over the paper, halved.

    Args:
        drawn: [n, 1, size, size], grey.
        figures: [n, 3, H, W], as ImageNet's statistics normalise them; compared in grey at the size of ``drawn``.

    NOTE: papers take the plain mean. Figures are mostly paper: here an error on a line weighs as much as all the
    paper together.
    """
    target = F.interpolate(figures.mean(1, keepdim=True).float(), drawn.shape[-1], mode="area")
    ink = (target < target.amax((2, 3), keepdim=True) - 0.5).float()
    weight = ink / ink.sum().clamp(min=1) + (1 - ink) / (1 - ink).sum().clamp(min=1)
    return (weight * (drawn.float() - target) ** 2).sum() / 2


def mutual_information(joint: Tensor, product: Tensor, mask: Tensor) -> Tensor:
    """The Jensen-Shannon bound of mutual information, as a loss (DisenQNet; Hjelm et al. 2019, Eq. 4)::

        L = mean over words w of softplus(-T(w, v)) + softplus(T(w, v'))

    v is the vector of the question that w is a word of, v' that of another one.

    Args:
        joint, product: [b, t], T(w, v) and T(w, v').
        mask: bool [b, t], True for words.

    Returns:
        A scalar; 2 log 2 where T is 0.
    """
    terms = F.softplus(-joint.float()) + F.softplus(product.float())
    return (terms * mask).sum() / mask.sum().clamp(min=1)


def dependence(joint: Tensor, product: Tensor) -> Tensor:
    """Wasserstein distance between the joint distribution of two parts and their product, by a critic D::

        mean D(v_k, v_i) - mean D(v_k, v_i')

    Zero where the parts are independent (DisenQNet, Huang et al. 2021). The critic, whose slope is at most 1,
    maximises it; the encoder minimises it.

    Args:
        joint, product: [b], the critic's scores.
    """
    return joint.float().mean() - product.float().mean()


def skip_gram(centre: Tensor, context: Tensor, noise: Tensor, mask: Tensor, window: int) -> Tensor:
    """Skip-gram with negative sampling (word2vec, Mikolov et al. 2013, Eq. 4)::

        L = mean over pairs 0 < |i - j| <= window of -log s(c_i . u_j) - sum over k of log s(-c_i . n_ik)

    Args:
        centre, context: [b, t, h], input vectors c and output vectors u of the words of each text.
        noise: [b, t, k, h], output vectors of k words drawn for each place.
        mask: bool [b, t], True at words.

    Returns:
        A scalar; zero, still connected to the graph, where no text has two words.

    NOTE: word2vec draws noise for every pair, here the pairs of one centre share it.
    """
    places = torch.arange(mask.shape[1], device=mask.device)
    distance = (places[:, None] - places[None, :]).abs()
    pairs = (distance > 0) & (distance <= window) & mask[:, :, None] & mask[:, None, :]
    with torch.autocast(centre.device.type, enabled=False):
        centre, context, noise = centre.float(), context.float(), noise.float()
        attraction = F.softplus(-torch.einsum("bih,bjh->bij", centre, context))
        repulsion = F.softplus(torch.einsum("bih,bikh->bik", centre, noise)).sum(-1, keepdim=True)
        return ((attraction + repulsion) * pairs).sum() / pairs.sum().clamp(min=1)
