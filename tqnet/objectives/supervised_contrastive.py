"""Supervised contrastive loss with a non-diagonal label matrix (TQ-Net, Eq. 3)."""

from __future__ import annotations

import torch
from torch import Tensor


def supervised_contrastive(
    features: Tensor, similar: Tensor, temperature: float, denominator: str = "negatives"
) -> Tensor:
    """One term per (seed, similar) pair, mean over the pairs of a seed and then over the seeds.

    ``denominator="negatives"`` (Eq. 3): l(s, p) = -log( e^(s.p/T) / (e^(s.p/T) + sum over others o not similar
    to s of e^(s.o/T)) ); the other positives of s stay out of it. ``"all"`` (Khosla et al. 2020): the sum runs
    over every question but s.

    Args:
        features: [b, d], of length 1.
        similar: bool [b, b], symmetric, False on the diagonal: the label matrix.

    Returns:
        A scalar. Questions without a similar one are negatives of the others and have no term of their own;
        without any pair in the batch it is zero, still connected to the graph.

    NOTE: the paper does not say how terms are averaged; by seed first keeps a large group from outweighing
    the small ones.
    """
    if denominator not in ("negatives", "all"):
        raise ValueError(f"denominator: {denominator!r} is neither 'negatives' nor 'all'")
    with torch.autocast(features.device.type, enabled=False):
        features = features.float()
        logits = torch.einsum("id,jd->ij", features, features) / temperature
        itself = torch.eye(len(features), dtype=torch.bool, device=features.device)
        if denominator == "all":
            log_sum = logits.masked_fill(itself, float("-inf")).logsumexp(1, keepdim=True)
        else:
            others = logits.masked_fill(itself | similar, float("-inf")).logsumexp(1, keepdim=True)
            log_sum = torch.logaddexp(logits, others)
        terms = (log_sum - logits).masked_fill(~similar, 0)
        pairs = similar.sum(1)
        per_seed = terms.sum(1) / pairs.clamp(min=1)
        return per_seed.sum() / (pairs > 0).sum().clamp(min=1)
