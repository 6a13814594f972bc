"""The visual stream: figures to visual tokens."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoImageProcessor, BatchFeature
from transformers.image_processing_utils import BaseImageProcessor

from tqnet.modeling.configuration import EncoderConfig, QuesNetConfig, TQNetConfig
from tqnet.modeling.pretrained import IMAGENET_MEAN, IMAGENET_STD
from tqnet.questions.images import fit_square

#: Figures that pass a backbone together on a processor, few enough for its caches to hold much of their feature maps;
#: measured on lite0 at 128 px.
_AT_A_TIME = 16


class TQNetImageProcessor(BaseImageProcessor):
    """Figures to ``pixel_values`` [n, 3, size, size], normalised by ``image_mean`` and ``image_std`` of each colour."""

    model_input_names = ["pixel_values"]  # noqa: RUF012 (transformers' own convention)

    def __init__(
        self,
        image_size: int = 128,
        image_mean: Sequence[float] = IMAGENET_MEAN,
        image_std: Sequence[float] = IMAGENET_STD,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.image_size, self.image_mean, self.image_std = image_size, image_mean, image_std

    def __call__(self, images: list[np.ndarray], **_: Any) -> BatchFeature:  # type: ignore[override]
        """images: uint8 arrays [H, W, 3] of any size."""
        return BatchFeature({"pixel_values": self.normalise(list(map(self.fit, images)))})

    def fit(self, figure: np.ndarray) -> np.ndarray:
        """uint8 [H, W, 3] on a white square [size, size, 3]."""
        return fit_square(figure, self.image_size)

    def normalise(self, squares: list[np.ndarray]) -> Tensor:
        """uint8 arrays, each [size, size, 3] -> float32 [n, 3, size, size]."""
        if not squares:
            return torch.zeros((0, 3, self.image_size, self.image_size))
        pixels = torch.from_numpy(np.stack(squares)).permute(0, 3, 1, 2).float() / 255
        return ((pixels - _per_channel(self.image_mean)) / _per_channel(self.image_std)).contiguous()

    def as_imagenet(self, pixel_values: Tensor) -> Tensor:
        """``pixel_values`` in units that are the same for all models: as ImageNet's statistics normalise them."""
        mean, std = _per_channel(self.image_mean), _per_channel(self.image_std)
        unit = _per_channel(IMAGENET_STD)
        shift = (mean - _per_channel(IMAGENET_MEAN)) / unit
        return pixel_values * (std / unit).to(pixel_values) + shift.to(pixel_values)


def _per_channel(values: Sequence[float]) -> Tensor:
    return torch.tensor(values).view(3, 1, 1)


for _config in (TQNetConfig, QuesNetConfig):
    # Under both backends that transformers may look for; ours reads figures by Pillow alone.
    AutoImageProcessor.register(
        _config, image_processor_classes=dict.fromkeys(("torchvision", "pil"), TQNetImageProcessor)
    )


class SplitBatchNorm2d(nn.BatchNorm2d):
    """Batch norm over ``splits`` parts of the batch, each with statistics of its own.

    On one process this stands in for the separate statistics of several GPUs: with queries and (permuted)
    keys split alike, a batch's statistics no longer tell which key belongs to which query (He et al. 2020,
    section 3.3). A part holds at least ``min_images``, else there are fewer parts. In ``eval`` it is
    ordinary batch norm, and the weights are interchangeable.
    """

    splits: int = 1
    min_images: int = 8

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self.splits == 1:
            return _activate(self, super().forward(input))
        parts = min(self.splits, max(1, input.shape[0] // self.min_images))
        if parts < self.splits:
            # The same words every time, so that Python shows them once.
            warnings.warn(
                f"split batch norm: too few images for {self.splits} parts of {self.min_images}; a larger "
                "run.batch_size or model.visual_norm=frozen|group helps",
                stacklevel=2,
            )
        split = [nn.BatchNorm2d.forward(self, part) for part in input.tensor_split(parts)]
        return _activate(self, torch.cat(split))


class FrozenBatchNorm2d(nn.BatchNorm2d):
    """Batch norm that always uses its stored statistics and never moves them."""

    def forward(self, input: Tensor) -> Tensor:
        normed = nn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
        )
        return _activate(self, normed)


def _activate(norm: Any, normed: Tensor) -> Tensor:
    """timm's ``BatchNormAct2d`` carries its activation inside; it is kept where one is converted."""
    return norm.act(norm.drop(normed)) if hasattr(norm, "act") else normed


def _batchnorms(module: nn.Module) -> list[nn.BatchNorm2d]:
    return [child for child in module.modules() if isinstance(child, nn.BatchNorm2d)]


def takes_batch_statistics(module: nn.Module) -> bool:
    """Whether what ``module`` makes of an image depends on the others that it gets with it."""
    moving = [norm for norm in _batchnorms(module) if not isinstance(norm, FrozenBatchNorm2d)]
    return any(norm.training or norm.running_mean is None for norm in moving)


def has_no_statistics(module: nn.Module) -> bool:
    """Whether the batch norms inside ``module`` have never seen a batch, as where its weights are random."""
    means = [norm.running_mean for norm in _batchnorms(module) if norm.running_mean is not None]
    return bool(means) and not any(bool(mean.any()) for mean in means)


@contextmanager
def statistics_kept(module: nn.Module) -> Iterator[None]:
    """After the block, the running statistics of every batch norm inside ``module`` are what they were before it."""
    buffers = [buffer for norm in _batchnorms(module) for buffer in norm.buffers()]
    before = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        for buffer, value in zip(buffers, before, strict=True):
            buffer.copy_(value)


def freeze_batchnorm(module: nn.Module) -> None:
    """Make every batch norm inside ``module`` a :class:`FrozenBatchNorm2d`; parameters and buffers stay."""
    for norm in _batchnorms(module):
        norm.__class__ = FrozenBatchNorm2d


def split_batchnorm(module: nn.Module, splits: int) -> None:
    """Make every trainable batch norm inside ``module`` a :class:`SplitBatchNorm2d` of ``splits`` parts."""
    for norm in _batchnorms(module):
        if not isinstance(norm, FrozenBatchNorm2d):
            norm.__class__ = SplitBatchNorm2d
            setattr(norm, "splits", splits)  # noqa: B010 (the class changed unseen by the type checker)


class VisualStream(nn.Module):
    """A ``timm`` backbone whose feature-map cells become tokens of the text encoder's width.

    With ``whole``, a figure has one cell, the mean of its feature map. Every image passes exactly once, whatever
    the number of images per question, and no image is made up to fill a batch: a batch without images returns no
    tokens and costs no convolution.

    Shape notation: b questions, n images, f images of the question that has most, c cells of an image, v visual
    tokens, h hidden width.
    """

    backbone: Any  # timm's contract: forward_features, num_features

    def __init__(self, config: EncoderConfig, whole: bool = False):
        import timm

        super().__init__()
        self.whole = whole
        assert config.visual_backbone is not None
        options: dict[str, Any] = {"norm_layer": _group_norm} if config.visual_norm == "group" else {}
        try:
            self.backbone = timm.create_model(config.visual_backbone, pretrained=False, num_classes=0, **options)
        except TypeError as error:  # some backbones take batch norm alone
            if not options:
                raise
            raise ValueError(f"visual_norm: {config.visual_norm} is not for {config.visual_backbone}") from error
        if config.visual_norm == "frozen":
            freeze_batchnorm(self.backbone)
        self.projection = nn.Linear(self.backbone.num_features, config.hidden_size)
        self.image_index = nn.Embedding(config.max_images, config.hidden_size)

    def forward(self, pixel_values: Tensor, image_counts: Tensor) -> tuple[Tensor, Tensor]:
        """Visual tokens [b, v, h] and their mask [b, v].

        Args:
            pixel_values: [n, 3, H, W], the images of the whole batch, question by question.
            image_counts: [b], images of each question; sums to n.
        """
        if pixel_values.shape[0]:
            return self.tokens(self.cells(pixel_values), image_counts)
        b, h = image_counts.shape[0], self.projection.out_features
        tokens = pixel_values.new_zeros((b, 0, h))
        if self.training and torch.distributed.is_initialized():
            # Other ranks may have images: their gradients are all-reduced, so this rank must take part.
            tokens = tokens + self._zero_weight_pass(pixel_values)
        return tokens, pixel_values.new_zeros((b, 0), dtype=torch.bool)

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
        """Cells of all images [n, c, features] as tokens [b, v, h] of their questions, and mask [b, v]."""
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

    def _zero_weight_pass(self, like: Tensor) -> Tensor:
        """A scalar zero whose graph reaches every parameter of the stream; batch statistics do not move."""
        self.backbone.eval()
        cells = self.cells(like.new_zeros((1, *like.shape[1:])))
        self.backbone.train()
        return 0.0 * (self.projection(cells) + self.image_index.weight[0]).sum()


def figure_slots(image_counts: Tensor) -> Tensor:
    """Row of each question's figures among those of the batch [b, f]; -1 behind a question's last.

    ``image_counts`` [b]; f is the largest of them.
    """
    places = torch.arange(int(image_counts.max()), device=image_counts.device)
    first = image_counts.cumsum(0) - image_counts
    return torch.where(places < image_counts.unsqueeze(1), first.unsqueeze(1) + places, -1)


def _group_norm(channels: int, **options: Any) -> nn.Module:
    """32 groups (Wu and He 2018), or as many as go into the channels (24 in the stem of resnet10t)."""
    from timm.layers import GroupNorm

    return GroupNorm(channels, num_groups=math.gcd(32, channels), **options)
