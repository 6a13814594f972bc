"""Contrast between the modalities of a question (CLIP, Radford et al. 2021, Figure 3)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


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
