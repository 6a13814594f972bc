"""InfoNCE against a queue of keys (MoCo; TQ-Net, Eq. 1)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def infonce(
    query: Tensor, key: Tensor, negatives: Tensor, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """L = -log( exp(q.k+ / T) / (exp(q.k+ / T) + sum over the queue of exp(q.k- / T)) ), mean over queries.

    Args:
        query, key: [b, d], of length 1; row i of ``key`` is the positive of row i of ``query``.
        negatives: [k, d], of length 1.
        excluded: bool [b, k], True where a queue entry is no negative of the query (the same question, or
            the same content under another id).

    Returns:
        The loss, and the logits [b, 1 + k] whose column 0 is the positive.

    NOTE: computed in fp32 whatever the autocast: at T = 0.07 a bf16 logit is off by several percent.
    """
    with torch.autocast(query.device.type, enabled=False):
        query, key, negatives = query.float(), key.float(), negatives.float()
        positive = torch.einsum("bd,bd->b", query, key).unsqueeze(1)
        negative = torch.einsum("bd,kd->bk", query, negatives)
        if excluded is not None:
            negative = negative.masked_fill(excluded, float("-inf"))
        logits = torch.cat([positive, negative], dim=1) / temperature
        target = torch.zeros(len(query), dtype=torch.long, device=query.device)
        return F.cross_entropy(logits, target), logits


# Contrast of each question with what belongs to it, among what belongs to the others (FSE, Eq. 2).


def in_batch_infonce(
    query: Tensor, key: Tensor, temperature: float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """L = -log( exp(q_i.k_i / T) / (exp(q_i.k_i / T) + sum over j != i of exp(q_i.k_j / T)) ), mean over i.

    NOTE: the paper's formula lacks the exponentials and the temperature: of cosines, some of them negative, it has no
    logarithm. It is this one in its usual form.

    Args:
        query, key: [n, d], of length 1; row i of ``key`` is the positive of row i of ``query``.
        excluded: bool [n, n], True where key j is no negative of query i; the diagonal does not matter.

    Returns:
        The loss, 0 of no rows, and the logits [n, n], -inf where excluded.
    """
    with torch.autocast(query.device.type, enabled=False):
        logits = torch.einsum("id,jd->ij", query.float(), key.float()) / temperature
        if excluded is not None:
            itself = torch.eye(len(query), dtype=torch.bool, device=query.device)
            logits = logits.masked_fill(excluded & ~itself, float("-inf"))
        target = torch.arange(len(query), device=query.device)
        return F.cross_entropy(logits, target, reduction="sum") / max(1, len(query)), logits


# Contrast of two views within a batch (NT-Xent, Chen et al. 2020, Eq. 1; ConSERT, Yan et al. 2021, Eq. 1).


def nt_xent(first: Tensor, second: Tensor, temperature: float, excluded: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """-log( e^(z_i.z_j/T) / sum over k != i of e^(z_i.z_k/T) ), mean over the 2b views i; j is the other view of i.

    Args:
        first, second: [b, d], of length 1; row i of both is of one question.
        excluded: bool [b, b], symmetric, True where question j is no negative of question i; the diagonal does not
            matter.

    Returns:
        The loss, and the logits [2b, 2b], -inf on the diagonal and where excluded.
    """
    with torch.autocast(first.device.type, enabled=False):
        views = torch.cat([first.float(), second.float()])
        logits = torch.einsum("id,jd->ij", views, views) / temperature
        itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
        left_out = itself
        if excluded is not None:
            others = excluded & ~torch.eye(len(first), dtype=torch.bool, device=views.device)
            left_out = itself | others.repeat(2, 2)
        logits = logits.masked_fill(left_out, float("-inf"))
        target = torch.arange(len(views), device=views.device).roll(len(first))
        return F.cross_entropy(logits, target), logits


# Contrast between the modalities of a question (CLIP, Radford et al. 2021, Figure 3).


def cross_modal_infonce(
    text: Tensor, visual: Tensor, scale: Tensor | float, excluded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of finding a text's figures among all, and a figure's text; mean of the two, over questions.

    logits = scale * text @ visual.T; loss = (CE(logits, diagonal) + CE(logits.T, diagonal)) / 2.

    Args:
        text, visual: [b, d], of length 1; row i of both is of one question.
        scale: 1 / temperature, learnt.
        excluded: bool [b, b], symmetric, True where question j is no negative of question i; the diagonal does not
            matter.

    Returns:
        The loss, and the logits [b, b] of text i and figures j, -inf where excluded.

    NOTE: computed in fp32 whatever the autocast: at a scale of 100 a bf16 logit is off by up to 0.25.
    """
    with torch.autocast(text.device.type, enabled=False):
        logits = scale * torch.einsum("id,jd->ij", text.float(), visual.float())
        if excluded is not None:
            itself = torch.eye(len(text), dtype=torch.bool, device=text.device)
            logits = logits.masked_fill(excluded & ~itself, float("-inf"))
        target = torch.arange(len(text), device=text.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2, logits


# Multiple negatives ranking (ParaQD, Appendix D; Henderson et al. 2017).


def multiple_negatives_ranking(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor | None = None,
    temperature: float = 0.05,
    excluded: Tensor | None = None,
) -> Tensor:
    """L = -log( exp(a_i.p_i / T) / (sum over j of exp(a_i.p_j / T) + sum over k of exp(a_i.n_k / T)) ), mean over i.

    Args:
        anchor, positive: [n, d], of length 1.
        negative: [m, d], of length 1: hard negatives, of all anchors alike; None for those of the batch alone.
        temperature: 1 / 20, as sentence-transformers has it; the paper gives none.
        excluded: bool [n, n], True where positive j is no negative of anchor i; the diagonal does not matter.
    """
    itself = torch.eye(len(anchor), dtype=torch.bool, device=anchor.device)
    others = itself if excluded is None else itself | excluded
    if negative is None:
        return infonce(anchor, positive, positive, temperature, others)[0]
    hard = others.new_zeros((len(anchor), len(negative)))
    return infonce(anchor, positive, torch.cat([positive, negative]), temperature, torch.cat([others, hard], 1))[0]


# Supervised contrastive loss with a non-diagonal label matrix (TQ-Net, Eq. 3).


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


# A question nearer to what asks the same than to what does not, by a margin (ParaQD, Section 3.4).


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
