"""Labels that the start encoder gives to what a baseline takes for paraphrases (ParaQD, Appendix B)."""

from __future__ import annotations

import copy

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.encoder import QuestionEncoder


class PseudoLabels(nn.Module):
    """lambda(Q, Q') = 1 if cos(ENC(Q), ENC(Q')) > threshold else 0, by the encoder as it was before training.

    Belongs into a checkpoint: what a resumed run has counted, and the encoder.

    Attributes:
        counts: int64 [2], how many pairs were found negative and positive.
    """

    counts: Tensor

    def __init__(self, encoder: QuestionEncoder, threshold: float):
        super().__init__()
        self.encoder, self.threshold = copy.deepcopy(encoder).eval().requires_grad_(False), threshold
        self.register_buffer("counts", torch.zeros(2, dtype=torch.long))

    @torch.no_grad()
    def forward(self, accelerator: Accelerator, **batch: Tensor) -> Tensor:
        """A packed batch, each question followed by its paraphrase -> bool [b], of all processes' pairs."""
        vectors = F.normalize(self.encoder(**batch).embedding.float(), dim=-1)
        question, paraphrase = vectors.unflatten(0, (-1, 2)).unbind(1)
        found = accelerator.gather((question * paraphrase).sum(1) > self.threshold)
        self.counts += torch.stack([(~found).sum(), found.sum()])
        return found

    def summary(self) -> dict[str, float]:
        """As in Table 9: how many pairs of each label there were, and their shares in percent."""
        negative, positive = self.counts.tolist()
        total = max(1, negative + positive)
        return {
            "threshold": self.threshold,
            "positive": positive,
            "negative": negative,
            "positive_percent": round(100 * positive / total, 2),
            "negative_percent": round(100 * negative / total, 2),
        }
