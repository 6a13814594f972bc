"""Skip-gram with negative sampling (word2vec, Mikolov et al. 2013, Eq. 4)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def skip_gram(centre: Tensor, context: Tensor, noise: Tensor, mask: Tensor, window: int) -> Tensor:
    """-log s(c_i . u_j) - sum over k of log s(-c_i . n_ik), mean over pairs of places 0 < |i - j| <= window.

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
