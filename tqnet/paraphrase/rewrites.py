"""Rewritings by models: ParaQD's back-translation (f1), lossy paraphrase (f9, f_e) and reconstruction (f_b), and the
file that keeps them.

One JSON object a line: ``{"text": ..., "operator": ..., "rewrites": [best first], "stand_in": ..., "made_by": ...}``.
``tqnet rewrite`` writes it; a file from elsewhere needs only the first three fields.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.matcher.levenshtein import levenshtein

from tqnet.paraphrase.negatives import without_phrases
from tqnet.paraphrase.operators import Rewrite
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import sentences
from tqnet.paraphrase.tokens import corrupt, delete_words
from tqnet.questions.question import BankError, Fault, FieldError

if TYPE_CHECKING:
    from tqnet.paraphrase.seq2seq import Seq2Seq

#: Operators that are models -> their symbols.
MODEL_OPERATORS = {"back-translation": "f1", "lossy-paraphrase": "f9", "reconstruction": "f_b", "paraphrase": "f_e"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A line of the file: a question and its rewritings by one operator.

    Attributes:
        rewrites: Rewritings, best first; empty if none was worth keeping.
        stand_in: The model stood in for one of the kind that the paper uses.
        made_by: Fingerprint of models and settings, so that a run resumes only its own rows; empty if unknown.
    """

    text: str
    operator: str
    rewrites: tuple[str, ...]
    stand_in: bool = False
    made_by: str = ""


@dataclass(frozen=True)
class LookUp:
    """An operator that draws one of the texts made from a question beforehand.

    ``lacking`` is the reason given where a question has none.
    """

    made: Mapping[str, Sequence[str]]
    lacking: str = "none of its rewritings was worth keeping"

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        texts = self.made.get(problem.text)
        if not texts:
            raise NotApplicable("it is not in the file" if texts is None else self.lacking)
        return texts[int(rng.integers(len(texts)))]


class Rewrites:
    """Contents of a file of rewritings.

    Raises:
        BankError: A line is invalid; names file, line and field.
        OSError: The file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._made: dict[str, dict[str, tuple[str, ...]]] = {}
        self._stand_ins: set[str] = set()
        faults: list[Fault] = []
        for _, row in _rows(Path(path), faults):
            made = self._made.setdefault(row.operator, {})
            made[row.text] = tuple(dict.fromkeys((*made.get(row.text, ()), *row.rewrites)))
            if row.stand_in:
                self._stand_ins.add(row.operator)
        if faults:
            raise BankError(faults)

    def operator(self, name: str) -> LookUp | None:
        """Return an operator that draws rewritings by ``name``, one of MODEL_OPERATORS; None if the file has none."""
        made = self._made.get(name, {})
        return LookUp(made) if any(made.values()) else None

    def is_stand_in(self, name: str) -> bool:
        """Return True if a stand-in made any of an operator's rewritings."""
        return name in self._stand_ins

    def count(self, name: str, texts: Iterable[str]) -> int:
        """Count the ``texts`` that have rewritings by an operator."""
        made = self._made.get(name, {})
        return sum(bool(made.get(text)) for text in texts)


def _rows(path: Path, faults: list[Fault]) -> Iterator[tuple[int, Rewritten]]:
    """Yield the number and the row of each valid line; add the others to ``faults``."""
    with path.open("rb") as stream:
        for line, text in enumerate(stream, 1):
            if not text.strip():
                continue
            try:
                yield line, _read(text)
            except FieldError as error:
                faults.append(Fault(str(path), line, error.field, error.message))


def _read(text: bytes) -> Rewritten:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldError("record", f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise FieldError("record", "expected a JSON object with text, operator and rewrites")
    operator, rewrites = record.get("operator"), record.get("rewrites")
    if not isinstance(operator, str) or operator not in MODEL_OPERATORS:
        raise FieldError("operator", f"expected one of {', '.join(MODEL_OPERATORS)}, got {operator!r:.80}")
    if not isinstance(rewrites, list) or not all(isinstance(text, str) and text.strip() for text in rewrites):
        raise FieldError("rewrites", "expected a list of texts")
    if not isinstance(stand_in := record.get("stand_in", False), bool):
        raise FieldError("stand_in", f"expected true or false, got {stand_in!r:.80}")
    return Rewritten(_text(record, "text"), operator, tuple(rewrites), stand_in, _text(record, "made_by", ""))


def _text(record: dict[str, Any], field: str, default: str | None = None) -> str:
    value = record.get(field, default)
    if not isinstance(value, str):
        raise FieldError(field, "missing" if value is None else f"expected a text, got {value!r:.80}")
    return value


class RewritesFile:
    """A file to which runs add one operator's rewritings; each text is added once.

    Lines are written to disk before the next ones are made. A line that a killed run left unfinished is cut off.

    Args:
        made_by: Fingerprint of models and settings; rows with another one cannot be resumed.

    Attributes:
        done: Texts whose rewritings by this operator are in the file.

    Raises:
        BankError: A line is invalid, or is a row of this operator made by other models or settings.
        OSError: The file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], operator: str, stand_in: bool = False, made_by: str = ""):
        self.path, self.operator, self.stand_in, self.made_by = Path(path), operator, stand_in, made_by
        self.done: set[str] = set()
        if self.path.exists():
            self._resume()

    def _resume(self) -> None:
        faults: list[Fault] = []
        for line, row in _rows(self.path, faults):
            if row.operator != self.operator:
                continue
            self.done.add(row.text)
            if row.made_by != self.made_by:
                message = f"{self.operator} by other models or settings; resume with the same ones, or use another file"
                faults.append(Fault(str(self.path), line, "made_by", message))
        lines, end, tail = self.path.read_bytes().rpartition(b"\n")
        unfinished = not _is_json(tail)
        if unfinished:
            faults = [fault for fault in faults if fault.line <= (lines + end).count(b"\n")]
        if faults:
            raise BankError(faults)
        if unfinished:
            os.truncate(self.path, len(lines + end))
        elif tail:
            with self.path.open("ab") as stream:
                stream.write(b"\n")

    def add(self, rewrites: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Add texts, each with its rewritings, best first, skipping texts that are done."""
        with self.path.open("a", encoding="utf-8") as stream:
            for text, candidates in rewrites:
                if text not in self.done:
                    row = Rewritten(text, self.operator, tuple(candidates), self.stand_in, self.made_by)
                    stream.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
                    self.done.add(text)
            stream.flush()
            os.fsync(stream.fileno())


def _is_json(line: bytes) -> bool:
    """Return True for a last line that is empty, or complete without a newline, as editors leave it."""
    try:
        return not line.strip() or bool(json.loads(line))
    except (ValueError, RecursionError):
        return False


#: Texts -> candidates for each, the farthest by edit distance first, never the text itself (ParaQD, A.1).
Rewriting = Callable[[Sequence[str]], list[list[str]]]


@dataclass(frozen=True)
class Settings:
    """Settings of the search for candidates.

    Attributes:
        candidates: Number of candidates for a text, by diverse beam search.
        diversity: How strongly candidates repel each other (`tqnet.paraphrase.seq2seq`).
        beams: Number of beams of the forward translation.
    """

    candidates: int = 4
    diversity: float = 0.5
    beams: int = 5


def back_translate(texts: Sequence[str], forward: Seq2Seq, backward: Seq2Seq, settings: Settings) -> list[list[str]]:
    """Translate sentence by sentence into another language by beam search, and back by diverse beam search (f1, A.1).

    NOTE: the paper keeps one candidate, made of the farthest version of each sentence. It comes first here, followed by
    the one made of the second farthest versions, and so on. A sentence that cannot be translated stays as it is.

    Args:
        forward, backward: Translation models: English to German and German to English in the paper (FSMT, WMT'19).
    """
    spans = [sentences(text) for text in texts]
    parts = [[text[slice(*span)] for span in places] for text, places in zip(texts, spans, strict=True)]
    distinct = list(dict.fromkeys(part for row in parts for part in row))
    translations = dict(zip(distinct, forward.best(distinct, settings.beams), strict=True))
    translated = [part for part in distinct if translations[part]]
    foreign = [translations[part][0] for part in translated]
    candidates = backward.diverse(foreign, settings.candidates, settings.diversity)
    versions = {part: farthest_first(part, row) for part, row in zip(translated, candidates, strict=True)}
    return [
        farthest_first(text, joined(_gaps(text, places), [versions.get(part) or [part] for part in row])) if row else []
        for text, places, row in zip(texts, spans, parts, strict=True)
    ]


def say_otherwise(
    texts: Sequence[str], model: Seq2Seq, shown: Callable[[str], str], settings: Settings
) -> list[list[str]]:
    """Have a model paraphrase whole texts (f9: Pegasus on PAWS; f_e: T5 on Quora's questions) or restore them.

    Args:
        shown: Text -> input of the model: the text after the prefix used in training, "paraphrase: ", or a damaged text
            for a model that restores; raises NotApplicable for a text that gets no candidates.
    """
    visible = {}
    for text in dict.fromkeys(texts):
        try:
            visible[text] = shown(text)
        except NotApplicable:
            continue
    known = list(visible)
    rows = model.diverse(list(visible.values()), settings.candidates, settings.diversity, likeness=known)
    candidates = {text: farthest_first(text, row) for text, row in zip(known, rows, strict=True)}
    return [candidates.get(text, []) for text in texts]


def farthest_first(text: str, candidates: Iterable[str]) -> list[str]:
    """Return distinct candidates by Levenshtein distance from ``text``, the farthest first, never ``text``.

    Texts that differ only in spaces count as equal; texts without a letter or digit are dropped.
    """
    distinct: dict[str, str] = {}
    for candidate in candidates:
        distinct.setdefault(" ".join(candidate.split()), candidate.strip())
    distinct.pop(" ".join(text.split()), None)
    left = [candidate for candidate in distinct.values() if any(map(str.isalnum, candidate))]
    return sorted(left, key=lambda candidate: -levenshtein(text, candidate))


def joined(gaps: Sequence[str], parts: Sequence[Sequence[str]]) -> list[str]:
    """Return rewritings of a text from those of its parts: the first of each, the second of each, and so on.

    Args:
        gaps: Text before each part, and after the last.
        parts: Rewritings of each part, at least one; the last is repeated where there are no more.
    """
    return [
        "".join(gap + part[min(rank, len(part) - 1)] for gap, part in zip(gaps, parts, strict=False)) + gaps[-1]
        for rank in range(max(map(len, parts), default=0))
    ]


def _gaps(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the text before each span and after the last."""
    ends, starts = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


#: Share of the words to corrupt where the result must ask the same thing; half of the share in training.
_LIGHTLY = 0.08
#: Share of the words to delete from a text without phrases.
_HEAVILY = 0.3


def _leave_out(problem: Problem, rng: np.random.Generator) -> str:
    """Delete one of the key phrases of a text, or some of its words if it has none."""
    try:
        texts = without_phrases(problem)
    except NotApplicable:
        return delete_words(problem, rng, _HEAVILY)
    return texts[rng.integers(len(texts))]


#: Operator -> the damage to a text before a restoring model gets it.
#:
#: NOTE: only reconstruction is ParaQD's own use of such a model (f_b); for the others it is a stand-in. The paper's
#: models lose information by themselves; here it is deleted before the model makes a sentence of the rest.
DAMAGES: dict[str, Rewrite] = {
    "back-translation": partial(corrupt, share=_LIGHTLY),
    "lossy-paraphrase": _leave_out,
    "reconstruction": corrupt,
    "paraphrase": _leave_out,
}
