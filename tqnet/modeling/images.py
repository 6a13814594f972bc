"""Figures as the visual stream reads them: on white, square, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from timm.data.constants import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
from torch import Tensor
from transformers import AutoImageProcessor, BatchFeature
from transformers.image_processing_utils import BaseImageProcessor

from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.quesnet.configuration import QuesNetConfig
from tqnet.questions.images import open_image


def open_figure(path: str) -> np.ndarray:
    """The figure in a file as uint8 [H, W, 3] (:func:`figure_array`).

    Raises:
        OSError: No image that can be used; the message has the path and the reason.
    """
    image = open_image(path)
    if isinstance(image, str):
        raise OSError(f"{path}: {image}")
    return figure_array(image)


def figure_array(image: Image.Image) -> np.ndarray:
    """An opened figure as uint8 [H, W, 3]; transparent parts are white, as on paper (black lines would vanish)."""
    image = ImageOps.exif_transpose(image)  # as a photographed page is looked at
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return np.array(Image.alpha_composite(paper, image).convert("RGB"))
    if image.mode.startswith("I"):
        return _from_16_bits(np.array(image))
    return np.array(image.convert("RGB"))


def _from_16_bits(grey: np.ndarray) -> np.ndarray:
    """[H, W] of 0 .. 65535 -> uint8 [H, W, 3]; Pillow would cut at 255, which leaves a white sheet."""
    return np.repeat((grey.clip(0, 65535) // 257).astype(np.uint8)[..., None], 3, axis=2)


def fit_square(figure: np.ndarray, size: int) -> np.ndarray:
    """uint8 [H, W, 3] scaled to fit a white [size, size, 3], aspect kept: a circle stays a circle."""
    height, width = figure.shape[:2]
    scale = size / max(height, width)
    shape = (max(1, round(width * scale)), max(1, round(height * scale)))
    scaled = Image.fromarray(figure).resize(shape, Image.Resampling.BILINEAR, reducing_gap=2.0)
    square = Image.new("RGB", (size, size), "white")
    square.paste(scaled, ((size - shape[0]) // 2, (size - shape[1]) // 2))
    return np.array(square)


class TQNetImageProcessor(BaseImageProcessor):
    """Figures to ``pixel_values`` [n, 3, size, size], normalised by ``image_mean`` and ``image_std`` of each colour."""

    model_input_names = ["pixel_values"]  # noqa: RUF012 (transformers' own convention)

    def __init__(
        self,
        image_size: int = 128,
        image_mean: Sequence[float] = IMAGENET_DEFAULT_MEAN,
        image_std: Sequence[float] = IMAGENET_DEFAULT_STD,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.image_size = image_size
        self.image_mean = image_mean
        self.image_std = image_std

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
        mean = torch.tensor(self.image_mean).view(3, 1, 1)
        std = torch.tensor(self.image_std).view(3, 1, 1)
        return ((pixels - mean) / std).contiguous()

    def as_imagenet(self, pixel_values: Tensor) -> Tensor:
        """``pixel_values`` in units that are the same for all models: as ImageNet's statistics normalise them."""
        mean, std = torch.tensor(self.image_mean), torch.tensor(self.image_std)
        unit = torch.tensor(IMAGENET_DEFAULT_STD)
        scale, shift = std / unit, (mean - torch.tensor(IMAGENET_DEFAULT_MEAN)) / unit
        return pixel_values * scale.view(3, 1, 1).to(pixel_values) + shift.view(3, 1, 1).to(pixel_values)


for _config in (TQNetConfig, QuesNetConfig):
    # Under both backends that transformers may look for; ours reads figures by Pillow alone.
    AutoImageProcessor.register(
        _config, image_processor_classes=dict.fromkeys(("torchvision", "pil"), TQNetImageProcessor)
    )
