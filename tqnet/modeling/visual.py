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
        counts = image_counts.tolist()
        order = torch.cat([torch.arange(count) for count in counts]).to(cells.device)
        tokens = self.projection(cells) + self.image_index(order).unsqueeze(1)
        per_question = [part.flatten(0, 1) for part in tokens.split(counts)]  # b tensors [count * c, h]
        padded = nn.utils.rnn.pad_sequence(per_question, batch_first=True)
        lengths = image_counts * cells.shape[1]
        mask = torch.arange(padded.shape[1], device=padded.device) < lengths.unsqueeze(1)
        return padded, mask

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


def _group_norm(channels: int, **options: Any) -> GroupNorm:
    """32 groups (Wu and He 2018), or as many as go into the channels (24 in the stem of resnet10t)."""
    return GroupNorm(channels, num_groups=math.gcd(32, channels), **options)
