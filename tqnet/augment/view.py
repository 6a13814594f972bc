"""Views of one question: text and figures augmented together (TQ-Net, Figure 2, step 2; QuesCo, Figure 2b)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tqnet.augment.images import FigureAugmentation
from tqnet.augment.strategies import apply_strategies, strategy_names
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
        strategies: QuesCo's, by name or group (`tqnet.augment.strategies`): ``text``, ``formula``, ``structure``.
        probability: Of each of them, every time a question is seen.
        anchor: Whether the first view is augmented too; QuesCo compares a question as it is with its augmentation.
    """

    mask: float = 0.15
    window: float = 0.6
    images: str = "figure"
    modality_dropout: float = 0.0
    strategies: list[str] = field(default_factory=list)
    probability: float = 0.3
    anchor: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.mask < 1:
            raise ValueError(f"augment.mask: {self.mask} is not in [0, 1)")
        if not 0 < self.window <= 1:
            raise ValueError(f"augment.window: {self.window} is not in (0, 1]")
        if not 0 <= self.modality_dropout <= 1:
            raise ValueError(f"augment.modality_dropout: {self.modality_dropout} is not in [0, 1]")
        if not 0 <= self.probability <= 1:
            raise ValueError(f"augment.probability: {self.probability} is not in [0, 1]")
        try:
            strategy_names(self.strategies)
        except ValueError as error:
            raise ValueError(f"augment.strategies: {error}") from None


class QuestionAugmentation:
    """Draws a view of a question, its text and its figures, from one generator."""

    def __init__(self, config: AugmentConfig, image_size: int, mask_token: str):
        self.config, self.mask_token = config, mask_token
        self.figures = FigureAugmentation(config.images, image_size)
        self.strategies = strategy_names(config.strategies)

    def modalities(self, question: Question, rng: np.random.Generator) -> Question:
        """``question``, or its text or its figures alone, one as often as the other."""
        whole = bool(question.images and question.content.strip())
        if not whole or not self.config.modality_dropout or rng.random() >= self.config.modality_dropout:
            return question
        return replace(question, images=()) if rng.random() < 0.5 else replace(question, stem="", options=())

    def text(self, question: Question, rng: np.random.Generator) -> Question:
        """``question`` with its stem and options rewritten, clipped and masked."""
        question = apply_strategies(question, self.strategies, self.config.probability, rng)
        question = clip_window(question, self.config.window, rng)
        return mask_words(question, self.config.mask, rng, self.mask_token)

    def image(self, figure: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """uint8 [H, W, 3] -> uint8 [size, size, 3]."""
        return self.figures(figure, rng)
