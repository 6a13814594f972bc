"""Views of a question, text and figures augmented together (TQ-Net, Figure 2, step 2; QuesCo, Figure 2b).

Text is rewritten by QuesCo's strategies, clipped and masked (TQ-Net, "Mixed Unsupervised Contrastive Learning");
figures go through albumentations, used only in this file.
"""

from __future__ import annotations

import math
import os
from dataclasses import field, replace
from typing import Annotated, Literal

import albumentations as A
import numpy as np
from pydantic import AfterValidator

from tqnet.augment.strategies import apply_strategies, strategy_names
from tqnet.config import Share, ShareAboveZero, ShareBelowOne, settings
from tqnet.questions import Question
from tqnet.questions.images import fit_square
from tqnet.text.formulas import join_units, units

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # no network access at import


def mask_words(question: Question, share: float, rng: np.random.Generator, mask_token: str = "[MASK]") -> Question:
    """Replace each word of prose and each token of a formula by ``mask_token`` with probability ``share``.

    Braces and other grouping signs stay, so that formulas keep their shape. At least one unit is left.
    """

    def mask(text: str) -> str:
        parts = units(text)
        chosen = rng.random(len(parts)) < share
        if not chosen.any() or chosen.all():
            return text
        masked = chosen & [unit.text not in "{}^_&()" for unit in parts]
        return join_units(
            [replace(unit, text=mask_token) if hit else unit for unit, hit in zip(parts, masked, strict=True)]
        )

    return replace(question, stem=mask(question.stem), options=tuple(map(mask, question.options)))


def clip_window(question: Question, least: float, rng: np.random.Generator) -> Question:
    """Keep one window of the stem, at least ``least`` of its units and at least one; options stay whole."""
    parts = units(question.stem)
    if len(parts) < 2 or least >= 1:
        return question
    length = math.ceil(len(parts) * rng.uniform(least, 1))
    start = int(rng.integers(len(parts) - length + 1))
    if length == len(parts):
        return question
    return replace(question, stem=join_units(parts[start : start + length]))


class FigureAugmentation:
    """Draws random views of figures.

    ``figure``: small rotation, shift and scale on white, mild crop, colour, grey and blur; no flip, since a mirrored
    figure is another question. ``mocov2``: as in MoCo v2 (Chen et al. 2020), with crops from 20 % and horizontal flips.
    ``none``: no change.
    """

    def __init__(self, kind: str, size: int):
        self.size = size
        transforms = {"figure": _figure, "mocov2": _mocov2, "none": None}[kind]
        self.transform = transforms and A.Compose(transforms(size))

    def __call__(self, figure: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Augment a uint8 figure [H, W, 3] to [size, size, 3]; the same generator state gives the same view."""
        square = fit_square(figure, self.size)
        if self.transform is None:
            return square
        # Seed per view: albumentations' own streams repeat in every worker.
        self.transform.set_random_seed(int(rng.integers(2**31)))
        return self.transform(image=square)["image"]


def _figure(size: int) -> list[A.BasicTransform]:
    moves = {"scale": (0.85, 1.1), "translate_percent": (-0.06, 0.06), "rotate": (-8, 8)}
    return [
        A.Affine(**moves, keep_ratio=True, fill=(255, 255, 255), p=0.9),  # keep_ratio keeps circles round
        A.RandomResizedCrop((size, size), scale=(0.8, 1.0), ratio=(0.95, 1.05), p=0.5),
        A.ColorJitter(brightness=0.3, contrast=0.3, saturation=0.3, hue=0.05, p=0.6),
        A.ToGray(p=0.2),
        A.GaussianBlur(blur_limit=(3, 5), p=0.2),
    ]


def _mocov2(size: int) -> list[A.BasicTransform]:
    return [
        A.RandomResizedCrop((size, size), scale=(0.2, 1.0)),
        A.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1, p=0.8),
        A.ToGray(p=0.2),
        A.GaussianBlur(blur_limit=0, sigma_limit=(0.1, 2.0), p=0.5),
        A.HorizontalFlip(p=0.5),
    ]


def _known(strategies: list[str]) -> list[str]:
    strategy_names(strategies)
    return strategies


@settings
class AugmentConfig:
    """Augmentation of the views of a question."""

    mask: ShareBelowOne = 0.15
    """Share of words and formula tokens to mask."""
    window: ShareAboveZero = 0.6
    """A view keeps one window of the text, at least this share of it; 1 keeps all."""
    images: Literal["figure", "mocov2", "none"] = "figure"
    """Figure augmentation: figure (mild, without flips, since a mirrored figure is another question), mocov2 (the
    paper's) or none."""
    modality_dropout: Share = 0.0
    """Share of views that drop the text or the figures of questions with both."""
    strategies: Annotated[list[str], AfterValidator(_known)] = field(default_factory=list)
    """QuesCo's augmentations, by group (text, formula, structure) or name (swap, delete, rename, scale, operator,
    number, shuffle, repeat)."""
    probability: Share = 0.3
    """Probability of each strategy, every time a question is seen."""
    anchor: bool = True
    """Augment the first view too. QuesCo contrasts the original question with its augmentation."""


class QuestionAugmentation:
    """Draws a view of a question's text and figures from one generator."""

    def __init__(self, config: AugmentConfig, image_size: int, mask_token: str):
        self.config, self.mask_token = config, mask_token
        self.figures = FigureAugmentation(config.images, image_size)
        self.strategies = strategy_names(config.strategies)

    def modalities(self, question: Question, rng: np.random.Generator) -> Question:
        """Drop the text or the figures, equally likely, of some questions with both."""
        has_both = bool(question.images and question.content.strip())
        if not has_both or not self.config.modality_dropout or rng.random() >= self.config.modality_dropout:
            return question
        return replace(question, images=()) if rng.random() < 0.5 else replace(question, stem="", options=())

    def text(self, question: Question, rng: np.random.Generator) -> Question:
        """Rewrite, clip and mask the stem and the options."""
        question = apply_strategies(question, self.strategies, self.config.probability, rng)
        question = clip_window(question, self.config.window, rng)
        return mask_words(question, self.config.mask, rng, self.mask_token)
