"""Excel workbooks (.xlsx), the values of their cells."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqnet.questions.importers.columns import Row, drafts
from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.importers.source import MAX_MEMBER, check_zip

#: What a cell shows whose formula has failed.
_ERRORS = frozenset({"#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#N/A", "#NUM!", "#NULL!"})


def read(job: Job) -> Iterator[Draft]:
    """The rows of the first sheet, or of that which is asked for; its first row that is not empty is the header."""
    books = [name for name in job.source.names if name.lower().endswith((".xlsx", ".xlsm"))]
    for name in books or job.source.names[:1]:
        yield from _read_book(job, name)


def _read_book(job: Job, name: str) -> Iterator[Draft]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    file = job.source.file(name)
    has_pictures = _look_into(file)
    try:
        book = load_workbook(file, read_only=True, data_only=True)
    except (InvalidFileException, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file}: not a workbook that can be read: {error}") from None
    try:
        if job.settings.sheet is not None and job.settings.sheet not in book.sheetnames:
            names = ", ".join(map(repr, book.sheetnames))
            raise ValueError(f"{file}: --sheet: no sheet {job.settings.sheet!r}; there are {names}")
        sheet = book[job.settings.sheet or book.sheetnames[0]]
        if has_pictures:
            job.fault(job.place(name), "images", "pictures within the workbook are not read; name files in a column")
        rows = enumerate(sheet.iter_rows(values_only=True), 1)
        header = next(([_title(cell) for cell in row] for _, row in rows if any(cell is not None for cell in row)), [])
        yield from drafts(job, header, _rows(job, name, rows, header), name)
    finally:
        book.close()


def _look_into(file: Path) -> bool:
    """Whether there are pictures in it.

    Raises:
        ValueError: It is no workbook, or one made to do harm: bombs, and document types, which Excel never writes.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            check_zip(archive, file)
            for part in archive.infolist():
                if part.filename.endswith((".xml", ".rels")):
                    with archive.open(part) as stream:
                        head = stream.read(min(part.file_size, MAX_MEMBER)).replace(b"\0", b"")
                    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                        raise ValueError(f"{file}: {part.filename} declares a document type, which is not read")
            return any(name.startswith("xl/media/") for name in archive.namelist())
    except zipfile.BadZipFile as error:
        raise ValueError(f"{file}: not a workbook that can be read: {error}") from None


def _rows(job: Job, name: str, rows: Iterator[tuple[int, tuple[Any, ...]]], header: list[str]) -> Iterator[Row]:
    for number, cells in rows:
        place = job.place(name, number)
        values = dict(zip(header, cells, strict=False))
        for column, cell in values.items():
            if isinstance(cell, str) and cell in _ERRORS:
                job.fault(place, column or "record", f"a formula that failed: {cell}")
        yield place, {column: None if cell in _ERRORS else cell for column, cell in values.items()}


def _title(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
