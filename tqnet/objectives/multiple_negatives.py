"""Multiple negatives ranking (ParaQD, Appendix D; Henderson et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from tqnet.objectives.infonce import infonce


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
