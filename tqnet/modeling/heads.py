"""Small heads that training puts on the encoder and inference leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.model import TQNetModel

#: Which output of the model each contrastive stream looks at.
STREAM_OUTPUTS = {"fused": "embedding", "text": "text_embedding", "visual": "visual_embedding"}


class Projector(nn.Sequential):
    """MoCo v2's projection: Linear, ReLU, Linear. [b, hidden] -> [b, dimension]."""

    def __init__(self, hidden: int, dimension: int):
        super().__init__(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, dimension))


class ContrastiveEncoder(nn.Module):
    """A model with one projector per stream.

    Args:
        dimension: Width of the projections; 0 for none: the vectors themselves are contrasted.
    """

    def __init__(self, model: QuestionEncoder, streams: tuple[str, ...], dimension: int):
        super().__init__()
        hidden = model.config.hidden_size
        self.model, self.dimension = model, dimension or hidden
        self.projectors = nn.ModuleDict(
            {s: Projector(hidden, dimension) if dimension else nn.Identity() for s in streams}
        )

    def forward(self, **batch: Tensor) -> dict[str, Tensor]:
        """A packed batch, as :meth:`TQNetModel.forward` takes it -> unit vectors [b, dimension] of each stream."""
        output = self.model(**batch)
        return {
            stream: F.normalize(projector(output[STREAM_OUTPUTS[stream]]).float(), dim=-1)
            for stream, projector in self.projectors.items()
        }


class MaskedTokenHead(nn.Module):
    """BERT's masked-token head; its decoder is the encoder's word embedding."""

    def __init__(self, hidden: int, vocabulary: int):
        super().__init__()
        self.dense = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, tokens: Tensor, embedding: Tensor) -> Tensor:
        """tokens [m, h] at masked places, embedding [vocabulary, h] -> logits [m, vocabulary]."""
        return F.linear(self.norm(F.gelu(self.dense(tokens))), embedding, self.bias)


class OrderHead(nn.Sequential):
    """ALBERT's head of sentence order: the state of the first token [b, h] -> logits [b, 2] of in order and swapped."""

    def __init__(self, hidden: int):
        super().__init__(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))


class FigureDecoder(nn.Sequential):
    """Feature map [n, features, h, w] -> grey figure [n, 1, size, size]."""

    def __init__(self, features: int, size: int, width: int = 128):
        layers: list[nn.Module] = [nn.Conv2d(features, width, 1)]
        for _ in range(4):
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(width, width // 2, 3, padding=1), nn.ReLU()]
            width //= 2
        super().__init__(*layers, nn.Conv2d(width, 1, 3, padding=1), nn.Upsample(size=size, mode="bilinear"))


class VectorDecoder(nn.Sequential):
    """Vector [n, hidden] -> grey figure [n, 1, size, size]."""

    def __init__(self, hidden: int, size: int, width: int = 128):
        start = [nn.Linear(hidden, width * 16), nn.ReLU(), nn.Unflatten(1, (width, 4, 4))]
        super().__init__(*start, FigureDecoder(width, size, width))


# Augmentation of a text encoder's embeddings (ConSERT, Yan et al. 2021, section 3.2).


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
