"""Small heads that training puts on the encoder and inference leaves behind."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.encoder import QuestionEncoder

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
