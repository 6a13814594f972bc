"""The import of a source as a bank, written whole or not at all."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from tqnet.files import atomic_folder
from tqnet.importers.figures import FigureFolder
from tqnet.importers.formats import Contents, detect, reader
from tqnet.importers.job import Draft, Format, Job, Settings, distinct
from tqnet.importers.source import open_source
from tqnet.questions.question import BankError, Fault, Question
from tqnet.questions.reading import read_fields, write_question
from tqnet.text.lists import named_places
from tqnet.text.plain import protect

#: Without these fields there is no question.
_NEEDED = frozenset({"id", "stem", "options", "record"})


@dataclass(frozen=True)
class Imported:
    """The result of an import: numbers of questions and of records left out, some of them unread, faults and format."""

    questions: int
    left_out: int
    unread: int
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
        format: One of `tqnet.importers.formats.FORMATS`, whose files alone are read; ``auto`` detects that of each.
        on_error: ``stop`` writes nothing if there is a fault; ``skip`` writes whatever can be read.
        replace: Replace an existing bank.

    Raises:
        FileNotFoundError: No such source.
        FileExistsError: ``out`` is no bank, or one that may not be replaced.
        ValueError: The format is unknown, or a setting does not fit it.
        BankError: Faults, with ``stop``; or no question at all.
    """
    parts = open_source(Path(source))
    settings = settings or Settings()
    is_table = bool(settings.columns)
    contents = detect(parts, is_table=is_table) if format == "auto" else Contents([(format, parts.names)])
    readers = {name: reader(name) for name in contents.formats}
    name = ", ".join(readers)
    _check_target(Path(out), replace)
    with atomic_folder(Path(out).absolute()) as folder:
        job = Job(parts, FigureFolder(folder), settings)
        for refused in parts.refused:
            job.fault(job.place(refused), "record", "leads outside of the archive; not read")
        count = 0
        with (folder / "questions.jsonl").open("w", encoding="utf-8") as stream:
            drafts = _drafts(job, contents, readers)
            for question in tqdm(_questions(job, drafts), desc="import", unit="", disable=None):
                stream.write(json.dumps(write_question(question), ensure_ascii=False) + "\n")
                count += 1
        if not count:
            raise BankError(job.faults or [Fault(str(source), 0, "record", f"no question in this source ({name})")])
        if job.faults and on_error == "stop":
            raise BankError(job.faults)
    order = {file: number for number, file in enumerate(distinct(fault.file for fault in job.faults))}
    return Imported(
        count, job.left_out, job.unread, tuple(sorted(job.faults, key=lambda f: (order[f.file], f.line))), name
    )


def _drafts(job: Job, contents: Contents, readers: Mapping[str, Format]) -> Iterator[Draft]:
    """Yield the drafts of each document; of several, one that cannot be read costs itself."""
    whole = job.source
    for format, names in contents.documents:
        job.source = whole.only(names)
        try:
            yield from readers[format](job)
        except ValueError as error:
            if len(contents.documents) == 1:
                raise
            place = job.place(names[0])
            job.leave_unread(place, str(error).removeprefix(f"{place.file}: ").removeprefix(f"{whole.path}: "))
    job.source = whole
    for name in contents.unknown:
        job.leave_unread(job.place(name), "not read: of no known format")
    for name in contents.enclosed:
        job.fault(job.place(name), "record", "a file of a package, not read; import it by itself")


def _questions(job: Job, drafts: Iterator[Draft]) -> Iterator[Question]:
    """Yield the drafts that are questions; missing ids are made; of two that are equal, the second gets a number."""
    used: dict[str, str] = {}
    clashes: Counter[str] = Counter()
    for number, draft in enumerate(drafts, 1):
        name = draft.record.get("id") or f"{job.source.path.stem}-{number}"
        question = _question(job, Draft(draft.record | {"id": name}, draft.place))
        if question is None:
            continue
        at = f"{draft.place.file}:{draft.place.line}" if draft.place.line else draft.place.file
        if question.id in used:
            names = (f"{question.id}-{number}" for number in itertools.count(clashes[question.id] + 2))
            free = next(name for name in names if name not in used)
            clashes[question.id] += 1
            job.fault(
                draft.place, "id", f"{question.id!r:.80} is already used at {used[question.id]}; this is {free!r:.80}"
            )
            question = dataclasses.replace(question, id=free)
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
    question = Question(**values)
    if len(question.options) > 1 and question.answer and not _names_options(question):
        job.fault(draft.place, "answer", f"names no option: {question.answer!r:.80}")
    return question


#: Letters of options, their order or pairs of them, and items with their letters: "A, C", "B-A", "1-C, 2-A".
_NAMED = re.compile(r"(?:\d+-)?[A-Z]+(?:-[A-Z]+)*")


def _names_options(question: Question) -> bool:
    answer = question.answer or ""
    if not all(_NAMED.fullmatch(part.strip()) for part in answer.split(",")):
        return answer.strip() in question.options
    return bool(named_places(answer, len(question.options)))


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
            raise FileExistsError(f"--out: {out} already exists; --replace it, or choose another name")
        if not any((out / name).is_file() for name in ("questions.jsonl", "questions.parquet")):
            raise FileExistsError(f"--out: {out} is no bank, and is not replaced")
