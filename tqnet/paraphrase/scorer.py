"""Scores of paraphrases: the cosine of two questions' vectors, and what the paraphrase lost."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from tqnet.paraphrase.check import UNLIKE, Difference, readable
from tqnet.questions import Question
from tqnet.questions.paraphrase_pairs import ParaphrasePair
from tqnet.questions.question import FieldError

if TYPE_CHECKING:
    from tqnet.modeling.encoder import QuestionEncoder
    from tqnet.paraphrase.check.compare import Explainer
    from tqnet.paraphrase.problem import Parser

log = logging.getLogger(__name__)

#: Number of pairs to explain at a time; the parser keeps more texts than that.
_CHUNK = 1000


@dataclass(frozen=True)
class PairTexts:
    """The distinct texts of pairs, each read as a question, without HTML like the stems of a bank."""

    questions: Mapping[str, Question]

    @classmethod
    def read(cls, texts: Iterable[str]) -> PairTexts:
        """Raise ValueError for a text that is not a question, such as HTML without text."""
        from tqnet.modeling.processor import as_question

        questions: dict[str, Question] = {}
        for text in texts:
            try:
                questions[text] = questions.get(text) or as_question(text)
            except FieldError as error:
                raise ValueError(f"{text!r:.80}: {error.message}") from error
        return cls(questions)

    def plain(self, text: str) -> str:
        """Return one of the texts without its HTML."""
        return self.questions[text].stem

    def encode(self, model: QuestionEncoder, **options: Any) -> TextVectors:
        """Encode each text once, with the options of :func:`tqnet.modeling.encode.encode`."""
        rows = {text: row for row, text in enumerate(self.questions)}
        return TextVectors(rows, model.encode(list(self.questions.values()), normalize=True, **options))


@dataclass(frozen=True)
class TextVectors:
    """Unit vectors of distinct texts, float32 ``[texts, width]``, and the row of each text."""

    rows: Mapping[str, int]
    unit: np.ndarray

    def of(self, texts: Iterable[str]) -> np.ndarray:
        """Return the vectors of ``texts``, float32 ``[n, width]``, in order."""
        return self.unit[np.array([self.rows[text] for text in texts], dtype=np.int64)]

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Return float64 ``[n]``, from -1 to 1: the score of ParaQD, Section 3.4."""
        first, second = (self.of(pair[end] for pair in pairs).astype(np.float64) for end in (0, 1))
        return np.clip(np.einsum("nw,nw->n", first, second), -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class ParaphraseScore:
    """The score of a pair.

    Attributes:
        score: Cosine of the two vectors, from -1 to 1.
        differences: What was lost or changed; None without a check.
        note: A caveat about the differences, for example that the texts are not in English.
    """

    original: str
    paraphrase: str
    score: float
    differences: tuple[Difference, ...] | None = None
    note: str = ""

    @property
    def checked(self) -> float:
        """The score, or -1 if the check found that the paraphrase asks another question.

        NOTE: an addition; the paper's score is the cosine. An encoder hardly notices one digit among fifty words.
        """
        changed = any(difference.asks_otherwise for difference in self.differences or ())
        return UNLIKE if changed else self.score

    @property
    def explanation(self) -> str:
        """The differences and the note in one line; empty if there are none."""
        line = readable(self.differences or ())
        return f"{line} ({self.note})" if line and self.note else line or self.note

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, without differences if nothing was checked."""
        fields: dict[str, Any] = {"original": self.original, "paraphrase": self.paraphrase, "score": self.score}
        if self.differences is None:
            return fields
        differences = [difference.to_dict() for difference in self.differences]
        return fields | {"checked": self.checked, "differences": differences, "explanation": self.explanation}


class ParaphraseScorer:
    """Scores whether rewritten questions ask the same thing.

    Args:
        model: A trained folder; an off-the-shelf text encoder, ``minilm`` or ``encoder:OWNER/NAME``; or a model.
        explain: Say what was lost or changed. Without the extra ``paraphrase``, explanations are left out.
        language_model: spaCy model for the explanations: the name of an installed one, its folder, or a parser; by
            default that of the extra.
        batch_size, device: As in :func:`tqnet.modeling.encode.encode`.
        precision: ``fp32``, ``bf16``, or ``auto``: bf16 if the device computes in it.

    Raises:
        FileNotFoundError: The folder holds no model.
        OSError: There is no such language model.
        VectorSourceError: The encoder cannot be loaded.
        ValueError: Another precision.
    """

    def __init__(
        self,
        model: str | Path | QuestionEncoder,
        *,
        explain: bool = True,
        language_model: str | Parser | None = None,
        batch_size: int = 32,
        device: str | None = None,
        precision: str = "auto",
    ):
        from tqnet.evaluation.sources import ENCODER, open_source
        from tqnet.libraries import precision as chosen_precision

        if isinstance(model, str | Path):
            # A name with a slash is a folder, never a name on the hub.
            is_name = not set("/:") & set(str(model)) and not Path(model).is_dir()
            model = open_source(f"{ENCODER}{model}" if is_name else str(model))
        self.model = model
        self.explainer = _explainer(language_model) if explain else None
        dtype = chosen_precision(precision, device)
        self._encoding = {"batch_size": batch_size, "device": device, "precision": dtype}

    def score(
        self, pairs: Sequence[tuple[str, str] | ParaphrasePair], *, show_progress: bool = False
    ) -> list[ParaphraseScore]:
        """Score each (original, paraphrase); each distinct text is encoded once.

        Raises:
            ValueError: A text is empty or not a string, or a pair is not a pair; the message names the pair.
        """
        texts = [_texts(pair, number) for number, pair in enumerate(pairs, 1)]
        read = PairTexts.read(text for pair in texts for text in pair)
        scores = read.encode(self.model, show_progress=show_progress, **self._encoding).cosines(texts).tolist()
        if self.explainer is None:
            return [ParaphraseScore(*pair, score) for pair, score in zip(texts, scores, strict=True)]
        plain = [(read.plain(original), read.plain(paraphrase)) for original, paraphrase in texts]
        explanations = []
        with tqdm(total=len(texts), unit=" pairs", disable=not show_progress, desc="explain") as progress:
            for start in range(0, len(texts), _CHUNK):
                explanations += self.explainer.explain(plain[start : start + _CHUNK])
                progress.update(min(_CHUNK, len(texts) - start))
        return [
            ParaphraseScore(*pair, score, explanation.differences, explanation.note)
            for pair, score, explanation in zip(texts, scores, explanations, strict=True)
        ]


def _explainer(language_model: str | Parser | None) -> Explainer | None:
    """Return None, and log a line, if a package that the check needs is missing."""
    missing = "spaCy's model of English"
    try:
        from tqnet.paraphrase.check.compare import Explainer

        return Explainer() if language_model is None else Explainer(language_model)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("tqnet"):
            raise
        missing = error.name
    except OSError:  # spaCy is installed, but not its model
        if language_model is not None:
            raise
    log.warning("explanations left out: %s is missing: pip install 'tqnet[paraphrase]'", missing)
    return None


def _texts(pair: tuple[str, str] | ParaphrasePair, number: int) -> tuple[str, str]:
    """Return both texts of a pair."""
    name = f"pair {number}"
    if isinstance(pair, ParaphrasePair):
        name, pair = f"pair {pair.id}", (pair.original, pair.paraphrase)
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"{name}: expected an original and a paraphrase, got {pair!r:.80}")
    original, paraphrase = pair
    for part, text in (("original", original), ("paraphrase", paraphrase)):
        if not isinstance(text, str):
            raise ValueError(f"{name}: {part}: expected a text, got {type(text).__name__}")
        if not text.strip():
            raise ValueError(f"{name}: {part}: empty")
    return original, paraphrase
