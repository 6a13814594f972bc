"""Questions and their paraphrases from a file: labelled or not, or with the positives and negatives that were made."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqnet.questions import fields
from tqnet.questions.faults import BankError, Fault
from tqnet.questions.question import FieldError

#: "positive1", "negative2", "neg_3": fields of a question with what operators have made of it.
_MADE = re.compile(r"(?P<kind>pos|neg)(?:itive|ative)?_?\d+")


@dataclass(frozen=True, slots=True)
class ParaphrasePair:
    """A question and a text that may or may not ask the same.

    Attributes:
        label: 1 where it does, 0 where it does not; None where nobody has said.
        id: The file's, or else made of the line.
    """

    original: str
    paraphrase: str
    label: int | None
    id: str


def read_pairs(path: str | os.PathLike[str]) -> list[ParaphrasePair]:
    """Pairs in the order of the file.

    Args:
        path: A ``.csv`` file with the columns ``original`` and ``paraphrase``, and ``label`` (1, 0 or empty) and ``id``
            if it has them; or a ``.jsonl`` file of the same, or of ``question`` with any number of ``positive1``,
            ``positive2`` .. and ``negative1`` (or ``neg_1``) ... Of these, an empty one is left out: its operator did
            not apply; and so is a negative that is the question itself. Other fields are left alone.

    Raises:
        BankError: A text that is missing or empty, another label, an id that comes twice, no pair at all; each fault
            with file, line and field.
        ValueError: Neither .csv nor .jsonl.
        OSError: It cannot be read.
    """
    path = Path(path)
    pairs: list[ParaphrasePair] = []
    faults: list[Fault] = []
    line_of: dict[str, int] = {}
    for line, record in _records(path):
        try:
            found = _read(record, line)
            for pair in found:
                if line_of.setdefault(pair.id, line) != line:
                    raise FieldError("id", f"{pair.id!r:.80} is that of line {line_of[pair.id]}")
            pairs += found
        except FieldError as error:
            faults.append(Fault(str(path), line, error.field, error.message))
    if not pairs and not faults:
        faults.append(Fault(str(path), 0, "record", "the file holds no pair"))
    if faults:
        raise BankError(faults)
    return pairs


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, record, or None where it is no JSON)."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            for row in reader:
                yield reader.line_num, row | {"label": _number(row.get("label"))}
    elif path.suffix == ".jsonl":
        with path.open(encoding="utf-8-sig") as stream:
            for line, text in enumerate(stream, 1):
                if text.strip():
                    yield line, _decode(text)
    else:
        raise ValueError(f"{path}: paraphrases are read from .csv or .jsonl")


def _number(cell: str | None) -> int | str | None:
    """A label's cell as JSON would have it; text that is none stays text, for the message."""
    return {"0": 0, "1": 1}.get(cell.strip(), cell) if cell and cell.strip() else None


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read(record: Any, line: int) -> list[ParaphrasePair]:
    if not isinstance(record, dict):
        raise FieldError("record", "expected a JSON object")
    name = str(line) if record.get("id") is None else fields.identifier(record["id"], "id")
    if "question" in record and "original" not in record:
        return _made(record, name)
    original, paraphrase = (_text(record, field) for field in ("original", "paraphrase"))
    return [ParaphrasePair(original, paraphrase, _label(record.get("label")), name)]


def _made(record: dict[str, Any], name: str) -> list[ParaphrasePair]:
    question = _text(record, "question")
    pairs = []
    for field, value in record.items():
        if not (made := _MADE.fullmatch(field)) or value is None:
            continue
        label = int(made["kind"] == "pos")
        text = fields.text(value, field)
        if text.strip() and (label or text != question):
            pairs.append(ParaphrasePair(question, text, label, f"{name}-{field}"))
    if not pairs:
        raise FieldError("record", "neither a positive1 .. nor a negative1 .. that differs from the question")
    return pairs


def _text(record: dict[str, Any], field: str) -> str:
    if record.get(field) is None:
        raise FieldError(field, "missing")
    return fields.filled_text(record[field], field)


def _label(value: Any) -> int | None:
    if value is None or (isinstance(value, int | float) and value in (0, 1)):  # true and false too
        return None if value is None else int(value)
    raise FieldError("label", f"expected 1, 0 or nothing, got {value!r:.80}")
