"""Predicting labels of which a question may have several (FSE, "Metadata")."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


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
