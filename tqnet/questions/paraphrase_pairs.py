"""Questions and their paraphrases from a file: labelled or not, or with the positives and negatives that were made."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqnet.questions import reading as fields
from tqnet.questions.question import BankError, Fault, FieldError

#: "positive1", "negative2", "neg_3": fields of a question with what operators have made of it.
_MADE = re.compile(r"(?P<kind>positive|negative|pos|neg)_?\d*")
#: As JSON and CSV have them.
_LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


@dataclass(frozen=True, slots=True)
class ParaphrasePair:
    """A question and a text that may or may not ask the same.

    Attributes:
        label: 1 where it does, 0 where it does not; None where nobody has said.
        id: The file's, or else made of the line.
        kind: What was done to the question, "lost number"; empty where the file does not say.
    """

    original: str
    paraphrase: str
    label: int | None
    id: str
    kind: str = ""


def read_pairs(path: str | os.PathLike[str]) -> list[ParaphrasePair]:
    """Pairs in the order of the file.

    Args:
        path: A ``.csv`` file with the columns ``original`` and ``paraphrase``, and ``label`` (1, 0 or empty), ``id``
            and ``kind`` if it has them; or a ``.jsonl`` file of the same, or of ``question`` with any number of
            ``positive1``, ``positive2`` .. and ``negative1`` (or ``neg_1``) ... Of these, an empty one is left out: its
            operator did not apply; and so is a negative that is the question itself. Other fields are left alone.

    Raises:
        BankError: A text that is missing or empty, another label, an id that comes twice, no pair at all; each fault
            with file, line and field.
        ValueError: Neither .csv nor .jsonl.
        OSError: It is not there, or cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    pairs: list[ParaphrasePair] = []
    faults: list[Fault] = []
    line_of: dict[str, int] = {}
    for line, record in _records(path):
        try:
            found = _read(record, line)
            for pair in found:  # of one line they differ by their fields
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


def read_labelled_sets(files: Sequence[str | os.PathLike[str]]) -> dict[str, list[ParaphrasePair]]:
    """Name of a file, without its ending -> its pairs, to be measured on.

    Raises:
        ValueError: Two files of one name, pairs without a label, or none of a label.
        BankError, OSError: As :func:`read_pairs`.
    """
    sets: dict[str, list[ParaphrasePair]] = {}
    for file in files:
        name, pairs = Path(file).stem, read_pairs(file)
        if name in sets:
            raise ValueError(f"{file}: a second file of the name {name}")
        unlabelled = [pair.id for pair in pairs if pair.label is None]
        if unlabelled:
            raise ValueError(f"{file}: pair {unlabelled[0]}: label: missing ({len(unlabelled):,} pairs without one)")
        if len({pair.label for pair in pairs}) < 2:
            raise ValueError(f"{file}: all pairs have the label {pairs[0].label}; valid and invalid ones are needed")
        sets[name] = pairs
    return sets


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, record), or (line, why there is none)."""
    if path.suffix == ".csv":
        return _csv_records(path)
    if path.suffix == ".jsonl":
        return _jsonl_records(path)
    raise ValueError(f"{path}: pairs are read from .csv or .jsonl")


def _csv_records(path: Path) -> Iterator[tuple[int, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        try:
            for row in reader:
                more = None in row  # under no name: csv's way to say so
                yield reader.line_num, FieldError("record", "more cells than columns") if more else row
        except csv.Error as error:
            yield reader.line_num, FieldError("record", f"not valid CSV: {error}")
        except UnicodeDecodeError:  # somewhere in what is read at a time
            yield 0, FieldError("record", "not UTF-8")


def _jsonl_records(path: Path) -> Iterator[tuple[int, Any]]:
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


def _read(record: Any, line: int) -> list[ParaphrasePair]:
    if isinstance(record, FieldError):
        raise record
    if not isinstance(record, dict):
        raise FieldError("record", f"expected an object, got {fields.kind(record)}")
    name = str(line) if record.get("id") in (None, "") else fields.identifier(record["id"], "id")
    if "question" in record and "original" not in record:
        return _made(record, name)
    original, paraphrase = (_text(record, field) for field in ("original", "paraphrase"))
    kind = fields.optional_text(record.get("kind"), "kind") or ""
    return [ParaphrasePair(original, paraphrase, _label(record.get("label")), name, kind.strip())]


def _made(record: dict[str, Any], name: str) -> list[ParaphrasePair]:
    question = _text(record, "question")
    pairs = []
    for field, value in record.items():
        if not (made := _MADE.fullmatch(field)) or value is None:
            continue
        label = int(made["kind"].startswith("pos"))
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
    if value is None or value == "":
        return None
    written = str(value).strip().lower()
    if isinstance(value, str | int) and written in _LABELS:
        return _LABELS[written]
    raise FieldError("label", f"expected 0 or 1, got {value!r:.80}")
