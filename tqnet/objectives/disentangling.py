"""What holds a question's two parts to it and apart from one another (DisenQNet, Huang et al. 2021)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def mutual_information(own: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """The Jensen-Shannon bound of mutual information, as a loss (Hjelm et al. 2019, Eq. 4):

    mean of softplus(-T(w, v)) + softplus(T(w, v')), v the vector of the question that w is a word of, v' of another.

    Args:
        own: [b, t], T(w, v).
        other: [b, t], T(w, v').
        mask: bool [b, t], True for words.

    Returns:
        A scalar, a mean over words; 2 log 2 where T says nothing.
    """
    terms = F.softplus(-own.float()) + F.softplus(other.float())
    return (terms * mask).sum() / mask.sum().clamp(min=1)


def dependence(joint: Tensor, product: Tensor) -> Tensor:
    """The Wasserstein distance between two parts together and two parts of different questions, by a critic D:

    mean D(v_k, v_i) - mean D(v_k, v_i'). Zero where the parts are independent. The critic, whose slope is at most 1,
    makes it as large as it can; the encoder makes it small.

    Args:
        joint, product: [b], the critic's scores.
    """
    return joint.float().mean() - product.float().mean()
