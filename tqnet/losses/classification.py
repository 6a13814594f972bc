"""Cross-entropies of labels and of masked tokens."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def concept_classification(logits: Tensor, concepts: Tensor, multi_label: bool) -> Tensor:
    """Mean over questions of -log softmax at the one concept, or of the logistic losses summed over all concepts.

    NOTE: for the fully fine-tuned rows of TQ-Net's Table 5 the paper gives no loss; these are the usual ones.

    Args:
        logits: [b, c].
        concepts: bool [b, c]; questions without a concept take no part.
        multi_label: Whether a question may have several.

    Returns:
        A scalar; 0 where no question has a concept.
    """
    if not multi_label:
        return soft_label_classification(logits, concepts)
    labelled = concepts.any(1)
    logits, target = logits[labelled].float(), concepts[labelled].float()
    return F.binary_cross_entropy_with_logits(logits, target, reduction="sum") / max(1, len(target))


def soft_label_classification(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy where the n labels of a question weigh 1/n each (FSE, "Metadata")::

        L = mean over questions of -1/n * sum over its labels k of log softmax(logits)_k

    Args:
        logits: [b, c].
        labels: bool [b, c]; questions without a label take no part.

    Returns:
        A scalar; 0 where no question has a label.
    """
    labelled = labels.any(1)
    logits, labels = logits[labelled].float(), labels[labelled].float()
    target = labels / labels.sum(1, keepdim=True)
    return F.cross_entropy(logits, target, reduction="sum") / max(1, len(target))


def masked_token_prediction(logits: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy over masked places (BERT, Devlin et al. 2019, section 3.1), and the accuracy.

    Args:
        logits: [m, vocabulary].
        tokens: [m], the masked ones.

    Returns:
        Two scalars; 0 where nothing is masked: a batch of bare figures has no word.
    """
    logits, count = logits.float(), max(1, len(tokens))
    loss = F.cross_entropy(logits, tokens, reduction="sum") / count
    return loss, (logits.argmax(-1) == tokens).sum() / count
