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

from tqnet.libraries import to_device
from tqnet.modeling.configuration import EncoderConfig, QuesNetConfig, TQNetConfig
from tqnet.modeling.pretrained import IMAGENET_MEAN, IMAGENET_STD, new_backbone
from tqnet.questions.images import fit_square

#: Backbone batch size on a CPU: small, so that its caches hold much of the feature maps; measured on lite0 at 128 px.
_AT_A_TIME = 16


class TQNetImageProcessor(BaseImageProcessor):
    """Converts figures to ``pixel_values`` [n, 3, size, size], normalised by ``image_mean`` and ``image_std``."""

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
        """Fit and normalise uint8 arrays [H, W, 3] of any size."""
        return BatchFeature({"pixel_values": self.normalise(list(map(self.fit, images)))})

    def fit(self, figure: np.ndarray) -> np.ndarray:
        """Fit a uint8 figure [H, W, 3] into a white square [size, size, 3]."""
        return fit_square(figure, self.image_size)

    def normalise(self, squares: list[np.ndarray]) -> Tensor:
        """Normalise uint8 arrays [size, size, 3] to float32 [n, 3, size, size]."""
        if not squares:
            return torch.zeros((0, 3, self.image_size, self.image_size))
        pixels = torch.from_numpy(np.stack(squares)).permute(0, 3, 1, 2).float() / 255
        return ((pixels - _per_channel(self.image_mean)) / _per_channel(self.image_std)).contiguous()

    def as_imagenet(self, pixel_values: Tensor) -> Tensor:
        """Renormalise ``pixel_values`` by ImageNet's statistics, the same units for all models."""
        mean, std = _per_channel(self.image_mean), _per_channel(self.image_std)
        unit = _per_channel(IMAGENET_STD)
        shift = (mean - _per_channel(IMAGENET_MEAN)) / unit
        return pixel_values * (std / unit).to(pixel_values) + shift.to(pixel_values)


def _per_channel(values: Sequence[float]) -> Tensor:
    return torch.tensor(values).view(3, 1, 1)


for _config in (TQNetConfig, QuesNetConfig):
    # Register for both backends that transformers may ask for; ours only needs Pillow.
    AutoImageProcessor.register(
        _config, image_processor_classes=dict.fromkeys(("torchvision", "pil"), TQNetImageProcessor)
    )


class SplitBatchNorm2d(nn.BatchNorm2d):
    """Batch norm over ``splits`` parts of the batch, each with statistics of its own.

    On one process this replaces the separate statistics of several GPUs: queries and (permuted) keys are split
    alike, so batch statistics no longer reveal which key belongs to which query (He et al. 2020, section 3.3). Parts
    hold at least ``min_images``; small batches have fewer parts. In ``eval`` it is ordinary batch norm, and weights
    are interchangeable.
    """

    splits: int = 1
    min_images: int = 8

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self.splits == 1:
            return _activate(self, super().forward(input))
        parts = min(self.splits, max(1, input.shape[0] // self.min_images))
        if parts < self.splits:
            # Constant text, so that Python shows it once.
            warnings.warn(
                f"split batch norm: too few images for {self.splits} parts of {self.min_images}; a larger "
                "run.batch_size or model.visual_norm=frozen|group helps",
                stacklevel=2,
            )
        split = [nn.BatchNorm2d.forward(self, part) for part in input.tensor_split(parts)]
        return _activate(self, torch.cat(split))


class FrozenBatchNorm2d(nn.BatchNorm2d):
    """Batch norm that always uses its stored statistics and never updates them."""

    def forward(self, input: Tensor) -> Tensor:
        normed = nn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
        )
        return _activate(self, normed)


def _activate(norm: Any, normed: Tensor) -> Tensor:
    """Apply the activation that timm's ``BatchNormAct2d`` contains, if ``norm`` was converted from one."""
    return norm.act(norm.drop(normed)) if hasattr(norm, "act") else normed


def _batchnorms(module: nn.Module) -> list[nn.BatchNorm2d]:
    return [child for child in module.modules() if isinstance(child, nn.BatchNorm2d)]


def takes_batch_statistics(module: nn.Module) -> bool:
    """Return whether the output of ``module`` for an image depends on the rest of the batch."""
    moving = [norm for norm in _batchnorms(module) if not isinstance(norm, FrozenBatchNorm2d)]
    return any(norm.training or norm.running_mean is None for norm in moving)


def is_untrained(model: Any) -> bool:
    """Return whether a model's visual backbone has random weights.

    Early models did not record it; they count as untrained if no batch norm has seen a batch.
    """
    if model.config.visual_trained is not None:
        return not model.config.visual_trained
    means = [norm.running_mean for norm in _batchnorms(model.visual.backbone) if norm.running_mean is not None]
    return bool(means) and not any(bool(mean.any()) for mean in means)


@contextmanager
def statistics_kept(module: nn.Module) -> Iterator[None]:
    """Restore the running statistics of all batch norms in ``module`` after the block."""
    buffers = [buffer for norm in _batchnorms(module) for buffer in norm.buffers()]
    before = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        for buffer, value in zip(buffers, before, strict=True):
            buffer.copy_(value)


def freeze_batchnorm(module: nn.Module) -> None:
    """Turn every batch norm in ``module`` into a :class:`FrozenBatchNorm2d`, keeping parameters and buffers."""
    for norm in _batchnorms(module):
        norm.__class__ = FrozenBatchNorm2d


def split_batchnorm(module: nn.Module, splits: int) -> None:
    """Turn every unfrozen batch norm in ``module`` into a :class:`SplitBatchNorm2d` of ``splits`` parts."""
    for norm in _batchnorms(module):
        if not isinstance(norm, FrozenBatchNorm2d):
            norm.__class__ = SplitBatchNorm2d
            setattr(norm, "splits", splits)  # noqa: B010 (the type checker cannot see the new class)


class VisualStream(nn.Module):
    """A ``timm`` backbone whose feature-map cells become tokens of the text encoder's width.

    With ``whole``, a figure has one cell, the mean of its feature map. Every image goes through the backbone exactly
    once, without padding images: a batch without images returns no tokens and costs no convolution.

    Shape notation: b questions, n images, f most images of any question, c cells per image, v visual tokens, h hidden
    width.
    """

    backbone: Any  # timm's contract: forward_features, num_features

    def __init__(self, config: EncoderConfig, whole: bool = False):
        super().__init__()
        self.whole = whole
        assert config.visual_backbone is not None
        options: dict[str, Any] = {"norm_layer": _group_norm} if config.visual_norm == "group" else {}
        if options:
            with torch.device("meta"):
                if not _batchnorms(new_backbone(config.visual_backbone, config.image_size)):
                    raise ValueError(f"visual_norm: group, but {config.visual_backbone} has no batch norm to replace")
        try:
            self.backbone = new_backbone(config.visual_backbone, config.image_size, **options)
        except TypeError as error:  # some backbones only support batch norm
            raise ValueError(f"visual_norm: {config.visual_norm} is not for {config.visual_backbone}") from error
        if config.visual_norm == "frozen":
            freeze_batchnorm(self.backbone)
        self.projection = nn.Linear(self.backbone.num_features, config.hidden_size)
        self.image_index = nn.Embedding(config.max_images, config.hidden_size)

    def forward(self, pixel_values: Tensor, figures: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return visual tokens [b, v, h] and their mask [b, v].

        Args:
            pixel_values: [n, 3, H, W], images of the whole batch, question by question.
            figures: [b], images per question; sums to n.
        """
        if pixel_values.shape[0]:
            return self.tokens(self.cells(pixel_values), figures)
        b, h = len(figures), self.projection.out_features
        tokens = pixel_values.new_zeros((b, 0, h))
        if self.training and torch.distributed.is_initialized():
            # Other ranks may have images, and this rank must join their all-reduce.
            tokens = tokens + self._zero_weight_pass(pixel_values)
        return tokens, pixel_values.new_zeros((b, 0), dtype=torch.bool)

    def cells(self, pixel_values: Tensor) -> Tensor:
        """Run the backbone: images [n, 3, H, W] to feature-map cells [n, c, features].

        Channels-last is faster, and on a CPU so are small batches.
        """
        pixel_values = pixel_values.contiguous(memory_format=torch.channels_last)
        together = pixel_values.device.type != "cpu" or takes_batch_statistics(self.backbone)
        parts = [pixel_values] if together else pixel_values.split(_AT_A_TIME)
        cells = torch.cat([feature_cells(self.backbone, part) for part in parts])
        return cells.mean(1, keepdim=True) if self.whole else cells

    def tokens(self, cells: Tensor, figures: np.ndarray) -> tuple[Tensor, Tensor]:
        """Project cells of all images [n, c, features] to tokens [b, v, h] of their questions, and mask [b, v]."""
        return self.placed(cells, to_device(figure_slots(figures), cells.device))

    def placed(self, cells: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Do the same as :meth:`tokens`, given ``slots`` [b, f] from :func:`figure_slots`.

        Control flow depends only on shapes, so it can be exported as a graph.
        """
        real = slots >= 0
        places = torch.arange(slots.shape[1], device=slots.device)
        tokens = self.projection(cells)[slots.clamp(min=0)] + self.image_index(places).unsqueeze(1)
        tokens = torch.where(real[..., None, None], tokens, 0.0)
        mask = real.unsqueeze(2).expand(-1, -1, cells.shape[1])
        return tokens.flatten(1, 2), mask.flatten(1)

    def _zero_weight_pass(self, like: Tensor) -> Tensor:
        """Return a scalar zero whose graph reaches every parameter of the stream, without updating batch statistics."""
        self.backbone.eval()
        cells = self.cells(like.new_zeros((1, *like.shape[1:])))
        self.backbone.train()
        return 0.0 * (self.projection(cells) + self.image_index.weight[0]).sum()


def feature_cells(backbone: Any, pixel_values: Tensor) -> Tensor:
    """Run a backbone of timm: images [n, 3, H, W] to cells [n, c, features], whatever the layout of its features.

    Feature maps have channels first (ResNet, ConvNeXt) or last (Swin); tokens (ViT) leave out the class and register
    tokens in front.
    """
    features = backbone.forward_features(pixel_values)
    if features.ndim == 3:
        return features[:, getattr(backbone, "num_prefix_tokens", 0) :]
    return features.flatten(1, 2) if getattr(backbone, "output_fmt", "") == "NHWC" else features.flatten(2).mT


def figure_slots(figures: np.ndarray) -> np.ndarray:
    """Return the batch row of each question's figures, [b, f], padded with -1; f = max(``figures``)."""
    places = np.arange(figures.max(initial=0))
    first = figures.cumsum() - figures
    return np.where(places < figures[:, None], first[:, None] + places, -1)


def _group_norm(channels: int, **options: Any) -> nn.Module:
    """Build a group norm of gcd(32, channels) groups: 32 (Wu and He 2018), but 8 for the 24 of resnet10t's stem."""
    from timm.layers import GroupNorm

    return GroupNorm(channels, num_groups=math.gcd(32, channels), **options)
