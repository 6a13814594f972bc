"""The records of JSON as data sets publish it: a list, an object a line, or objects one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.job import Job, Place
from tqnet.importers.source import MAX_DOCUMENT, SourceError

#: What stands between two records.
_BETWEEN = re.compile(r"[\s,\[\]]*")
_NEXT = re.compile(r"\n\s*(?=\{)")

_SPLIT = re.compile(r"(?<![a-z])(?:(?P<train>train)|(?P<valid>dev|val)|(?P<test>test))(?:ing|id|idation|set)?(?![a-z])")


@dataclass(frozen=True)
class Record:
    """An object of a file.

    Attributes:
        name: ``train-12``: the file's stem and the record's number in it, from 1.
        file: Its part of the source.
        split: What the names of file and folders say it is of.
    """

    fields: dict[str, Any]
    place: Place
    name: str
    file: str
    split: str | None


def records(job: Job) -> Iterator[Record]:
    """Every object of the source's ``.json`` and ``.jsonl`` files; what is none is a fault."""
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
    """The JSON values of one part of the source, with their lines; after a fault it goes on with the next line."""
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
            said = error.msg if isinstance(error, json.JSONDecodeError) else "a number or a nesting beyond all measure"
            job.leave_out(place, "record", f"not valid JSON: {said}")
            after = _NEXT.search(text, getattr(error, "pos", position))
            position = after.end() if after else len(text)
            continue
        yield place, value


def document(job: Job, name: str) -> str:
    """The text of a part of the source; empty, and a fault, where it cannot be read."""
    try:
        return job.source.read(name, MAX_DOCUMENT).decode("utf-8-sig")
    except UnicodeDecodeError:
        job.leave_out(job.place(name), "record", "not UTF-8")
    except SourceError as error:
        job.leave_out(job.place(name), "record", str(error))
    return ""


def split_of(name: str) -> str | None:
    """The split that a path names: ``MATH/train/algebra/1.json``, ``mathqa/dev.json``."""
    found = _SPLIT.search(name.lower())
    return found.lastgroup if found else None


def word(value: Any) -> str | None:
    """A number or a text as text; None for whatever else, which is as if it were not there."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# Options that carry their letters, and answers that name them.


_LETTER = re.compile(r"\s*[(（]?([A-Za-z])\s*[.)）、:：．]\s*")


def without_letters(options: Sequence[str]) -> list[str]:
    """``A) 3``, ``B) 4`` as ``3``, ``4``; options that are not lettered in order stay as they are."""
    found = [_LETTER.match(option) for option in options]
    letters = "".join(match[1].upper() if match else " " for match in found)
    if not options or letters != "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]:
        return list(options)
    return [option[match.end() :].strip() for option, match in zip(options, found, strict=True) if match]


def in_one_text(text: str) -> list[str]:
    """``a ) 38 , b ) 27.675 , c ) none`` as its three options; a single one where no letters stand in order."""
    starts: list[re.Match[str]] = []
    for match in re.finditer(r"(?:^|(?<=[\s,;|\['\"]))[(（]?([A-Za-z])\s?[.)）、．]\s*", text):
        if match[1].upper() == chr(ord("A") + len(starts)):
            starts.append(match)
    ends = [match.start() for match in starts[1:]] + [len(text)]
    pieces = [text[start.end() : end] for start, end in zip(starts, ends, strict=False)]
    return [piece.strip(" \t\n,;|'\"]") for piece in pieces] or [text.strip()]
