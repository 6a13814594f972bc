"""The formats that can be imported, and the detection of a source's format."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.job import Format
from tqnet.importers.source import Source, SourceError

#: Name -> the module of this folder with ``read_NAME``, imported when it is needed.
FORMATS = {
    **dict.fromkeys(("csv", "xlsx", "parquet"), "spreadsheets"),
    "moodle": "moodle",
    "qti": "qti",
    **dict.fromkeys(("math23k", "mathqa", "mawps", "aqua", "gsm8k"), "word_problem_sets"),
    **dict.fromkeys(("math", "geometry3k", "scienceqa"), "figure_sets"),
}

_BY_ENDING = {".csv": "csv", ".tsv": "csv", ".xlsx": "xlsx", ".xlsm": "xlsx", ".parquet": "parquet"}
_QTI = ("assessmentItem", "qti-assessment-item", "manifest", "assessmentTest", "qti-assessment-test")
_BY_ROOT = {"quiz": "moodle"} | dict.fromkeys(_QTI, "qti")
#: Keys of a record -> its data set, the more specific first.
_BY_KEYS = (
    ({"Problem", "options", "correct"}, "mathqa"),
    ({"question", "options", "correct"}, "aqua"),
    ({"Question", "Numbers", "Equation"}, "mawps"),
    ({"Body", "Question", "Equation"}, "mawps"),
    ({"segmented_text", "equation"}, "math23k"),
    ({"original_text", "equation"}, "math23k"),
    ({"problem", "level", "solution"}, "math"),
    ({"problem_text", "choices"}, "geometry3k"),
    ({"question", "choices", "answer"}, "scienceqa"),
    ({"question", "answer"}, "gsm8k"),
)


def reader(name: str) -> Format:
    """Return the function that reads the format ``name``.

    Raises:
        ValueError: There is no such format.
    """
    if name not in FORMATS:
        raise ValueError(f"format: {name!r} is none of {', '.join(FORMATS)}")
    read: Format = getattr(import_module(f"tqnet.importers.{FORMATS[name]}"), f"read_{name}")
    return read


def detect(source: Source) -> str:
    """Detect the format of ``source`` from the names of its files, or from the head of the first known one.

    Raises:
        ValueError: Nothing tells it.
    """
    names = {PurePosixPath(name).name for name in source.names}
    if "imsmanifest.xml" in names:
        return "qti"
    if "problems.json" in names:
        return "scienceqa"
    if "data.json" in names:
        return "geometry3k"
    for name in source.names:
        if format := _BY_ENDING.get(PurePosixPath(name).suffix.lower()):
            return format
    for name in source.names:
        if format := _by_content(source, name):
            return format
    raise ValueError(f"{source.path}: cannot tell its format; name it by --format")


def _by_content(source: Source, name: str) -> str | None:
    ending = PurePosixPath(name).suffix.lower()
    if ending not in (".xml", ".json", ".jsonl"):
        return None
    try:
        head = source.head(name)
    except SourceError:
        return None
    if ending == ".xml":
        from tqnet.importers.safe_xml import root_name

        return _BY_ROOT.get(root_name(head))
    record = _first_record(head.decode("utf-8-sig", errors="replace"))
    if {"id", "stem"} <= record.keys():
        raise ValueError(f"{source.path}: a bank already; tqnet check reads it as it is")
    return next((name for keys, name in _BY_KEYS if keys <= record.keys()), None)


def _first_record(text: str) -> dict[str, Any]:
    """Return the first object of JSON: alone, in a list, or under an id; empty if there is none."""
    record, start = {}, -1
    for _ in range(2):  # the second, where the head of an object of objects is cut off
        start = text.find("{", start + 1)
        with suppress(ValueError, RecursionError):
            record, _ = json.JSONDecoder().raw_decode(text, start)
            break
    if isinstance(record, dict) and record and all(isinstance(value, dict) for value in record.values()):
        record = next(iter(record.values()))
    return record if isinstance(record, dict) else {}
