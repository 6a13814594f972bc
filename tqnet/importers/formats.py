"""The formats of sources, and which of them a source has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.job import Format
from tqnet.importers.source import Source, SourceError

#: Name -> the module of this folder with ``read_NAME``, imported when it is needed.
FORMATS = {
    **dict.fromkeys(("csv", "xlsx", "parquet"), "spreadsheets"),
    "json": "json_records",
    "moodle": "moodle",
    "mbz": "moodle_backup",
    "qti": "qti",
    "docx": "docx",
    **dict.fromkeys(("gift", "aiken", "exam", "text", "pdf"), "texts"),
    **dict.fromkeys(("math23k", "mathqa", "mawps", "aqua", "gsm8k", "math", "geometry3k", "scienceqa"), "data_sets"),
}

_BY_ENDING = {
    ".csv": "csv",
    ".tsv": "csv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".parquet": "parquet",
    ".docx": "docx",
    ".pdf": "pdf",
    ".gift": "gift",
}
_QTI = ("assessmentItem", "qti-assessment-item", "manifest", "assessmentTest", "qti-assessment-test", "questestinterop")
_BY_ROOT = {"quiz": "moodle", "moodle_backup": "mbz", "question_categories": "mbz"} | dict.fromkeys(_QTI, "qti")
#: Records of JSON that tell a format.
_FIRST = 20


def reader(name: str) -> Format:
    """Return the function that reads the format ``name``; raise ValueError if there is none."""
    if name not in FORMATS:
        raise ValueError(f"format: {name!r} is none of {', '.join(FORMATS)}")
    read: Format = getattr(import_module(f"tqnet.importers.{FORMATS[name]}"), f"read_{name}")
    return read


def detect(source: Source, *, is_table: bool = False) -> str:
    """Detect the format of ``source`` by file names or the head of the first known one.

    Args:
        is_table: Its columns are given, so that JSON is no data set.

    Raises:
        ValueError: No format fits.
    """
    names = {PurePosixPath(name).name for name in source.names}
    if "imsmanifest.xml" in names:
        return "qti"
    for name in source.names:
        if format := _BY_ENDING.get(PurePosixPath(name).suffix.lower()):
            return format
    roots = (_root(source, name) for name in source.names if name.lower().endswith(".xml"))
    if format := next((_BY_ROOT[root] for root in roots if root in _BY_ROOT), None):
        return format
    from tqnet.importers.texts import looks_like

    texts = (looks_like(_head(source, name)) for name in source.names if name.lower().endswith((".txt", ".tex", ".md")))
    if format := next(filter(None, texts), None):
        return format
    records = list(islice(_json_records(source), _FIRST))
    if any({"id", "stem"} <= record.keys() for record in records):
        raise ValueError(f"{source.path}: a bank already; tqnet check reads it as it is")
    from tqnet.importers.data_sets import recognised

    data_sets = Counter(filter(None, map(recognised, records)))
    if data_sets and not is_table and 2 * max(data_sets.values()) >= len(records):
        return max(data_sets, key=data_sets.__getitem__)
    if records:
        return "json"
    raise ValueError(f"{source.path}: cannot tell its format; --format names one of {', '.join(FORMATS)}")


def _head(source: Source, name: str) -> str:
    try:
        return source.head(name).decode("utf-8-sig", errors="replace")
    except SourceError:
        return ""


def _root(source: Source, name: str) -> str:
    from tqnet.importers.safe_xml import root_name

    try:
        return root_name(source.head(name))
    except SourceError:
        return ""


def _json_records(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the first objects of each JSON file."""
    for name in source.names:
        if name.lower().endswith((".json", ".jsonl")):
            with suppress(SourceError):
                yield from _first_records(source.head(name).decode("utf-8-sig", errors="replace"))


def _first_records(text: str) -> list[dict[str, Any]]:
    """Return the first objects of JSON: alone, in a list, one after another, or within another object."""
    from tqnet.importers.json_records import listed

    records: list[dict[str, Any]] = []
    decoder, start = json.JSONDecoder(), text.find("{")
    is_cut = False
    while start >= 0 and len(records) < _FIRST:
        try:
            record, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            if records or is_cut:
                break
            start, is_cut = text.find("{", start + 1), True  # within an object that is longer than this text
            continue
        records += (item for item in listed(record)[:_FIRST] if isinstance(item, dict))
        start = text.find("{", end)
    return records
