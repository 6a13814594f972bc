"""The score by which a run's best state is chosen: how far valid and invalid paraphrases are apart."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.paraphrase.vectors import PairTexts
from tqnet.questions import Question
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_pairs
from tqnet.training.config import ConfigError
from tqnet.training.paraphrases import SEPARATION
from tqnet.training.session import settings_at_fault

log = logging.getLogger(__name__)


class ValidationSeparation:
    """mu_s = mu+ - mu-, means of the cosine over valid and invalid paraphrases (ParaQD, Section 4.4).

    NOTE: the paper calls the separation its primary metric, and does not say by what a state is chosen.
    """

    def __init__(self, model: QuestionEncoder, pairs: Sequence[ParaphrasePair], precision: str):
        self.model, self.precision = model, precision
        self.pairs = [(pair.original, pair.paraphrase) for pair in pairs]
        self.texts = PairTexts.read(text for pair in self.pairs for text in pair)
        self.valid = np.array([bool(pair.label) for pair in pairs])

    @classmethod
    def of(cls, model: QuestionEncoder, path: str | None, chosen: str) -> ValidationSeparation | None:
        """On the labelled pairs of the file ``data.valid_pairs``; None, and a line that says so, without one.

        Raises:
            BankError: The file has faults.
            ConfigError: It has no pairs of both labels, or one with a text that is none.
        """
        if path is None:
            log.info("data.valid_pairs: not given, so the last state is kept, not the best")
            return None
        with settings_at_fault():
            pairs = [pair for pair in read_pairs(path) if pair.label is not None]
        if len({pair.label for pair in pairs}) < 2:
            raise ConfigError(f"data.valid_pairs: {path} has no pairs of both labels, 1 and 0")
        try:
            return cls(model, pairs, precision(chosen))
        except ValueError as error:
            raise ConfigError(f"data.valid_pairs: {path}: {error}") from error

    def __call__(self) -> dict[str, float]:
        vectors = self.texts.encode(self.model, device=self.model.device, precision=self.precision)
        scores = vectors.cosines(self.pairs)
        positive, negative = float(scores[self.valid].mean()), float(scores[~self.valid].mean())
        return {
            SEPARATION: positive - negative,
            "valid/positive": positive,
            "valid/negative": negative,
        }


def as_questions(texts: Sequence[str]) -> list[Question]:
    """Stems of a bank and what was made of them, which hold no HTML any more: "<" begins no tag."""
    return [Question(id="-", stem=text) for text in texts]
