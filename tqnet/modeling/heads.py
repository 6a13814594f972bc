"""Training-only modules around an encoder: projections, key encoder, queue, heads."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.text_encoders import first_position

#: Contrastive stream -> model output.
STREAM_OUTPUTS = {"fused": "embedding", "text": "text_embedding", "visual": "visual_embedding"}


class Projector(nn.Sequential):
    """MoCo v2's projection: Linear, ReLU, Linear. [b, hidden] -> [b, dimension]."""

    def __init__(self, hidden: int, dimension: int):
        super().__init__(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, dimension))


def nested(streams: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Name the beginnings of each stream's vectors, ``fused/64``, besides the whole ones (Matryoshka)."""
    return [*streams, *(f"{stream}/{width}" for stream in streams for width in widths)]


class ContrastiveEncoder(nn.Module):
    """A model with one projector per stream.

    Args:
        streams: Keys of `STREAM_OUTPUTS`, or beginnings of their vectors (:func:`nested`).
        dimension: Width of the projections; 0 contrasts the vectors themselves.
    """

    def __init__(self, model: QuestionEncoder, streams: Sequence[str], dimension: int = 0):
        super().__init__()
        hidden = model.config.hidden_size
        self.model, self.dimension = model, dimension or hidden
        self.widths = {stream: int(stream.partition("/")[2] or hidden) for stream in streams}
        self.projectors = nn.ModuleDict(
            {
                stream: Projector(width, dimension) if dimension else nn.Identity()
                for stream, width in self.widths.items()
            }
        )

    def forward(self, **batch: Any) -> dict[str, Tensor]:
        """Map a packed batch (see :meth:`TQNetModel.forward`) to unit vectors [b, dimension] of each stream."""
        output = self.model(**batch)
        vectors = {stream: output[STREAM_OUTPUTS[stream.partition("/")[0]]][:, :n] for stream, n in self.widths.items()}
        return {
            stream: F.normalize(projector(vectors[stream]).float(), dim=-1)
            for stream, projector in self.projectors.items()
        }


class MomentumEncoder(nn.Module):
    """An exponential moving average of an encoder (He et al. 2020; TQ-Net, Eq. 2).

    Kept in fp32: at momentum 0.999, bf16 weights never move.
    """

    def __init__(self, encoder: nn.Module, momentum: float = 0.999):
        super().__init__()
        self.encoder = copy.deepcopy(encoder).float().requires_grad_(False)
        self.momentum = momentum

    @torch.no_grad()
    def update(self, encoder: nn.Module) -> None:
        """Set p_key = m * p_key + (1 - m) * p_query; call it only after an optimizer step."""
        pairs = zip(self.encoder.parameters(), encoder.parameters(), strict=True)
        keys, queries = zip(*((key, query.to(key.dtype)) for key, query in pairs), strict=True)
        torch._foreach_lerp_(keys, queries, 1 - self.momentum)

    @torch.no_grad()
    def forward(self, **batch: Any) -> dict[str, Tensor]:
        return self.encoder(**batch)


class KeyQueue(nn.Module):
    """A ring buffer of the last ``size`` keys with question numbers and content hashes, identical on all ranks.

    It starts empty: only the first ``valid`` entries are negatives. New keys overwrite the oldest. Its counts stay on
    the device, so that nothing waits for it.
    """

    keys: Tensor
    ids: Tensor
    hashes: Tensor
    pointer: Tensor
    valid: Tensor

    def __init__(self, size: int, dimension: int):
        super().__init__()
        self.size = size
        self.register_buffer("keys", torch.zeros(size, dimension))
        self.register_buffer("ids", torch.full((size,), -1))
        self.register_buffer("hashes", torch.zeros(size, dtype=torch.long))
        self.register_buffer("pointer", torch.zeros((), dtype=torch.long))
        self.register_buffer("valid", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def enqueue(self, keys: Tensor, ids: Tensor, hashes: Tensor, present: Tensor | None = None) -> None:
        """Add keys [b, d] of the questions ``ids`` [b] where ``present`` [b]; only the last ``size`` are kept."""
        if present is None:
            present = torch.ones_like(ids, dtype=torch.bool)
        order = present.long().argsort(stable=True)[-self.size :]  # absent keys first
        present, added = present[order], present.sum().clamp(max=self.size)
        places = (self.pointer + added - len(order) + torch.arange(len(order), device=order.device)) % self.size
        for kept, new in ((self.keys, keys), (self.ids, ids), (self.hashes, hashes)):
            wide = present.view(-1, *(1,) * (new.ndim - 1))
            kept[places] = torch.where(wide, new[order].to(kept.dtype), kept[places])
        self.pointer.copy_((self.pointer + added) % self.size)
        self.valid.copy_((self.valid + added).clamp(max=self.size))

    def negatives(self, ids: Tensor, hashes: Tensor) -> tuple[Tensor, Tensor]:
        """Return all keys [size, d] and a mask [b, size], True where a key is not valid, or has the same question or
        content."""
        empty = torch.arange(self.size, device=self.keys.device) >= self.valid
        same_id = ids[:, None] == self.ids[None, :]
        same_content = hashes[:, None] == self.hashes[None, :]
        return self.keys, empty | same_id | same_content


class MaskedTokenHead(nn.Module):
    """BERT's masked-token head, decoding with the encoder's word embeddings."""

    def __init__(self, hidden: int, words: nn.Embedding):
        super().__init__()
        self.dense = nn.Linear(hidden, words.embedding_dim)
        self.norm = nn.LayerNorm(words.embedding_dim)
        self.bias = nn.Parameter(torch.zeros(words.num_embeddings))

    def forward(self, tokens: Tensor, embedding: Tensor) -> Tensor:
        """Map tokens [m, h] at masked positions and embedding [vocabulary, e] to logits [m, vocabulary]."""
        return F.linear(self.norm(F.gelu(self.dense(tokens))), embedding, self.bias)


class FigureDecoder(nn.Sequential):
    """Decoder from feature maps [n, features, h, w] to grey figures [n, 1, size, size]."""

    def __init__(self, features: int, size: int, width: int = 128):
        layers: list[nn.Module] = [nn.Conv2d(features, width, 1)]
        for _ in range(4):
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(width, width // 2, 3, padding=1), nn.ReLU()]
            width //= 2
        super().__init__(*layers, nn.Conv2d(width, 1, 3, padding=1), nn.Upsample(size=size, mode="bilinear"))


class EmbeddingAugmentation:
    """Augments a text encoder's embeddings in training mode (ConSERT, Yan et al. 2021, section 3.2).

    ``shuffle`` permutes the positions of a text's tokens, ``token_cutoff`` zeroes a share of its tokens,
    ``feature_cutoff`` a share of its features, the same for all tokens; ``dropout`` comes last. Sampled per forward
    pass and row from torch's generator, so a question that is twice in a batch gives two views.

    Args:
        rate: Share to cut off or drop.
    """

    def __init__(self, model: TQNetModel, kinds: Sequence[str], rate: float):
        embeddings, kind = getattr(model.text, "embeddings", None), model.text.config.model_type
        if not isinstance(embeddings, nn.Module):
            raise ValueError(f"a text encoder {kind} has no layer of embeddings to change")
        self._inputs = inspect.signature(embeddings.forward)
        if "shuffle" in kinds and "position_ids" not in self._inputs.parameters:
            raise ValueError(f"a text encoder {kind} adds no positions to its embeddings to shuffle")
        self.kinds, self.rate, self._padding = kinds, rate, model.text.config.pad_token_id
        self._first = first_position(model.text)
        embeddings.register_forward_pre_hook(self._positions, with_kwargs=True)
        embeddings.register_forward_hook(self._cut)

    def _positions(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not module.training or "shuffle" not in self.kinds:
            return None
        inputs = self._inputs.bind(*args, **kwargs).arguments
        real = inputs["input_ids"] != self._padding
        # Real tokens draw lower numbers than padding, so argsort permutes them and keeps them first.
        order = (torch.rand(real.shape, device=real.device) + 2 * ~real).argsort(1)
        inputs |= {"position_ids": order + self._first}
        return (), {**inputs.pop("kwargs", {}), **inputs}

    def _cut(self, module: nn.Module, args: tuple[Any, ...], embedded: Tensor) -> Tensor:
        if not module.training:
            return embedded
        b, t, h = embedded.shape
        for kind, shape in (("token_cutoff", (b, t, 1)), ("feature_cutoff", (b, 1, h))):
            if kind in self.kinds:
                embedded = embedded * (torch.rand(shape, device=embedded.device) >= self.rate)
        return F.dropout(embedded, self.rate) if "dropout" in self.kinds else embedded
