"""JSON: a list, an object per line, or objects one after another; as rows of a table, and as records of data sets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.source import MAX_DOCUMENT, SourceError
from tqnet.importers.tables import Row, columns_by_name, drafts
from tqnet.questions.question import FieldError
from tqnet.questions.reading import jsonl_records

_BETWEEN = re.compile(r"[\s,\[\]]*")
_NEXT = re.compile(r"\n\s*(?=\{)")

_SPLIT = re.compile(r"(?<![a-z])(?:(?P<train>train)|(?P<valid>dev|val)|(?P<test>test))(?:ing|id|idation|set)?(?![a-z])")


@dataclass(frozen=True)
class Record:
    """An object of a file.

    Attributes:
        name: ``train-12``: the file's stem and the record's number in it, from 1.
        file: Its part of the source.
        split: The split that the names of file and folders say.
    """

    fields: dict[str, Any]
    place: Place
    name: str
    file: str
    split: str | None


def read_json(job: Job) -> Iterator[Draft]:
    """Yield the objects of each ``.json`` and ``.jsonl`` file as rows of a table, with their keys as columns."""
    for name in _files(job):
        yield from drafts(job, _rows(job, name), name)


def _rows(job: Job, name: str) -> Iterator[Row]:
    for place, value in values(job, name):
        records = listed(value)
        for number, record in enumerate(records, 1):
            at = place if len(records) == 1 else Place(f"{place.file}#{number}")
            if isinstance(record, dict):
                yield at, _flat(record)
            else:
                job.leave_out(at, "record", "expected an object")


def listed(value: Any) -> list[Any]:
    """Return the records in a value: of an object without a question, those in its only list, or under their ids."""
    if not isinstance(value, dict) or "stem" in columns_by_name(list(value)):
        return [value]
    lists = [item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)]
    if len(lists) == 1:
        return lists[0]
    if 2 * sum(isinstance(item, dict) for item in value.values()) > len(value):
        return [{"id": name} | item if isinstance(item, dict) else item for name, item in value.items()]
    return [value]


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Put the keys of an object that is the question beside those around it."""
    for name in columns_by_name(list(record)).get("stem", ()):
        if isinstance(record[name], dict):
            return {key: item for key, item in record.items() if key != name} | record[name]
    return record


def _files(job: Job) -> Iterator[str]:
    return (name for name in job.source.names if PurePosixPath(name).suffix.lower() in (".json", ".jsonl"))


def records(job: Job) -> Iterator[Record]:
    """Yield every object of the source's ``.json`` and ``.jsonl`` files; any other value is a fault."""
    for name in _files(job):
        number = 0
        for place, value in values(job, name):
            if not isinstance(value, dict):
                job.leave_out(place, "record", "expected an object")
                continue
            number += 1
            yield Record(value, place, f"{PurePosixPath(name).stem}-{number}", name, split_of(name))


def values(job: Job, name: str) -> Iterator[tuple[Place, Any]]:
    """Yield the JSON values of one part of the source with their places; after a fault, go on with the next line."""
    if name.lower().endswith(".jsonl") and (lines := _lines(job, name)) is not None:
        yield from lines
        return
    text = document(job, name)
    decoder = json.JSONDecoder()
    position = counted = 0
    line = 1
    while text and (position := _BETWEEN.match(text, position).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", counted, position)
        counted = position
        place = job.place(name, line)
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "a number or a nesting beyond all measure")
            job.leave_unread(place, f"not valid JSON: {reason}")
            after = _NEXT.search(text, getattr(error, "pos", position))
            position = after.end() if after else len(text)
            continue
        yield place, value


def _lines(job: Job, name: str) -> Iterator[tuple[Place, Any]] | None:
    """Yield a value per line in constant memory; return None if the file is not laid out like that, or in a zip."""
    try:
        lines = jsonl_records(job.source.file(name))
    except SourceError:
        return None
    first = next(lines, None)
    if first is None or isinstance(first[1], FieldError):
        return None

    def read() -> Iterator[tuple[Place, Any]]:
        for line, value in chain((first,), lines):
            if isinstance(value, FieldError):
                job.leave_unread(job.place(name, line), value.message)
            else:
                yield job.place(name, line), value

    return read()


def document(job: Job, name: str) -> str:
    """Return the text of a part of the source; empty, with a fault, if it cannot be read."""
    try:
        return job.source.read(name, MAX_DOCUMENT).decode("utf-8-sig")
    except UnicodeDecodeError:
        job.leave_unread(job.place(name), "not UTF-8")
    except SourceError as error:
        job.leave_unread(job.place(name), str(error))
    return ""


def split_of(name: str) -> str | None:
    """Return the split that a path names: ``MATH/train/algebra/1.json``, ``mathqa/dev.json``."""
    match = _SPLIT.search(name.lower())
    return match.lastgroup if match else None


def word(value: Any) -> str | None:
    """Return a non-empty text or a number as text; None for anything else."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def draft(record: Record, source: str, language: str = "en", **fields: Any) -> Draft:
    """Return the draft of a record of the data set ``source``; a missing id is made, empty extras are dropped."""
    fields["extras"] = {name: value for name, value in fields.get("extras", {}).items() if value}
    name = word(record.fields.get("id")) or record.name
    return Draft({"id": name, "language": language, "split": record.split, "source": source} | fields, record.place)
