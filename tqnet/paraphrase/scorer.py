"""Scoring paraphrases: the cosine of two questions' vectors, and what was lost between them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tqnet.evaluation.sources import ENCODER, open_source
from tqnet.libraries import precision as chosen_precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.paraphrase.check.difference import UNLIKE, Difference, readable
from tqnet.paraphrase.vectors import PairTexts
from tqnet.questions.paraphrase_pairs import ParaphrasePair

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer
    from tqnet.paraphrase.problem import Parser

log = logging.getLogger(__name__)

#: Pairs that are explained at a time: those that the parser keeps by far.
_AT_A_TIME = 1000

_EXTRA = "pip install 'tqnet[paraphrase]'"


@dataclass(frozen=True, slots=True)
class ParaphraseScore:
    """What was found of a pair.

    Attributes:
        score: Cosine of the two vectors, from -1 to 1.
        differences: What was lost or changed; None where nobody looked.
        note: What a reader of the differences has to know: that the texts are not in English.
    """

    original: str
    paraphrase: str
    score: float
    differences: tuple[Difference, ...] | None = None
    note: str = ""

    @property
    def checked(self) -> float:
        """The score, or -1 where a number or a unit was found not to be the same, a name not the same throughout, words
        in each other's places, or no question.

        NOTE: beyond the paper, whose score is the cosine. An encoder hardly sees one digit among fifty words.
        """
        return UNLIKE if any(one.asks_otherwise for one in self.differences or ()) else self.score

    @property
    def explanation(self) -> str:
        """The differences and the note in one line, empty where there are none."""
        found = readable(self.differences or ())
        return f"{found} ({self.note})" if found and self.note else found or self.note

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without differences where nobody looked."""
        numbers: dict[str, Any] = {"original": self.original, "paraphrase": self.paraphrase, "score": self.score}
        if self.differences is None:
            return numbers
        found = [one.to_dict() for one in self.differences]
        return numbers | {"checked": self.checked, "differences": found, "explanation": self.explanation}


class ParaphraseScorer:
    """Tells whether a rewritten question asks the same.

    Args:
        model: A trained folder; a text encoder as it comes, ``minilm`` or ``encoder:OWNER/NAME``; or a model.
        explain: Whether to say what was lost or changed. Without the extra ``paraphrase``, scores come without.
        language_model: spaCy's for the explanation: the name of an installed one, or its folder, or what parses with
            it; by default that of the extra.
        batch_size, device: As :func:`tqnet.modeling.encode.encode` has them.
        precision: ``fp32``, ``bf16``, or ``auto``: bf16 where the device computes in it.

    Raises:
        FileNotFoundError: The folder holds no model.
        OSError: There is no such language model.
        SourceError: The encoder cannot be loaded.
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
        self.model = model if isinstance(model, QuestionEncoder) else open_source(_source(str(model)))
        self.explainer = _explainer(language_model) if explain else None
        self._encoding = {
            "batch_size": batch_size,
            "device": device,
            "precision": chosen_precision(precision, device),
        }

    def score(
        self, pairs: Sequence[tuple[str, str] | ParaphrasePair], *, show_progress: bool = False
    ) -> list[ParaphraseScore]:
        """Of each (original, paraphrase), in their order; each distinct text is encoded once.

        Raises:
            ValueError: A text is empty, or no text, or a pair is none; the message names the pair.
        """
        texts = [_texts(pair, number) for number, pair in enumerate(pairs, 1)]
        read = PairTexts.read(text for pair in texts for text in pair)
        scores = read.encode(self.model, show_progress=show_progress, **self._encoding).cosines(texts).tolist()
        if self.explainer is None:
            return [ParaphraseScore(*pair, score) for pair, score in zip(texts, scores, strict=True)]
        found = []
        with tqdm(total=len(texts), unit=" pairs", disable=not show_progress, desc="explain") as progress:
            for start in range(0, len(texts), _AT_A_TIME):
                part = texts[start : start + _AT_A_TIME]
                found += self.explainer.explain([(read.plain(one), read.plain(other)) for one, other in part])
                progress.update(len(found) - progress.n)
        return [
            ParaphraseScore(*pair, score, of.differences, of.note)
            for pair, score, of in zip(texts, scores, found, strict=True)
        ]


def _source(model: str) -> str:
    """``minilm`` as ``encoder:minilm``; what has a slash is a folder, which is not looked for on a hub if misspelt."""
    is_name = "/" not in model and ":" not in model and not Path(model).is_dir()
    return f"{ENCODER}{model}" if is_name else model


def _explainer(language_model: str | Parser | None) -> Explainer | None:
    """None, with a line in the log, where what it needs is not installed."""
    try:
        from tqnet.paraphrase.check.explain import Explainer
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("tqnet"):
            raise
        log.warning("explanations left out: %s is missing: %s", error.name, _EXTRA)
        return None
    if language_model is not None:
        return Explainer(language_model)
    try:
        return Explainer()
    except OSError:  # spaCy is there, and its model is not
        log.warning("explanations left out: spaCy's model of English is missing: %s", _EXTRA)
        return None


def _texts(pair: tuple[str, str] | ParaphrasePair, number: int) -> tuple[str, str]:
    """Both texts of a pair."""
    name = f"pair {number}"
    if isinstance(pair, ParaphrasePair):
        name, pair = f"pair {pair.id}", (pair.original, pair.paraphrase)
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"{name}: expected an original and a paraphrase, got {pair!r:.80}")
    for part, text in zip(("original", "paraphrase"), pair, strict=True):
        if not isinstance(text, str):
            raise ValueError(f"{name}: {part}: expected a text, got {type(text).__name__}")
        if not text.strip():
            raise ValueError(f"{name}: {part}: empty")
    original, paraphrase = pair
    return original, paraphrase
