"""Batch normalisation as MoCo needs it, and the ways round it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


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


def takes_batch_statistics(module: nn.Module) -> bool:
    """Whether what ``module`` makes of an image depends on the others that it gets with it."""
    norms = [child for child in module.modules() if isinstance(child, nn.modules.batchnorm._BatchNorm)]
    moving = [norm for norm in norms if not isinstance(norm, FrozenBatchNorm2d)]
    return any(norm.training or norm.running_mean is None for norm in moving)


def has_no_statistics(module: nn.Module) -> bool:
    """Whether the batch norms inside ``module`` have never seen a batch, as where its weights are random."""
    norms = [child for child in module.modules() if isinstance(child, nn.BatchNorm2d)]
    means = [norm.running_mean for norm in norms if norm.running_mean is not None]
    return bool(means) and not any(bool(mean.any()) for mean in means)


@contextmanager
def statistics_kept(module: nn.Module) -> Iterator[None]:
    """After the block, the running statistics of every batch norm inside ``module`` are what they were before it."""
    norms = [child for child in module.modules() if isinstance(child, nn.BatchNorm2d)]
    buffers = [buffer for norm in norms for buffer in norm.buffers()]
    before = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        for buffer, value in zip(buffers, before, strict=True):
            buffer.copy_(value)


def convert_batchnorm(module: nn.Module, kind: type[nn.BatchNorm2d]) -> None:
    """Turn every batch norm inside ``module`` into ``kind``, in place; parameters and buffers stay."""
    for child in module.modules():
        if isinstance(child, nn.BatchNorm2d):
            child.__class__ = kind


def split_batchnorm(module: nn.Module, splits: int) -> None:
    """Make every trainable batch norm inside ``module`` a :class:`SplitBatchNorm2d` of ``splits`` parts."""
    for child in module.modules():
        if isinstance(child, nn.BatchNorm2d) and not isinstance(child, FrozenBatchNorm2d):
            child.__class__ = SplitBatchNorm2d
            setattr(child, "splits", splits)  # noqa: B010 (the class changed unseen by the type checker)
