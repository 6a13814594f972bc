"""CSV and other tables in plain text, in the encodings that spreadsheets write."""

from __future__ import annotations

import codecs
import csv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from tqnet.importers.job import Draft, Job
from tqnet.importers.source import MAX_MEMBER, check_zip
from tqnet.importers.tables import Row, drafts
from tqnet.questions.table import BATCH

#: First bytes -> encoding.
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DELIMITERS = ",;\t|"
_BLOCK = 2**20
#: Of the characters of a Chinese text in GB18030, at least as many are in GB2312; of Latin-1 read as GB18030, few are.
_COMMON = 0.9


class EncodingError(ValueError):
    """A text in an encoding that nothing tells."""


def read_csv(job: Job) -> Iterator[Draft]:
    """The rows of each ``.csv`` and ``.tsv`` file, or of a single file of another ending."""
    tables = [name for name in job.source.names if name.lower().endswith((".csv", ".tsv"))]
    for name in tables or job.source.names[:1]:
        yield from _read_table(job, name)


def _read_table(job: Job, name: str) -> Iterator[Draft]:
    file = job.source.file(name)
    encoding = job.settings.encoding or encoding_of(file)
    try:
        with file.open(encoding=encoding, newline="") as stream:
            reader = csv.reader(stream, delimiter=_delimiter(stream), strict=False)
            header = [column.strip() for column in next(reader, [])]
            yield from drafts(job, header, _rows(job, name, reader, header), name)
    except (UnicodeDecodeError, UnicodeError) as error:
        raise EncodingError(f"{file}: not in {encoding} ({error}); name its encoding by --encoding") from None


def encoding_of(file: Path) -> str:
    """By its first bytes, else UTF-8 if all of it is, else GB18030 if it reads as Chinese.

    Raises:
        EncodingError: Neither.
    """
    with file.open("rb") as stream:
        head = stream.read(4)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if _decodes(file, "utf-8"):
        return "utf-8"
    if _decodes(file, "gb18030") and _reads_as_chinese(file):
        return "gb18030"
    raise EncodingError(
        f"{file}: neither UTF-8 nor GB18030; name its encoding by --encoding (cp1252, big5, shift_jis ..)"
    )


def _decodes(file: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _reads_as_chinese(file: Path) -> bool:
    with file.open("rb") as stream:
        text = stream.read(_BLOCK).decode("gb18030", errors="ignore")
    foreign = [character for character in text if not character.isascii()]
    common = sum(bool(character.encode("gb2312", errors="ignore")) for character in foreign)
    return common >= _COMMON * len(foreign)


def _delimiter(stream: TextIO) -> str:
    """Which of the usual ones the first line has most of."""
    line = stream.readline()
    stream.seek(0)
    return max(_DELIMITERS, key=line.count)


def _rows(job: Job, name: str, reader: Iterator[list[str]], header: list[str]) -> Iterator[Row]:
    while True:
        place = job.place(name, reader.line_num + 1)  # type: ignore[attr-defined]
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            job.leave_out(place, "record", f"no row of CSV: {error}")
            continue
        if any(cell.strip() for cell in cells[len(header) :]):
            job.leave_out(place, "record", f"{len(cells)} cells under {len(header)} columns; a comma without quotes?")
            continue
        yield place, dict(zip(header, cells, strict=False))


# Excel workbooks (.xlsx), the values of their cells.


#: What a cell shows whose formula has failed.
_ERRORS = frozenset({"#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#N/A", "#NUM!", "#NULL!"})


def read_xlsx(job: Job) -> Iterator[Draft]:
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
        yield from drafts(job, header, _workbook_rows(job, name, rows, header), name)
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


def _workbook_rows(
    job: Job, name: str, rows: Iterator[tuple[int, tuple[Any, ...]]], header: list[str]
) -> Iterator[Row]:
    for number, cells in rows:
        place = job.place(name, number)
        values = dict(zip(header, cells, strict=False))
        for column, cell in values.items():
            if isinstance(cell, str) and cell in _ERRORS:
                job.fault(place, column or "record", f"a formula that failed: {cell}")
        yield place, {column: None if cell in _ERRORS else cell for column, cell in values.items()}


def _title(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


# Parquet tables, piece by piece; lists in a cell are lists.


def read_parquet(job: Job) -> Iterator[Draft]:
    """The rows of each ``.parquet`` file."""
    tables = [name for name in job.source.names if name.lower().endswith(".parquet")]
    for name in tables or job.source.names[:1]:
        file = job.source.file(name)
        try:
            with pq.ParquetFile(file) as table:
                yield from drafts(job, table.schema_arrow.names, _parquet_rows(job, name, table), name)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{file}: not a readable Parquet file: {str(error).splitlines()[0]}") from None


def _parquet_rows(job: Job, name: str, table: pq.ParquetFile) -> Iterator[Row]:
    number = 0
    for batch in table.iter_batches(batch_size=BATCH):
        for row in batch.to_pylist():
            number += 1
            yield job.place(name, number), row
