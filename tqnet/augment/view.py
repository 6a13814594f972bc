"""Two views of one question: text and figures augmented together (TQ-Net, Figure 2, step 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tqnet.augment.images import FigureAugmentation
from tqnet.augment.text import clip_window, mask_words
from tqnet.questions import Question


@dataclass
class AugmentConfig:
    """How the views of a question differ.

    Attributes:
        mask: Share of words and formula tokens that are masked.
        window: A view keeps at least this share of the text, one stretch of it; 1 keeps all.
        images: ``figure`` (mild, no flips: a mirrored figure is another question), ``mocov2`` (the paper's)
            or ``none``.
        modality_dropout: Share of the views of questions with text and figures that lose one of the two.
    """

    mask: float = 0.15
    window: float = 0.6
    images: str = "figure"
    modality_dropout: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.mask < 1:
            raise ValueError(f"augment.mask: {self.mask} is not in [0, 1)")
        if not 0 < self.window <= 1:
            raise ValueError(f"augment.window: {self.window} is not in (0, 1]")
        if not 0 <= self.modality_dropout <= 1:
            raise ValueError(f"augment.modality_dropout: {self.modality_dropout} is not in [0, 1]")


class QuestionAugmentation:
    """Draws a view of a question, its text and its figures, from one generator."""

    def __init__(self, config: AugmentConfig, image_size: int, mask_token: str):
        self.config, self.mask_token = config, mask_token
        self.figures = FigureAugmentation(config.images, image_size)

    def modalities(self, question: Question, rng: np.random.Generator) -> Question:
        """``question``, or its text or its figures alone, one as often as the other."""
        whole = bool(question.images and question.content.strip())
        if not whole or not self.config.modality_dropout or rng.random() >= self.config.modality_dropout:
            return question
        return replace(question, images=()) if rng.random() < 0.5 else replace(question, stem="", options=())

    def text(self, question: Question, rng: np.random.Generator) -> Question:
        """``question`` with a clipped and masked stem and options."""
        question = clip_window(question, self.config.window, rng)
        return mask_words(question, self.config.mask, rng, self.mask_token)

    def image(self, figure: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """uint8 [H, W, 3] -> uint8 [size, size, 3]."""
        return self.figures(figure, rng)
