"""The vectors of texts, each encoded once however often it stands in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.processor import as_question
from tqnet.questions import Question
from tqnet.questions.question import FieldError


@dataclass(frozen=True)
class PairTexts:
    """Distinct texts of pairs as questions, read as a bank's stems are: HTML is cleaned, its figures count.

    The scorer, `tqnet evaluate paraphrase` and the validation during training all read them so.

    Attributes:
        questions: Text -> what it is read as.
    """

    questions: Mapping[str, Question]

    @classmethod
    def read(cls, texts: Iterable[str]) -> PairTexts:
        """Raises ValueError for a text that is no question: HTML that holds no text."""
        return cls({text: _question(text) for text in dict.fromkeys(texts)})

    def plain(self, text: str) -> str:
        """One of the texts without its HTML."""
        return self.questions[text].stem

    def encode(self, model: QuestionEncoder, **options: Any) -> TextVectors:
        """With the options of :func:`tqnet.modeling.encode.encode`."""
        rows = {text: row for row, text in enumerate(self.questions)}
        return TextVectors(rows, model.encode(list(self.questions.values()), normalize=True, **options))


@dataclass(frozen=True)
class TextVectors:
    """Unit vectors of distinct texts.

    Attributes:
        rows: Text -> its row.
        unit: float32 ``[texts, width]``.
    """

    rows: Mapping[str, int]
    unit: np.ndarray

    def of(self, texts: Iterable[str]) -> np.ndarray:
        """float32 ``[n, width]``, in their order."""
        return self.unit[np.array([self.rows[text] for text in texts], dtype=np.int64)]

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """float64 ``[n]``, from -1 to 1: the score of ParaQD, Section 3.4."""
        first, second = (self.of(pair[end] for pair in pairs).astype(np.float64) for end in (0, 1))
        return np.clip(np.einsum("nw,nw->n", first, second), -1.0, 1.0)


def _question(text: str) -> Question:
    try:
        return as_question(text)
    except FieldError as error:
        raise ValueError(f"{text!r:.80}: {error.message}") from error
