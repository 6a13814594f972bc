"""Augmentation of a text encoder's embeddings (ConSERT, Yan et al. 2021, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.model import TQNetModel

#: Positions exchanged; tokens or features set to zero; dropout.
KINDS = ("shuffle", "token_cutoff", "feature_cutoff", "dropout")


class EmbeddingAugmentation:
    """Changes what the embedding layer of a model's text encoder gives, while it is in training mode.

    ``shuffle`` exchanges the positions of a text's tokens, ``token_cutoff`` sets a share of its tokens to zero,
    ``feature_cutoff`` a share of its features, the same ones of all its tokens. Drawn anew in every forward pass from
    torch's generator, and for every row, so that a question that is twice in a batch is seen in two ways.

    Args:
        kinds: Some of KINDS, applied in that order.
        rate: Share of what is cut off or dropped.
    """

    def __init__(self, model: TQNetModel, kinds: Sequence[str], rate: float):
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise ValueError(f"{unknown[0]!r} is none of {', '.join(KINDS)}")
        self.kinds, self.rate, self._padding = tuple(kinds), rate, model.text.config.pad_token_id
        if not hasattr(model.text, "embeddings"):
            raise ValueError(f"a text encoder {model.text.config.model_type} has no layer of embeddings to change")
        embeddings: nn.Module = model.text.embeddings
        embeddings.register_forward_pre_hook(self._positions, with_kwargs=True)
        embeddings.register_forward_hook(self._cut)

    def _positions(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not module.training or "shuffle" not in self.kinds:
            return None
        real = kwargs["input_ids"] != self._padding
        # Real tokens draw numbers below those of padding: the order of all is a permutation of the real ones first.
        order = (torch.rand(real.shape, device=real.device) + 2 * ~real).argsort(1)
        first = getattr(module, "padding_idx", -1) + 1  # RoBERTa's positions begin behind that of padding
        return args, {**kwargs, "position_ids": order + first}

    def _cut(self, module: nn.Module, args: tuple[Any, ...], embedded: Tensor) -> Tensor:
        if not module.training:
            return embedded
        b, t, h = embedded.shape
        for kind, shape in (("token_cutoff", (b, t, 1)), ("feature_cutoff", (b, 1, h))):
            if kind in self.kinds:
                embedded = embedded * (torch.rand(shape, device=embedded.device) >= self.rate)
        return F.dropout(embedded, self.rate) if "dropout" in self.kinds else embedded
