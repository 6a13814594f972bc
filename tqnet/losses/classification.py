"""Predicting the knowledge concepts of a question."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def concept_classification(logits: Tensor, concepts: Tensor, multi_label: bool) -> Tensor:
    """Mean over questions of -log softmax at the one concept, or of the logistic losses summed over all concepts.

    NOTE: For the fully fine-tuned rows of TQ-Net's Table 5 the paper gives no loss; these are the usual ones.

    Args:
        logits: [b, c].
        concepts: bool [b, c], those that each question has; questions without any take no part.
        multi_label: Whether a question may have several.

    Returns:
        A scalar; 0 where no question has a concept.
    """
    labelled = concepts.any(1)
    logits, target = logits[labelled].float(), concepts[labelled].float()
    if not len(target):
        return 0.0 * logits.sum()
    if multi_label:
        return F.binary_cross_entropy_with_logits(logits, target, reduction="sum") / len(target)
    return F.cross_entropy(logits, target)


# Predicting labels of which a question may have several (FSE, "Metadata").


def soft_label_classification(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over questions of the cross-entropy with (.., 1/n, .., 1/n, ..), n labels weighing 1/n each:

    -1/n * sum over the labels k of log softmax(logits)_k. With one label each it is the usual cross-entropy.

    Args:
        logits: [b, c].
        labels: bool [b, c], those that each question has; questions without any take no part.

    Returns:
        A scalar; 0 where no question has a label.
    """
    labelled = labels.any(1)
    logits, labels = logits[labelled].float(), labels[labelled].float()
    if not len(labels):
        return 0.0 * logits.sum()
    return F.cross_entropy(logits, labels / labels.sum(1, keepdim=True))


# Guessing masked tokens (BERT, Devlin et al. 2019, section 3.1).


def masked_token_prediction(logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy over masked places, and the share of them that is guessed right.

    Args:
        logits: [m, vocabulary].
        tokens: [m], those that were there.

    Returns:
        Two scalars; 0 where nothing is masked: a batch of bare figures has no word.
    """
    logits, count = logits.float(), max(1, len(tokens))
    loss = F.cross_entropy(logits, tokens, reduction="sum") / count
    return loss, (logits.argmax(-1) == tokens).sum() / count


# The traditional pair objective that the supervised contrastive one is compared with (TQ-Net, Figure 3).


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
