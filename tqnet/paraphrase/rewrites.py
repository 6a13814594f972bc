"""A file of rewritings that models made beforehand, as operators: f1, f9, f_b and f_e of ParaQD.

One JSON object a line: ``{"text": ..., "operator": ..., "rewrites": [best first], "stand_in": ..., "made_by": ...}``.
``tqnet rewrite`` writes it; the first three fields are all that a file of other origin needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.questions.question import BankError, Fault, FieldError

#: Operators that are models -> their symbols.
MODEL_OPERATORS = {"back-translation": "f1", "lossy-paraphrase": "f9", "reconstruction": "f_b", "paraphrase": "f_e"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A line of the file: a question and what an operator made of it.

    Attributes:
        rewrites: The best first; none if nothing came out that could be kept.
        stand_in: The model stood in for one of the kind that the operator means.
        made_by: Of models and settings, so that a run goes on only with what is its own; empty if unknown.
    """

    text: str
    operator: str
    rewrites: tuple[str, ...]
    stand_in: bool = False
    made_by: str = ""


@dataclass(frozen=True)
class LookUp:
    """An operator that draws one of the texts that were made of a question beforehand.

    Args:
        lacking: Why a text has none.
    """

    made: Mapping[str, Sequence[str]]
    lacking: str = "no rewriting of it was worth keeping"

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        texts = self.made.get(problem.text)
        if not texts:
            raise NotApplicable("the file does not have it" if texts is None else self.lacking)
        return texts[int(rng.integers(len(texts)))]


class Rewrites:
    """What a file holds.

    Raises:
        BankError: A line is wrong; names file, line and field.
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
        """Return what draws a rewriting of a question by one of MODEL_OPERATORS; None if the file has none by it."""
        made = self._made.get(name, {})
        return LookUp(made) if any(made.values()) else None

    def is_stand_in(self, name: str) -> bool:
        """Return True if a stand-in made some of what the file has of an operator."""
        return name in self._stand_ins

    def count(self, name: str, texts: Iterable[str]) -> int:
        """Count the ``texts`` of which an operator has rewritings."""
        made = self._made.get(name, {})
        return sum(bool(made.get(text)) for text in texts)


def _rows(path: Path, faults: list[Fault]) -> Iterator[tuple[int, Rewritten]]:
    """Yield line number and row of each line; what is wrong is added to ``faults``."""
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
        faults: list[Fault] = []
        for line, row in _rows(self.path, faults):
            if row.operator != self.operator:
                continue
            self.done.add(row.text)
            if row.made_by != self.made_by:
                message = f"{self.operator} by other models or settings; the same ones go on, others need another file"
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
        """Add texts, each with its rewritings, best first; those that are done are left out.

        Raises:
            OSError: The disk is full, say.
        """
        with self.path.open("a", encoding="utf-8") as stream:
            for text, candidates in rewrites:
                if text not in self.done:
                    row = Rewritten(text, self.operator, tuple(candidates), self.stand_in, self.made_by)
                    stream.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
                    self.done.add(text)
            stream.flush()
            os.fsync(stream.fileno())


def _is_json(line: bytes) -> bool:
    """Return True for a last line that is whole without an end, as editors leave it; an empty one is."""
    try:
        return not line.strip() or bool(json.loads(line))
    except (ValueError, RecursionError):
        return False
