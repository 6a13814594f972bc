"""The formats of sources, and which of them a source has."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.encodings import EncodingError, encoding_marked, encoding_of
from tqnet.importers.job import Format, distinct
from tqnet.importers.source import Source, SourceError

#: Name -> the module of this folder with ``read_NAME``, imported when it is needed.
FORMATS = {
    **dict.fromkeys(("csv", "xlsx", "parquet"), "spreadsheets"),
    "json": "json_records",
    "moodle": "moodle",
    "mbz": "moodle_backup",
    "qti": "qti",
    "docx": "docx",
    **dict.fromkeys(("aiken", "text"), "texts"),
    "gift": "gift",
    "exam": "exam",
    "pdf": "pdf",
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
#: Records of JSON that tell a format, and objects around them that may be cut.
_FIRST, _TRIES = 20, 5


def reader(name: str) -> Format:
    """Return the function that reads the format ``name``; raise ValueError if there is none."""
    if name not in FORMATS:
        raise ValueError(f"format: {name!r} is not one of {', '.join(FORMATS)}")
    read: Format = getattr(import_module(f"tqnet.importers.{FORMATS[name]}"), f"read_{name}")
    return read


#: Files that hold no question of their own: figures, sound, fonts, styles, hidden files, those that explain others.
_COMPANIONS = re.compile(
    r"(?:.*/)?(?:\..*|thumbs\.db|desktop\.ini|(?:readme|licen[cs]e|copying|notice|authors|citation|changelog)[^/]*"
    r"|pid_splits\.json|captions\.json|logic_form\.json|imsmanifest\.xml"
    r"|[^/]*\.(?:png|jpe?g|gif|bmp|webp|tiff?|svg|emf|wmf|ico|mp[34]|m4a|ogg|wav|webm|css|js|xsd|dtd|ttf|woff2?|sty|cls|bib))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Contents:
    """What a source holds.

    Attributes:
        documents: Format and files of each document, or of a package as a whole.
        unknown: Files of no known format.
        enclosed: Documents that are files of a package.
    """

    documents: list[tuple[str, list[str]]]
    unknown: Sequence[str] = ()
    enclosed: Sequence[str] = ()

    @property
    def formats(self) -> list[str]:
        return distinct(format for format, _ in self.documents)


def detect(source: Source, *, is_table: bool = False) -> Contents:
    """Detect the format of each file of ``source`` by its name and head.

    Args:
        is_table: Its columns are given, so that JSON is no data set.

    Raises:
        ValueError: No format fits any file, or it is a bank already.
    """
    formats: dict[str, str | None] = {}
    shapes: dict[str, frozenset[str]] = {}
    packages = _packages(source)
    for name in source.names:
        if len(source.names) > 1 and _COMPANIONS.fullmatch(name):
            continue
        if name.startswith(tuple(packages)):
            continue
        suffix = PurePosixPath(name).suffix.lower()
        if suffix in (".json", ".jsonl"):
            formats[name], shapes[name] = _json_format(source, name, is_table)
        elif suffix == ".xml":
            formats[name] = _BY_ROOT.get(root_of(source, name))
        elif suffix in (".txt", ".tex", ".md"):
            formats[name] = _text_format(source, name)
        else:
            formats[name] = _BY_ENDING.get(suffix)
    # Of a folder with a file per problem, one without the mark of its data set has the same keys as the others.
    alike = {shapes[name]: format for name, format in formats.items() if name in shapes and format != "json"}
    formats |= {name: alike[shape] for name, shape in shapes.items() if formats[name] == "json" and shape in alike}
    documents = [*packages.values(), *((format, [name]) for name, format in formats.items() if format)]
    if not documents:
        raise ValueError(f"{source.path}: cannot tell its format; --format names one of {', '.join(FORMATS)}")
    packed = [name for _, names in packages.values() for name in names]
    return Contents(
        documents,
        unknown=[name for name, format in formats.items() if not format],
        enclosed=[name for name in packed if PurePosixPath(name).suffix.lower() in _BY_ENDING],
    )


def _packages(source: Source) -> dict[str, tuple[str, list[str]]]:
    """Return folder -> format and files, of packages of QTI and of backups of Moodle; "" is the source itself."""
    packages: dict[str, tuple[str, list[str]]] = {}
    for name in source.names:
        path = PurePosixPath(name)
        folder = "" if str(path.parent) == "." else f"{path.parent}/"
        if path.name == "imsmanifest.xml":
            packages[folder] = ("qti", [])
        elif path.name in ("moodle_backup.xml", "questions.xml") and _BY_ROOT.get(root_of(source, name)) == "mbz":
            packages[folder] = ("mbz", [])
    inner = {folder for folder in packages for other in packages if folder != other and folder.startswith(other)}
    return {
        folder: (format, [name for name in source.names if name.startswith(folder)])
        for folder, (format, _) in packages.items()
        if folder not in inner
    }


def _head(source: Source, name: str, encoding: str | None = None) -> str:
    try:
        head = source.head(name)
    except SourceError:
        return ""
    return head.decode(encoding or encoding_marked(head) or "utf-8", errors="replace")


def root_of(source: Source, name: str) -> str:
    """Return the name of the first element of a file; empty if it is no XML."""
    from tqnet.importers.safe_xml import root_name

    try:
        return root_name(source.head(name))
    except SourceError:
        return ""


def _text_format(source: Source, name: str) -> str | None:
    from tqnet.importers.texts import looks_like

    try:
        encoding = encoding_of(source.file(name))
    except (SourceError, EncodingError):
        encoding = None
    return looks_like(_head(source, name, encoding))


def _json_format(source: Source, name: str, is_table: bool) -> tuple[str, frozenset[str]]:
    """Return the format of a JSON file, and the keys of its first object; even if it is broken, to say where."""
    from tqnet.importers.data_sets import recognised

    records = _first_records(_head(source, name))
    if any({"id", "stem"} <= record.keys() for record in records):
        raise ValueError(f"{source.shown(name)}: a bank already; tqnet check reads it as it is")
    keys = {key: None for record in records for key in record}
    data_sets = Counter(filter(None, (recognised(keys | record) for record in records)))
    format = "json"
    if data_sets and not is_table and 2 * max(data_sets.values()) >= len(records):
        format = max(data_sets, key=data_sets.__getitem__)
    return format, frozenset(records[0]) if records else frozenset()


def _first_records(text: str) -> list[dict[str, Any]]:
    """Return the first objects of JSON: alone, in a list, one after another, or within another object."""
    from tqnet.importers.json_records import listed

    records: list[dict[str, Any]] = []
    decoder, start = json.JSONDecoder(), text.find("{")
    tries = 0
    while start >= 0 and len(records) < _FIRST:
        try:
            record, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            if records or tries == _TRIES:
                break
            start, tries = text.find("{", start + 1), tries + 1  # within an object that is longer than this text
            continue
        records += (item for item in listed(record)[:_FIRST] if isinstance(item, dict))
        start = text.find("{", end)
    return records
