"""Prediction losses: labels, masked tokens, neighbouring words, reconstructed figures."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def soft_label_classification(logits: Tensor, labels: Tensor) -> Tensor:
    """Compute cross-entropy with weight 1/n for each of a question's n labels (FSE, "Metadata")::

        L = mean over questions of -1/n * sum over its labels k of log softmax(logits)_k

    Args:
        logits: [b, c].
        labels: bool [b, c]; questions without a label are ignored.

    Returns:
        A scalar; 0 without labels.
    """
    labelled = labels.any(1)
    logits, labels = logits[labelled].float(), labels[labelled].float()
    target = labels / labels.sum(1, keepdim=True)
    return F.cross_entropy(logits, target, reduction="sum") / max(1, len(target))


def concept_classification(logits: Tensor, concepts: Tensor, multi_label: bool) -> Tensor:
    """Compute the mean over questions of softmax cross-entropy, or of binary cross-entropies summed over concepts.

    NOTE: TQ-Net gives no loss for the fully fine-tuned rows of Table 5; these are the usual ones.

    Args:
        logits, concepts: As in :func:`soft_label_classification`.
        multi_label: Whether questions may have several concepts.
    """
    if not multi_label:
        return soft_label_classification(logits, concepts)
    labelled = concepts.any(1)
    logits, target = logits[labelled].float(), concepts[labelled].float()
    return F.binary_cross_entropy_with_logits(logits, target, reduction="sum") / max(1, len(target))


def masked_token_prediction(logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the mean cross-entropy over masked tokens (BERT, Devlin et al. 2019, section 3.1), and the accuracy.

    Args:
        logits: [m, vocabulary].
        tokens: [m], the true tokens.

    Returns:
        Two scalars; 0 if nothing is masked, as in a batch of figures without text.
    """
    logits, count = logits.float(), max(1, len(tokens))
    loss = F.cross_entropy(logits, tokens, reduction="sum") / count
    return loss, (logits.argmax(-1) == tokens).sum() / count


def skip_gram(centre: Tensor, context: Tensor, noise: Tensor, mask: Tensor, window: int) -> Tensor:
    """Compute skip-gram with negative sampling (word2vec, Mikolov et al. 2013, Eq. 4)::

        L = mean over pairs 0 < |i - j| <= window of -log s(c_i . u_j) - sum over k of log s(-c_i . n_ik)

    NOTE: word2vec draws noise for every pair; here the pairs of one centre share it.

    Args:
        centre, context: [b, t, h], input vectors c and output vectors u of the words of each text.
        noise: [b, t, k, h], output vectors of k words drawn for each position.
        mask: bool [b, t], True at words.

    Returns:
        A scalar; zero, still connected to the graph, if no text has two words.
    """
    places = torch.arange(mask.shape[1], device=mask.device)
    distance = (places[:, None] - places[None, :]).abs()
    pairs = (distance > 0) & (distance <= window) & mask[:, :, None] & mask[:, None, :]
    with torch.autocast(centre.device.type, enabled=False):
        centre, context, noise = centre.float(), context.float(), noise.float()
        attraction = F.softplus(-torch.einsum("bih,bjh->bij", centre, context))
        repulsion = F.softplus(torch.einsum("bih,bikh->bik", centre, noise)).sum(-1, keepdim=True)
        return ((attraction + repulsion) * pairs).sum() / pairs.sum().clamp(min=1)


def mutual_information(joint: Tensor, product: Tensor, mask: Tensor) -> Tensor:
    """Compute the Jensen-Shannon bound of mutual information as a loss (DisenQNet; Hjelm et al. 2019, Eq. 4)::

        L = mean over words w of softplus(-T(w, v)) + softplus(T(w, v'))

    v is the vector of the question that contains w, v' that of another question.

    Args:
        joint, product: [b, t], T(w, v) and T(w, v').
        mask: bool [b, t], True for words.

    Returns:
        A scalar; 2 log 2 for T = 0.
    """
    terms = F.softplus(-joint.float()) + F.softplus(product.float())
    return (terms * mask).sum() / mask.sum().clamp(min=1)


def figure_reconstruction(drawn: Tensor, figures: Tensor) -> Tensor:
    """Average the mean squared errors over ink and over background.

    NOTE: papers take the plain mean. Figures are mostly background: here the ink weighs as much as the whole
    background.

    Args:
        drawn: [n, 1, size, size], grey.
        figures: [n, 3, H, W], normalised by ImageNet's statistics; compared in grey at the size of ``drawn``.
    """
    target = F.interpolate(figures.mean(1, keepdim=True).float(), drawn.shape[-1], mode="area")
    ink = (target < target.amax((2, 3), keepdim=True) - 0.5).float()
    weight = ink / ink.sum().clamp(min=1) + (1 - ink) / (1 - ink).sum().clamp(min=1)
    return (weight * (drawn.float() - target) ** 2).sum() / 2
