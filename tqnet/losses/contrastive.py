"""Contrastive losses: a question should be closer to its positives than to other questions.

All take unit vectors. Similarities are computed in fp32 even under autocast: at a temperature of 0.07, a bf16 logit is
off by several percent. ``excluded`` marks candidates that are not negatives of a query (the same question, or the same
content under another id); it has no effect on positives.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: Added under the root of a distance, which has no gradient at equal vectors.
_EPS = 1e-12


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
    logits = torch.cat([_cosine(query, key)[:, None], _cosines(query, negatives)], dim=1) / temperature
    target = torch.zeros(len(query), dtype=torch.long, device=query.device)
    return _softmax_loss(logits, target, None if excluded is None else F.pad(excluded, (1, 0)))


def in_batch_infonce(
    query: Tensor, key: Tensor, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Contrast each query with its key among the keys of the batch (FSE, Eq. 2)::

        L = mean over i of -log( e^(q_i.k_i/T) / sum_j e^(q_i.k_j/T) )

    With hard negatives among the keys, this is multiple negatives ranking (ParaQD, Appendix D; Henderson et al. 2017).

    NOTE: FSE's formula lacks the exponentials and the temperature; the log of a sum of cosines is not always defined.

    Args:
        query: [n, d].
        key: [m, d], m >= n; row i is the positive of query i, rows from n on are negatives for all queries.
        excluded: bool [n, n].

    Returns:
        The loss, 0 without rows, and the logits [n, m], -inf where excluded.
    """
    if excluded is not None:
        excluded = F.pad(excluded, (0, len(key) - len(query)))
    target = torch.arange(len(query), device=query.device)
    return _softmax_loss(_cosines(query, key) / temperature, target, excluded)


def nt_xent(first: Tensor, second: Tensor, temperature: float, excluded: Tensor) -> tuple[Tensor, Tensor]:
    """Contrast two views of each question among all views (NT-Xent, Chen et al. 2020, Eq. 1; ConSERT, Eq. 1)::

        L = mean over the 2b views i of -log( e^(z_i.z_j/T) / sum_{k != i} e^(z_i.z_k/T) ),  j the other view of i

    Args:
        first, second: [b, d], row i of both is the same question.
        excluded: bool [b, b], symmetric.

    Returns:
        The loss, and the logits [2b, 2b], -inf on the diagonal and where excluded.
    """
    views = torch.cat([first, second])
    itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
    target = torch.arange(len(views), device=views.device).roll(len(first))
    return _softmax_loss(_cosines(views, views) / temperature, target, itself | excluded.repeat(2, 2))


def cross_modal_infonce(
    text: Tensor, visual: Tensor, scale: Tensor | float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Match texts to figures and figures to texts (CLIP, Radford et al. 2021, Figure 3)::

        logits = scale * text @ visual.T
        L = (CE(logits, diagonal) + CE(logits.T, diagonal)) / 2

    Args:
        text, visual: [b, d], row i of both is the same question.
        scale: 1 / temperature, learnt.
        excluded: bool [b, b], symmetric.

    Returns:
        The loss, and the logits [b, b] of text i and figures j, -inf where excluded.
    """
    target = torch.arange(len(text), device=text.device)
    to_figures, logits = _softmax_loss(scale * _cosines(text, visual), target, excluded)
    to_texts, _ = _softmax_loss(logits.T, target)
    return (to_figures + to_texts) / 2, logits


def supervised_contrastive(
    features: Tensor,
    similar: Tensor,
    temperature: float,
    denominator: str = "negatives",
    excluded: Tensor | None = None,
) -> Tensor:
    """Contrast each question with its similar ones, given a label matrix (TQ-Net, Eq. 3)::

        l(s, p) = -log( e^(s.p/T) / (e^(s.p/T) + sum_o e^(s.o/T)) ),  o not similar to s

    ``denominator="all"`` (Khosla et al. 2020) sums over every question but s instead.

    NOTE: the paper does not say how to average terms; averaging over the pairs of a seed, then over seeds, keeps large
    groups from dominating.

    Args:
        features: [b, d].
        similar: bool [b, b], symmetric, False on the diagonal.
        excluded: bool [b, b], symmetric.

    Returns:
        A scalar; zero, still connected to the graph, without similar pairs in the batch. Questions without a similar
        one serve only as negatives.
    """
    logits = _cosines(features, features) / temperature
    left_out = torch.eye(len(features), dtype=torch.bool, device=features.device)
    if excluded is not None:
        left_out |= excluded & ~similar
    if denominator == "all":
        log_sum = logits.masked_fill(left_out, float("-inf")).logsumexp(1, keepdim=True)
    else:
        negatives = logits.masked_fill(left_out | similar, float("-inf")).logsumexp(1, keepdim=True)
        log_sum = torch.logaddexp(logits, negatives)
    pairs = similar.sum(1)
    per_seed = (log_sum - logits).masked_fill(~similar, 0).sum(1) / pairs.clamp(min=1)
    return per_seed.sum() / (pairs > 0).sum().clamp(min=1)


def pair_logistic(left: Tensor, right: Tensor, label: Tensor, scale: Tensor | float, bias: Tensor | float) -> Tensor:
    """Compute the traditional pair loss that TQ-Net compares with (Figure 3)::

        L = mean of -log sigmoid(+-(scale * cos(left, right) + bias)),  + where the pair is similar

    Args:
        left, right: [p, d].
        label: [p], 1 where the pair is similar, else 0.
        scale, bias: Learnt scalars.
    """
    return F.binary_cross_entropy_with_logits(scale * _cosine(left, right) + bias, label.float())


def even_odds(left: Tensor, right: Tensor, label: Tensor, scale: Tensor | float) -> Tensor:
    """Return the bias of :func:`pair_logistic` that puts the mean similar and mean dissimilar pair equally far from 0.

    An untrained encoder's vectors all point one way; with another initial bias, the loss pushes all pairs apart,
    similar or not. If all pairs are of one kind, their mean is put at 0; without pairs, the bias is 0.
    """
    cosine = _cosine(left, right)
    means = torch.stack([cosine[label == kind].mean() for kind in (0, 1)])
    return (-scale * means.nanmean()).nan_to_num()


def draw_pairs(
    similar: Tensor, generator: torch.Generator, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw a dissimilar partner for the first question of each similar pair (i < j) of a batch.

    Args:
        similar: bool [b, b], the label matrix.
        excluded: bool [b, b].

    Returns:
        Row numbers left [2p] and right [2p], and labels [2p]: p positives, then p negatives; fewer if a question has
        no dissimilar one in the batch.
    """
    left, right = torch.nonzero(similar.triu(1), as_tuple=True)
    dissimilar = ~similar if excluded is None else ~(similar | excluded)
    weights = dissimilar.fill_diagonal_(False)[left].float()
    drawable = weights.sum(1) > 0
    seeds = left[drawable]
    # multinomial refuses an empty matrix.
    partners = torch.multinomial(weights[drawable], 1, generator=generator).squeeze(1) if len(seeds) else seeds
    labels = torch.cat([torch.ones(len(left)), torch.zeros(len(seeds))])
    return torch.cat([left, seeds]), torch.cat([right, partners]), labels


def cosine_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Compute the triplet loss with cosine distance (ParaQD, Section 3.4; mwp-cl, Eq. 1)::

        L = mean of max(0, margin - dist(Q, Q-) + dist(Q, Q+)),  dist(a, b) = 1 - cos(a, b)

    NOTE: the papers sum over a batch's triplets; the mean does not depend on their number.

    Args:
        anchor, positive, negative: [n, d], row i of each is one triplet.
        margin: Not given in ParaQD. From 2, the largest difference of distances, every triplet has a loss.
    """
    return F.relu(margin + _cosine(anchor, negative) - _cosine(anchor, positive)).mean()


def euclidean_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Compute :func:`cosine_triplet` with dist(a, b) = ||a - b||.

    NOTE: not the paper's equation, but suggested by its scores near -1: the default triplet loss of
    sentence-transformers, with this distance and a margin of 5. Unit vectors are at most 2 apart, so every triplet
    keeps pushing its negative to the opposite side of the sphere.
    """
    return F.relu(margin - _distance(anchor, negative) + _distance(anchor, positive)).mean()


def _cosine(left: Tensor, right: Tensor) -> Tensor:
    """Map [p, d] and [p, d] to [p]."""
    with torch.autocast(left.device.type, enabled=False):
        return torch.einsum("pd,pd->p", left.float(), right.float())


def _cosines(left: Tensor, right: Tensor) -> Tensor:
    """Map [n, d] and [m, d] to [n, m]."""
    with torch.autocast(left.device.type, enabled=False):
        return torch.einsum("id,jd->ij", left.float(), right.float())


def _distance(left: Tensor, right: Tensor) -> Tensor:
    return ((left.float() - right.float()).square().sum(1) + _EPS).sqrt()


def _softmax_loss(logits: Tensor, target: Tensor, excluded: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the mean of -log softmax(logits)[target] without excluded columns (0 without rows), and masked logits."""
    if excluded is not None:
        is_target = torch.arange(logits.shape[1], device=logits.device) == target[:, None]
        logits = logits.masked_fill(excluded & ~is_target, float("-inf"))
    return F.cross_entropy(logits, target, reduction="sum") / max(1, len(logits)), logits
