"""Augmentation of figures; the one place that knows albumentations."""

from __future__ import annotations

import os

import numpy as np

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # no look at the network at import
import albumentations as A

from tqnet.modeling.images import fit_square

KINDS = ("figure", "mocov2", "none")
_WHITE = (255, 255, 255)


class FigureAugmentation:
    """A random view of a figure, drawn from the generator it is given.

    ``figure``: small rotation, shift and scale on white, mild crop, colour, grey and blur; no flip, since a
    mirrored figure is another question, and its letters would be mirrored too. ``mocov2``: the settings of
    MoCo v2 (Chen et al. 2020): crops from 20 %, colour jitter, grey, blur, horizontal flip. ``none``: no change.
    """

    def __init__(self, kind: str, size: int):
        if kind not in KINDS:
            raise ValueError(f"augment.images: {kind!r} is none of {', '.join(KINDS)}")
        self.kind, self.size = kind, size
        self.transform = {"figure": _figure, "mocov2": _mocov2, "none": lambda size: None}[kind](size)

    def __call__(self, figure: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """uint8 [H, W, 3] -> uint8 [size, size, 3]; the same generator state gives the same view."""
        square = fit_square(figure, self.size)
        if self.transform is None:
            return square
        # albumentations' own streams repeat in every worker: seeded per view instead.
        self.transform.set_random_seed(int(rng.integers(2**31)))
        return self.transform(image=square)["image"]


def _figure(size: int) -> A.Compose:
    return A.Compose(
        [
            A.Affine(
                scale=(0.85, 1.1),
                keep_ratio=True,  # a circle stays a circle
                translate_percent=(-0.06, 0.06),
                rotate=(-8, 8),
                fill=_WHITE,
                p=0.9,
            ),
            A.RandomResizedCrop((size, size), scale=(0.8, 1.0), ratio=(0.95, 1.05), p=0.5),
            A.ColorJitter(brightness=0.3, contrast=0.3, saturation=0.3, hue=0.05, p=0.6),
            A.ToGray(p=0.2),
            A.GaussianBlur(blur_limit=(3, 5), p=0.2),
        ]
    )


def _mocov2(size: int) -> A.Compose:
    return A.Compose(
        [
            A.RandomResizedCrop((size, size), scale=(0.2, 1.0)),
            A.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1, p=0.8),
            A.ToGray(p=0.2),
            A.GaussianBlur(blur_limit=0, sigma_limit=(0.1, 2.0), p=0.5),
            A.HorizontalFlip(p=0.5),
        ]
    )
