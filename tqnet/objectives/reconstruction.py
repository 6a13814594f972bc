"""How far a figure that was drawn again is from the figure (auto-encoders; QuesNet's image decoder)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def figure_reconstruction(drawn: Tensor, figures: Tensor) -> Tensor:
    """Mean squared error over the ink, plus that over the paper, halved.

    Args:
        drawn: [n, 1, size, size], grey.
        figures: [n, 3, H, W], as ImageNet's statistics normalise them; compared in grey at the size of ``drawn``.

    NOTE: papers take the plain mean. Figures are mostly paper: here an error on a line weighs as much as all the
    paper together.
    """
    wanted = F.interpolate(figures.mean(1, keepdim=True).float(), drawn.shape[-1], mode="area")
    ink = (wanted < wanted.amax((2, 3), keepdim=True) - 0.5).float()
    weight = ink / ink.sum().clamp(min=1) + (1 - ink) / (1 - ink).sum().clamp(min=1)
    return (weight * (drawn.float() - wanted) ** 2).sum() / 2
