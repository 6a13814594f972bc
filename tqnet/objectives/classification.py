"""Predicting the knowledge concepts of a question."""

from __future__ import annotations

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
