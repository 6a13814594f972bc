"""A file of rewritings that models made beforehand, as operators: f1, f9, f_b and f_e of ParaQD.

One JSON object a line: ``{"text": ..., "operator": ..., "rewrites": [best first], "stand_in": ..., "made_by": ...}``.
``tqnet rewrite`` writes it; the first three fields are all that a file of other origin needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.paraphrase.operators import Label, Rewrite
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.questions.question import BankError, Fault, FieldError

#: Operators that are models, and what their results are taken for.
MODEL_OPERATORS: dict[str, Label] = {
    "back-translation": "positive",
    "lossy-paraphrase": "negative",
    "reconstruction": "positive",
    "paraphrase": "negative",
}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A line of the file: a question and what an operator made of it.

    Attributes:
        rewrites: The best first; none where nothing came out that could be kept.
        stand_in: Whether the model stood in for one of the kind that the operator means.
        made_by: Of models and settings, so that a run goes on only with what is its own; empty where nobody said.
    """

    text: str
    operator: str
    rewrites: tuple[str, ...]
    stand_in: bool = False
    made_by: str = ""

    def line(self) -> str:
        """As it stands in the file."""
        fields = {name: getattr(self, name) for name in ("text", "operator", "rewrites", "stand_in", "made_by")}
        return json.dumps(fields, ensure_ascii=False) + "\n"


class Rewrites:
    """What a file holds."""

    def __init__(self, rows: Iterable[Rewritten]):
        self._made: dict[str, dict[str, tuple[str, ...]]] = {}
        self._stand_ins: set[str] = set()
        for row in rows:
            of = self._made.setdefault(row.operator, {})
            of[row.text] = tuple(dict.fromkeys((*of.get(row.text, ()), *row.rewrites)))
            if row.stand_in:
                self._stand_ins.add(row.operator)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rewrites:
        """From a file that ``tqnet rewrite`` wrote.

        Raises:
            BankError: A line is wrong; names file, line and field.
            OSError: It cannot be read.
        """
        faults: list[Fault] = []
        rows = [row for _, row in read_rows(Path(path), faults)]
        if faults:
            raise BankError(faults)
        return cls(rows)

    def operator(self, name: str) -> Rewrite | None:
        """A rewriting of a question by chance among those that one of MODEL_OPERATORS made; None where it made none.

        It raises NotApplicable for a text that has none.

        Raises:
            ValueError: There is no such operator.
        """
        if name not in MODEL_OPERATORS:
            raise ValueError(f"operator: {name!r} is none of {', '.join(MODEL_OPERATORS)}")
        made = self._made.get(name)
        return Stored(made) if made and any(made.values()) else None

    def is_stand_in(self, name: str) -> bool:
        """Whether a stand-in made what the file has of an operator, or some of it."""
        return name in self._stand_ins

    def count(self, name: str, texts: Iterable[str]) -> int:
        """Of how many of ``texts`` an operator has rewritings."""
        made = self._made.get(name, {})
        return sum(bool(made.get(text)) for text in texts)


@dataclass(frozen=True)
class Stored:
    """An operator whose results are known: text -> its rewritings."""

    made: dict[str, tuple[str, ...]]

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        """One of them.

        Raises:
            NotApplicable: There is none.
        """
        rewrites = self.made.get(problem.text)
        if not rewrites:
            reason = "no rewriting of it was worth keeping" if rewrites is not None else "the file does not have it"
            raise NotApplicable(reason)
        return rewrites[rng.integers(len(rewrites))]


def read_rows(path: Path, faults: list[Fault]) -> Iterator[tuple[int, Rewritten]]:
    """Line number and row of each line of a file; what is wrong is added to ``faults``.

    Raises:
        OSError: It cannot be read.
    """
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
    if not isinstance(rewrites, list) or not all(isinstance(one, str) and one.strip() for one in rewrites):
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
    """A file that one operator's rewritings are added to, a run after another; nothing stands in it twice.

    Lines are on the disk before the next ones are made. A line that a killed run left unfinished is cut off.

    Args:
        made_by: Of models and settings; a run with others cannot go on with this operator's rows.

    Attributes:
        done: Texts that the file has of this operator.

    Raises:
        BankError: A line of the file is wrong, or of this operator by other models or settings.
        OSError: It cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], operator: str, stand_in: bool = False, made_by: str = ""):
        self.path, self.operator, self.stand_in, self.made_by = Path(path), operator, stand_in, made_by
        self.done: set[str] = set()
        if self.path.exists():
            self._take_up()

    def _take_up(self) -> None:
        whole, tail = _last_line(self.path)
        unfinished = not _is_json(tail)
        faults: list[Fault] = []
        for line, row in read_rows(self.path, faults):
            if row.operator != self.operator:
                continue
            self.done.add(row.text)
            if row.made_by != self.made_by:
                message = f"{self.operator} by other models or settings; the same ones go on, others need another file"
                faults.append(Fault(str(self.path), line, "made_by", message))
        if unfinished:
            faults = [fault for fault in faults if fault.line <= whole.count(b"\n")]
        if faults:
            raise BankError(faults)
        if unfinished:
            os.truncate(self.path, len(whole))
        elif tail:
            with self.path.open("ab") as stream:
                stream.write(b"\n")

    def add(self, rewrites: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Texts, each with its rewritings, best first; those that are done are left out.

        Raises:
            OSError: The disk is full, say.
        """
        with self.path.open("a", encoding="utf-8") as stream:
            for text, of in rewrites:
                if text not in self.done:
                    stream.write(Rewritten(text, self.operator, tuple(of), self.stand_in, self.made_by).line())
                    self.done.add(text)
            stream.flush()
            os.fsync(stream.fileno())


def _last_line(path: Path) -> tuple[bytes, bytes]:
    """A file up to its last end of a line, and what stands behind it."""
    whole, end, tail = path.read_bytes().rpartition(b"\n")
    return whole + end, tail


def _is_json(line: bytes) -> bool:
    """Whether a last line without an end is whole all the same, as editors leave it; an empty one is."""
    try:
        return not line.strip() or bool(json.loads(line))
    except (ValueError, RecursionError):
        return False


# A model's rewritings of a question: those of its sentences put together, the farthest first.


def farthest_first(text: str, candidates: Iterable[str]) -> list[str]:
    """Distinct candidates by Levenshtein distance from ``text``, the farthest first (ParaQD, A.1), never ``text``.

    Texts that differ in their spaces alone are one; what has no letter and no digit is no text.
    """
    from spacy.matcher.levenshtein import levenshtein

    distinct: dict[str, str] = {}
    for candidate in candidates:
        distinct.setdefault(" ".join(candidate.split()), candidate.strip())
    distinct.pop(" ".join(text.split()), None)
    left = [candidate for candidate in distinct.values() if any(map(str.isalnum, candidate))]
    return sorted(left, key=lambda candidate: -levenshtein(text, candidate))


def joined(gaps: Sequence[str], parts: Sequence[Sequence[str]]) -> list[str]:
    """Rewritings of a text from those of its parts: the first of each, the second of each, and so on to the longest.

    Args:
        gaps: What stands before each part, and behind the last.
        parts: Of each part its rewritings, one at least; the last stands in where there are no more.
    """
    count = max(map(len, parts), default=0)
    return [
        "".join(gap + own[min(rank, len(own) - 1)] for gap, own in zip(gaps, parts, strict=False)) + gaps[-1]
        for rank in range(count)
    ]
