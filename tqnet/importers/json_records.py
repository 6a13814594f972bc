"""Records of data sets in JSON: a list, an object per line, or objects one after another; their options and drafts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.source import MAX_DOCUMENT, SourceError

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


def records(job: Job) -> Iterator[Record]:
    """Yield every object of the source's ``.json`` and ``.jsonl`` files; any other value is a fault."""
    for name in job.source.names:
        path = PurePosixPath(name)
        if path.suffix.lower() not in (".json", ".jsonl"):
            continue
        number = 0
        for place, value in values(job, name):
            if not isinstance(value, dict):
                job.leave_out(place, "record", "expected an object")
                continue
            number += 1
            yield Record(value, place, f"{path.stem}-{number}", name, split_of(name))


def values(job: Job, name: str) -> Iterator[tuple[Place, Any]]:
    """Yield the JSON values of one part of the source with their places; after a fault, go on with the next line."""
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
            job.leave_out(place, "record", f"not valid JSON: {reason}")
            after = _NEXT.search(text, getattr(error, "pos", position))
            position = after.end() if after else len(text)
            continue
        yield place, value


def document(job: Job, name: str) -> str:
    """Return the text of a part of the source; empty, with a fault, if it cannot be read."""
    try:
        return job.source.read(name, MAX_DOCUMENT).decode("utf-8-sig")
    except UnicodeDecodeError:
        job.leave_out(job.place(name), "record", "not UTF-8")
    except SourceError as error:
        job.leave_out(job.place(name), "record", str(error))
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


_LETTER = re.compile(r"\s*[(（]?([A-Za-z])\s*[.)）、:：．]\s*")


def without_letters(options: Sequence[str]) -> list[str]:
    """Return ``A) 3``, ``B) 4`` as ``3``, ``4``; options not lettered in order stay as they are."""
    matches = [_LETTER.match(option) for option in options]
    letters = "".join(match[1].upper() if match else " " for match in matches)
    if not options or letters != "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]:
        return list(options)
    return [option[match.end() :].strip() for option, match in zip(options, matches, strict=True) if match]


def split_options(text: str) -> list[str]:
    """Split ``a ) 38 , b ) 27.675 , c ) none`` into three options; one option if no letters stand in order."""
    starts: list[re.Match[str]] = []
    for match in re.finditer(r"(?:^|(?<=[\s,;|\['\"]))[(（]?([A-Za-z])\s?[.)）、．]\s*", text):
        if match[1].upper() == chr(ord("A") + len(starts)):
            starts.append(match)
    ends = [match.start() for match in starts[1:]] + [len(text)]
    pieces = [text[start.end() : end] for start, end in zip(starts, ends, strict=False)]
    return [piece.strip(" \t\n,;|'\"]") for piece in pieces] or [text.strip()]
