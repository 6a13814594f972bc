"""Questions and their paraphrases from a file: labelled or not, or with generated positives and negatives."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqnet.questions import reading as fields
from tqnet.questions.question import BankError, FieldError

#: "positive1", "negative2", "neg_3": fields of a question with the output of operators.
_MADE = re.compile(r"(?P<kind>positive|negative|pos|neg)_?\d*")
#: As JSON and CSV have them.
_LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


@dataclass(frozen=True, slots=True)
class ParaphrasePair:
    """A question and a text that may or may not ask the same.

    Attributes:
        label: 1 if it does, 0 if not; None if unlabelled.
        id: The file's, or else the line.
        kind: How the question was changed, "lost number"; empty where the file does not say.
    """

    original: str
    paraphrase: str
    label: int | None
    id: str
    kind: str = ""


def read_paraphrase_pairs(path: str | os.PathLike[str]) -> list[ParaphrasePair]:
    """Read the pairs of a file in order.

    Args:
        path: A ``.csv`` file with the columns ``original`` and ``paraphrase``, and ``label`` (1, 0 or empty), ``id``
            and ``kind`` if it has them; or a ``.jsonl`` file of the same, or of ``question`` with any number of
            ``positive1``, ``positive2`` .. and ``negative1`` (or ``neg_1``) ... Of these, empty ones (the operator did
            not apply) and negatives equal to the question are skipped. Other fields are ignored.

    Raises:
        BankError: A missing or empty text, another label, a repeated id, or no pair at all; each fault with file, line
            and field.
        ValueError: Neither .csv nor .jsonl.
        OSError: The file is missing or cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    line_of: dict[str, int] = {}

    def read(record: dict[str, Any], line: int) -> list[ParaphrasePair]:
        pairs = _read(record, line)
        for pair in pairs:  # their ids differ by their fields
            if line_of.setdefault(pair.id, line) != line:
                raise FieldError("id", f"{pair.id!r:.80} is also the id of line {line_of[pair.id]}")
        return pairs

    pairs, faults = fields.read_records(path, read)
    if faults := faults + fields.no_pair(path, pairs, faults):
        raise BankError(faults)
    return pairs


def read_labelled_sets(files: Sequence[str | os.PathLike[str]]) -> dict[str, list[ParaphrasePair]]:
    """Read files of labelled pairs for evaluation: name of a file without its ending -> its pairs.

    Raises:
        ValueError: Two files of one name, pairs without a label, or only one label.
        BankError, OSError: As :func:`read_paraphrase_pairs`.
    """
    sets: dict[str, list[ParaphrasePair]] = {}
    for file in files:
        name, pairs = Path(file).stem, read_paraphrase_pairs(file)
        if name in sets:
            raise ValueError(f"{file}: a second file named {name}")
        unlabelled = [pair.id for pair in pairs if pair.label is None]
        if unlabelled:
            raise ValueError(f"{file}: pair {unlabelled[0]}: label: missing ({len(unlabelled):,} pairs without one)")
        if len({pair.label for pair in pairs}) < 2:
            raise ValueError(f"{file}: all pairs have the label {pairs[0].label}; needs valid and invalid pairs")
        sets[name] = pairs
    return sets


def _read(record: dict[str, Any], line: int) -> list[ParaphrasePair]:
    if None in record:  # csv's key for surplus cells
        raise FieldError("record", "more cells than columns")
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
