"""Questions with paraphrases of them, from a file: for scoring, or labelled as valid and invalid."""

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

#: Of a record with a question and what was made of it: "positive1", "negative2", "neg_2".
_COLUMN = re.compile(r"(?P<kind>positive|negative|pos|neg)_?\d*")
_LABELS = {0: 0, 1: 1, "0": 0, "1": 1}


@dataclass(frozen=True, slots=True)
class ParaphrasePair:
    """A question and what may be a paraphrase of it.

    Attributes:
        label: 1 where it asks the same, 0 where it does not, None where nobody has said.
        id: Of the file, or made of its line.
    """

    original: str
    paraphrase: str
    label: int | None
    id: str


def read_pairs(path: str | os.PathLike[str]) -> list[ParaphrasePair]:
    """The pairs of a file, in its order.

    Args:
        path: A ``.csv`` file with a header, or a ``.jsonl`` file, with ``original``, ``paraphrase`` and, as one likes,
            ``label`` (0 or 1) and ``id``. Or a ``.jsonl`` file with a ``question`` and what was made of it,
            ``positive1`` ... and ``negative1`` ... (``neg_1`` ...); of these, null and empty texts are passed over.

    Raises:
        BankError: Missing, empty or wrong fields, no pair at all; with file, line and field.
        FileNotFoundError: There is no such file.
        ValueError: Neither .csv nor .jsonl.
    """
    path = Path(path)
    if path.suffix not in (".csv", ".jsonl"):
        raise ValueError(f"{path}: pairs are read from .csv or .jsonl")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    pairs: list[ParaphrasePair] = []
    faults = []
    for line, record in _csv_records(path) if path.suffix == ".csv" else _jsonl_records(path):
        try:
            pairs += _read(record, line)
        except FieldError as error:
            faults.append(Fault(str(path), line, error.field, error.message))
    if not pairs and not faults:
        faults.append(Fault(str(path), 0, "record", "the file holds no pair"))
    if faults:
        raise BankError(faults)
    return pairs


def _read(record: Any, line: int) -> list[ParaphrasePair]:
    if isinstance(record, FieldError):
        raise record
    if not isinstance(record, dict):
        raise FieldError("record", f"expected an object, got {fields.kind(record)}")
    name = str(line) if record.get("id") in (None, "") else fields.identifier(record["id"], "id")
    if "original" not in record and "question" in record:
        return _of_question(record, name)
    original, paraphrase = (_text(record, field) for field in ("original", "paraphrase"))
    return [ParaphrasePair(original, paraphrase, _label(record.get("label")), name)]


def _of_question(record: dict[str, Any], name: str) -> list[ParaphrasePair]:
    question, pairs = _text(record, "question"), []
    for column, value in record.items():
        match = _COLUMN.fullmatch(column)
        if match and (text := fields.optional_text(value, column)) and text.strip():
            pairs.append(ParaphrasePair(question, text, int(match["kind"].startswith("pos")), f"{name}-{column}"))
    if not pairs:
        raise FieldError("positive1", "no positive and no negative of the question")
    return pairs


def _text(record: dict[str, Any], field: str) -> str:
    if record.get(field) is None:
        raise FieldError(field, "missing")
    return fields.filled_text(record[field], field)


def _label(value: Any) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool | list | dict) or value not in _LABELS:
        raise FieldError("label", f"expected 0 or 1, got {value!r:.80}")
    return _LABELS[value]


def _csv_records(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, record), or (line, why there is none)."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        try:
            for row in reader:
                yield reader.line_num, row
        except csv.Error as error:
            yield reader.line_num, FieldError("record", f"not valid CSV: {error}")
        except UnicodeDecodeError:  # somewhere in what is read at a time
            yield 0, FieldError("record", "not UTF-8")


def _jsonl_records(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, record), or (line, why there is none)."""
    with path.open("rb") as stream:
        for line, raw in enumerate(stream, 1):
            try:
                text = raw.decode("utf-8-sig" if line == 1 else "utf-8")
                if text.strip():
                    yield line, json.loads(text)
            except UnicodeDecodeError:
                yield line, FieldError("record", "not UTF-8")
            except (ValueError, RecursionError):
                yield line, FieldError("record", "not valid JSON")
