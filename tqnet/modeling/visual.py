"""The visual stream: figures to visual tokens."""

from __future__ import annotations

import math
from typing import Any, Protocol

import timm
import torch
from timm.layers import GroupNorm
from torch import Tensor, nn

from tqnet.modeling.normalization import FrozenBatchNorm2d, convert_batchnorm, takes_batch_statistics

#: Few enough for a processor's caches to hold much of their feature maps; measured on lite0 at 128 px.
_AT_A_TIME = 16


class VisualSettings(Protocol):
    """What a visual stream asks of a configuration."""

    visual_backbone: str | None
    visual_norm: str
    max_images: int

    @property
    def hidden_size(self) -> int: ...


class VisualStream(nn.Module):
    """A ``timm`` backbone whose feature-map cells become tokens of the text encoder's width.

    With ``whole``, a figure has one cell, the mean of its feature map. Every image passes exactly once, whatever
    the number of images per question, and no image is made up to fill a batch: a batch without images returns no
    tokens and costs no convolution.
    """

    backbone: Any  # timm's contract: forward_features, num_features

    def __init__(self, config: VisualSettings, whole: bool = False):
        super().__init__()
        self.whole = whole
        if config.visual_backbone is None:
            raise ValueError("visual_backbone: none, so there is no visual stream")
        options: dict[str, Any] = {"norm_layer": _group_norm} if config.visual_norm == "group" else {}
        try:
            self.backbone = timm.create_model(config.visual_backbone, pretrained=False, num_classes=0, **options)
        except TypeError as error:  # some backbones take batch norm alone
            if not options:
                raise
            raise ValueError(f"visual_norm: {config.visual_norm} is not for {config.visual_backbone}") from error
        if config.visual_norm == "frozen":
            convert_batchnorm(self.backbone, FrozenBatchNorm2d)
        self.projection = nn.Linear(self.backbone.num_features, config.hidden_size)
        self.image_index = nn.Embedding(config.max_images, config.hidden_size)

    def cells(self, pixel_values: Tensor) -> Tensor:
        """Feature-map cells [n, c, features] of images [n, 3, H, W]; the only convolutions there are.

        With channels last they are faster, and on a processor with few figures at a time.
        """
        pixel_values = pixel_values.contiguous(memory_format=torch.channels_last)
        together = pixel_values.device.type != "cpu" or takes_batch_statistics(self.backbone)
        parts = [pixel_values] if together else pixel_values.split(_AT_A_TIME)
        cells = torch.cat([self.backbone.forward_features(part).flatten(2).transpose(1, 2) for part in parts])
        return cells.mean(1, keepdim=True) if self.whole else cells

    def tokens(self, cells: Tensor, image_counts: Tensor) -> tuple[Tensor, Tensor]:
        """Cells of all images [n, c, features] as tokens [b, v, h] of their questions, and mask [b, v].

        ``image_counts`` [b] sums to n; v is the largest number of cells of any question.
        """
        return self.placed(cells, figure_slots(image_counts))

    def placed(self, cells: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`tokens`, of images whose places are known: ``slots`` [b, f], as :func:`figure_slots` gives them.

        It depends on no value, only on shapes, so that it can be exported as a graph.
        """
        real = slots >= 0
        places = torch.arange(slots.shape[1], device=slots.device)
        tokens = self.projection(cells)[slots.clamp(min=0)] + self.image_index(places).unsqueeze(1)
        tokens = torch.where(real[..., None, None], tokens, 0.0)
        mask = real.unsqueeze(2).expand(-1, -1, cells.shape[1])
        return tokens.flatten(1, 2), mask.flatten(1)

    def forward(self, pixel_values: Tensor, image_counts: Tensor) -> tuple[Tensor, Tensor]:
        """Visual tokens [b, v, h] and their mask [b, v].

        Args:
            pixel_values: [n, 3, H, W], the images of the whole batch, question by question.
            image_counts: [b], images of each question; sums to n.

        Shape notation: b questions, n images, c cells of an image, v visual tokens, h hidden width.
        """
        if pixel_values.shape[0] == 0:
            return self._no_tokens(pixel_values, image_counts)
        return self.tokens(self.cells(pixel_values), image_counts)

    def _no_tokens(self, pixel_values: Tensor, image_counts: Tensor) -> tuple[Tensor, Tensor]:
        b, h = image_counts.shape[0], self.projection.out_features
        tokens = pixel_values.new_zeros((b, 0, h))
        mask = torch.zeros((b, 0), dtype=torch.bool, device=pixel_values.device)
        if self.training and torch.distributed.is_initialized():
            # Other ranks may have images: their gradients are all-reduced, so this rank must take part.
            tokens = tokens + self._zero_weight_pass(pixel_values)
        return tokens, mask

    def _zero_weight_pass(self, like: Tensor) -> Tensor:
        """A scalar zero whose graph reaches every parameter of the stream; batch statistics do not move."""
        self.backbone.eval()
        blank = like.new_zeros((1, *like.shape[1:]))
        cells = self.cells(blank)
        self.backbone.train()
        return 0.0 * (self.projection(cells) + self.image_index.weight[0]).sum()


def figure_slots(image_counts: Tensor) -> Tensor:
    """Row of each question's figures among those of the batch [b, f]; -1 behind a question's last.

    ``image_counts`` [b]; f is the largest of them.
    """
    places = torch.arange(int(image_counts.max()), device=image_counts.device)
    first = image_counts.cumsum(0) - image_counts
    return torch.where(places < image_counts.unsqueeze(1), first.unsqueeze(1) + places, -1)


def _group_norm(channels: int, **options: Any) -> GroupNorm:
    """32 groups (Wu and He 2018), or as many as go into the channels (24 in the stem of resnet10t)."""
    return GroupNorm(channels, num_groups=math.gcd(32, channels), **options)
