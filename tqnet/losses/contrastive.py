"""Contrastive losses: a question should be nearer to its positives than to the other questions.

All take vectors of length 1. Similarities are computed in fp32 whatever the autocast: at a temperature of 0.07 a bf16
logit is off by several percent. ``excluded`` marks the candidates that are no negatives of a query (the same question,
or the same content under another id); marks on positives have no effect.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def infonce(
    query: Tensor, key: Tensor, negatives: Tensor, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Contrast each query with its key among a queue of keys (MoCo; TQ-Net, Eq. 1)::

        L = mean over i of -log( e^(q_i.k_i/T) / (e^(q_i.k_i/T) + sum_n e^(q_i.n/T)) )

    Args:
        query, key: [b, d], row i of ``key`` is the positive of row i of ``query``.
        negatives: [k, d], the queue.
        excluded: bool [b, k].

    Returns:
        The loss, and the logits [b, 1 + k] whose column 0 is the positive.
    """
    with torch.autocast(query.device.type, enabled=False):
        positive = torch.einsum("bd,bd->b", query.float(), key.float())
    logits = torch.cat([positive[:, None], _dot_products(query, negatives)], dim=1) / temperature
    target = torch.zeros(len(query), dtype=torch.long, device=query.device)
    return _softmax_loss(logits, target, None if excluded is None else F.pad(excluded, (1, 0)))


def in_batch_infonce(
    query: Tensor, key: Tensor, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Contrast each query with its key among the keys of the batch (FSE, Eq. 2)::

        L = mean over i of -log( e^(q_i.k_i/T) / sum_j e^(q_i.k_j/T) )

    NOTE: the paper's formula lacks the exponentials and the temperature; the logarithm of a sum of cosines is not
    always defined.

    Args:
        query: [n, d].
        key: [m, d], m >= n; row i is the positive of query i, rows from n on are negatives of all queries.
        excluded: bool [n, n].

    Returns:
        The loss, 0 of no rows, and the logits [n, m], -inf where excluded.
    """
    if excluded is not None:
        excluded = F.pad(excluded, (0, len(key) - len(query)))
    target = torch.arange(len(query), device=query.device)
    return _softmax_loss(_dot_products(query, key) / temperature, target, excluded)


def multiple_negatives_ranking(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor | None = None,
    temperature: float = 0.05,
    excluded: Tensor | None = None,
) -> Tensor:
    """In-batch InfoNCE with hard negatives (ParaQD, Appendix D; Henderson et al. 2017).

    Args:
        anchor, positive: [n, d].
        negative: [m, d], hard negatives of all anchors alike.
        temperature: The paper gives none; 1 / 20 is the default of sentence-transformers.
        excluded: bool [n, n].
    """
    keys = positive if negative is None else torch.cat([positive, negative])
    return in_batch_infonce(anchor, keys, temperature, excluded)[0]


def nt_xent(first: Tensor, second: Tensor, temperature: float, excluded: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Contrast two views of each question among all views (NT-Xent, Chen et al. 2020, Eq. 1; ConSERT, Eq. 1)::

        L = mean over the 2b views i of -log( e^(z_i.z_j/T) / sum_{k != i} e^(z_i.z_k/T) ),  j the other view of i

    Args:
        first, second: [b, d], row i of both is of one question.
        excluded: bool [b, b], symmetric.

    Returns:
        The loss, and the logits [2b, 2b], -inf on the diagonal and where excluded.
    """
    views = torch.cat([first, second])
    itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
    target = torch.arange(len(views), device=views.device).roll(len(first))
    left_out = itself if excluded is None else itself | excluded.repeat(2, 2)
    return _softmax_loss(_dot_products(views, views) / temperature, target, left_out)


def cross_modal_infonce(
    text: Tensor, visual: Tensor, scale: Tensor | float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Find a text's figures among all figures, and a figure's text (CLIP, Radford et al. 2021, Figure 3)::

        logits = scale * text @ visual.T
        L = (CE(logits, diagonal) + CE(logits.T, diagonal)) / 2

    Args:
        text, visual: [b, d], row i of both is of one question.
        scale: 1 / temperature, learnt.
        excluded: bool [b, b], symmetric.

    Returns:
        The loss, and the logits [b, b] of text i and figures j, -inf where excluded.
    """
    target = torch.arange(len(text), device=text.device)
    to_figures, logits = _softmax_loss(scale * _dot_products(text, visual), target, excluded)
    to_texts, _ = _softmax_loss(logits.T, target)
    return (to_figures + to_texts) / 2, logits


def supervised_contrastive(
    features: Tensor, similar: Tensor, temperature: float, denominator: str = "negatives"
) -> Tensor:
    """Contrast each question with its similar ones, by a label matrix (TQ-Net, Eq. 3)::

        l(s, p) = -log( e^(s.p/T) / (e^(s.p/T) + sum_o e^(s.o/T)) ),  o not similar to s

    ``denominator="all"`` (Khosla et al. 2020) sums over every question but s instead.

    Args:
        features: [b, d].
        similar: bool [b, b], symmetric, False on the diagonal.

    Returns:
        A scalar; zero, still connected to the graph, without any similar pair in the batch. Questions without a
        similar one are negatives of the others and have no term of their own.

    NOTE: the paper does not say how terms are averaged; averaging over the pairs of a seed first, then over the seeds,
    keeps a large group from outweighing the small ones.
    """
    if denominator not in ("negatives", "all"):
        raise ValueError(f"denominator: {denominator!r} is neither 'negatives' nor 'all'")
    logits = _dot_products(features, features) / temperature
    itself = torch.eye(len(features), dtype=torch.bool, device=features.device)
    if denominator == "all":
        log_sum = logits.masked_fill(itself, float("-inf")).logsumexp(1, keepdim=True)
    else:
        negatives = logits.masked_fill(itself | similar, float("-inf")).logsumexp(1, keepdim=True)
        log_sum = torch.logaddexp(logits, negatives)
    terms = (log_sum - logits).masked_fill(~similar, 0)
    pairs = similar.sum(1)
    per_seed = terms.sum(1) / pairs.clamp(min=1)
    return per_seed.sum() / (pairs > 0).sum().clamp(min=1)


def _dot_products(left: Tensor, right: Tensor) -> Tensor:
    with torch.autocast(left.device.type, enabled=False):
        return torch.einsum("id,jd->ij", left.float(), right.float())


def _softmax_loss(logits: Tensor, target: Tensor, excluded: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """-log softmax(logits)[target] without the excluded columns, mean over rows (0 of none); and the masked logits."""
    if excluded is not None:
        is_target = torch.arange(logits.shape[1], device=logits.device) == target[:, None]
        logits = logits.masked_fill(excluded & ~is_target, float("-inf"))
    return F.cross_entropy(logits, target, reduction="sum") / max(1, len(logits)), logits
