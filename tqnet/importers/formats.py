"""The formats that can be imported, and which of them a source is in."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.job import Format
from tqnet.importers.source import Source, SourceError

#: Name -> the module of this folder with ``read_NAME``, imported when it is needed.
FORMATS = {
    "csv": "spreadsheets",
    "xlsx": "spreadsheets",
    "parquet": "spreadsheets",
    "moodle": "moodle",
    "qti": "qti",
    "math23k": "word_problem_sets",
    "mathqa": "word_problem_sets",
    "mawps": "word_problem_sets",
    "aqua": "word_problem_sets",
    "gsm8k": "word_problem_sets",
    "math": "figure_sets",
    "geometry3k": "figure_sets",
    "scienceqa": "figure_sets",
}

_BY_ENDING = {".csv": "csv", ".tsv": "csv", ".xlsx": "xlsx", ".xlsm": "xlsx", ".parquet": "parquet"}
_BY_ROOT = {
    "quiz": "moodle",
    "assessmentItem": "qti",
    "qti-assessment-item": "qti",
    "manifest": "qti",
    "assessmentTest": "qti",
    "qti-assessment-test": "qti",
}
#: Keys of one record that tell a data set, the more special first.
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
    """The function that reads the format ``name``.

    Raises:
        ValueError: There is none of this name.
    """
    if name not in FORMATS:
        raise ValueError(f"format: {name!r} is none of {', '.join(FORMATS)}")
    read: Format = getattr(import_module(f"tqnet.importers.{FORMATS[name]}"), f"read_{name}")
    return read


def detect(source: Source) -> str:
    """The format of ``source``, by the names of its files and by what the first that tells begins with.

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
        if found := _BY_ENDING.get(PurePosixPath(name).suffix.lower()):
            return found
    for name in source.names:
        if found := _by_content(source, name):
            return found
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
    return next((found for keys, found in _BY_KEYS if keys <= record.keys()), None)


def _first_record(text: str) -> dict[str, Any]:
    """The first object of JSON: alone, in a list, or under an id; empty where there is none."""
    start = text.find("{")
    try:
        record, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        inner = text.find("{", start + 1)  # the head of an object of objects, cut off
        try:
            record, _ = json.JSONDecoder().raw_decode(text, inner)
        except (ValueError, RecursionError):
            return {}
    if isinstance(record, dict) and record and all(isinstance(value, dict) for value in record.values()):
        record = next(iter(record.values()))
    return record if isinstance(record, dict) else {}
