"""Guessing masked tokens (BERT, Devlin et al. 2019, section 3.1)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


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
