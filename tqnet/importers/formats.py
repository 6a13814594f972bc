"""The import of a source as a bank: its format, detected or given, and the bank, written whole or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from tqdm import tqdm

from tqnet.files import atomic_folder
from tqnet.importers.job import Draft, FigureFolder, Format, Job, Settings
from tqnet.importers.source import Source, SourceError, ZipSource, open_source
from tqnet.questions.question import BankError, Fault, Question
from tqnet.questions.reading import read_fields, write_question
from tqnet.text.plain import protect

#: Name -> the module of this folder with ``read_NAME``, imported when it is needed.
FORMATS = {
    **dict.fromkeys(("csv", "xlsx", "parquet"), "spreadsheets"),
    "moodle": "moodle",
    "qti": "qti",
    **dict.fromkeys(("math23k", "mathqa", "mawps", "aqua", "gsm8k", "math", "geometry3k", "scienceqa"), "data_sets"),
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
#: Without these fields there is no question.
_NEEDED = frozenset({"id", "stem", "options", "record"})


@dataclass(frozen=True)
class Imported:
    """The result of an import: numbers of questions and of records left out, all faults, and the format."""

    questions: int
    left_out: int
    faults: tuple[Fault, ...]
    format: str


def import_bank(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    format: str = "auto",
    settings: Settings | None = None,
    on_error: Literal["skip", "stop"] = "skip",
    replace: bool = False,
) -> Imported:
    """Make the bank ``out``, a folder with ``questions.jsonl`` and ``images/``, from a source in another format.

    It is written under another name beside ``out`` and renamed when it is whole. A record whose id, stem or options
    cannot be read is left out; other unreadable fields are dropped.

    Args:
        source: A file, folder or zip.
        format: One of `tqnet.importers.formats.FORMATS`, or ``auto`` to detect it.
        on_error: ``stop`` writes nothing if there is a fault; ``skip`` writes whatever can be read.
        replace: Replace an existing bank.

    Raises:
        FileNotFoundError: No such source.
        FileExistsError: ``out`` is no bank, or one that may not be replaced.
        ValueError: The format is unknown, or a setting does not fit it.
        BankError: Faults, with ``stop``; or no question at all.
    """
    parts = open_source(Path(source))
    name = detect(parts) if format == "auto" else format
    read = reader(name)
    _check_target(Path(out), replace)
    with atomic_folder(Path(out).absolute()) as folder:
        job = Job(parts, FigureFolder(folder), settings or Settings())
        if isinstance(parts, ZipSource):
            for refused in parts.refused:
                job.fault(job.place(refused), "record", "leads outside of the zip; not read")
        count = 0
        with (folder / "questions.jsonl").open("w", encoding="utf-8") as stream:
            for question in tqdm(_questions(job, read(job)), desc="import", unit="", disable=None):
                stream.write(json.dumps(write_question(question), ensure_ascii=False) + "\n")
                count += 1
        if not count:
            raise BankError(job.faults or [Fault(str(source), 0, "record", f"no question in this source ({name})")])
        if job.faults and on_error == "stop":
            raise BankError(job.faults)
    return Imported(count, job.left_out, tuple(job.faults), name)


def _questions(job: Job, drafts: Iterator[Draft]) -> Iterator[Question]:
    """Yield the drafts that are questions; missing ids are made, and none is used twice."""
    used: dict[str, str] = {}
    for number, draft in enumerate(drafts, 1):
        name = draft.record.get("id") or f"{job.source.path.stem}-{number}"
        question = _question(job, Draft(draft.record | {"id": name}, draft.place))
        if question is None:
            continue
        at = f"{draft.place.file}:{draft.place.line}" if draft.place.line else draft.place.file
        if question.id in used:
            job.leave_out(draft.place, "id", f"{question.id!r:.80} is already used at {used[question.id]}")
            continue
        used[question.id] = at
        yield question


def _question(job: Job, draft: Draft) -> Question | None:
    """Return the question of a draft without unreadable fields; None if it cannot be one."""
    fixed = dict(job.settings.fixed)
    given = {name: value for name, value in (draft.record | fixed).items() if value is not None}
    extras = {name: value for name, value in given.get("extras", {}).items() if name not in fixed}
    record = _protected(given | {"extras": extras})
    values, errors = read_fields(record)
    if errors:
        for error in errors:
            job.fault(draft.place, error.field, error.message)
        bad = {re.split(r"[.\[]", error.field)[0] for error in errors}
        if not bad & _NEEDED:
            values, errors = read_fields({name: value for name, value in record.items() if name not in bad})
        if errors:
            job.left_out += 1
            return None
    return Question(**values)


def _protected(record: dict[str, Any]) -> dict[str, Any]:
    """Encode the plain texts of a record so that none of them is taken for HTML."""
    names = [name for name in ("stem", "answer", "analysis") if isinstance(record.get(name), str)]
    options = record.get("options", [])
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        return record
    texts = iter(protect([*(record[name] for name in names), *options]))
    return record | {name: next(texts) for name in names} | {"options": list(texts)}


def _check_target(out: Path, replace: bool) -> None:
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"--out: {out} is a file; a bank is a folder")
    if out.is_dir() and any(out.iterdir()):
        if not replace:
            raise FileExistsError(f"--out: {out} is there already; --replace it, or give another name")
        if not any((out / name).is_file() for name in ("questions.jsonl", "questions.parquet")):
            raise FileExistsError(f"--out: {out} is no bank, and is not replaced")


def reader(name: str) -> Format:
    """Return the function that reads the format ``name``; raise ValueError if there is none."""
    if name not in FORMATS:
        raise ValueError(f"format: {name!r} is none of {', '.join(FORMATS)}")
    read: Format = getattr(import_module(f"tqnet.importers.{FORMATS[name]}"), f"read_{name}")
    return read


def detect(source: Source) -> str:
    """Detect the format of ``source`` by file names or the head of the first known one, or raise ValueError."""
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
    record: Any = {}
    start = -1
    for _ in range(2):  # the second, where the head of an object of objects is cut off
        start = text.find("{", start + 1)
        with suppress(ValueError, RecursionError):
            record, _ = json.JSONDecoder().raw_decode(text, start)
            break
    if isinstance(record, dict) and record and all(isinstance(value, dict) for value in record.values()):
        record = next(iter(record.values()))
    return record if isinstance(record, dict) else {}
