"""Tables: CSV in the encodings that spreadsheets write, Excel workbooks (.xlsx), and Parquet."""

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
#: Least share of GB2312 in a Chinese text in GB18030; in Latin-1 read as GB18030 it is small.
_COMMON = 0.9


class EncodingError(ValueError):
    """A text in an unknown encoding."""


def read_csv(job: Job) -> Iterator[Draft]:
    """Yield the rows of each ``.csv`` and ``.tsv`` file, or of a single file of another ending."""
    for name in _parts(job, ".csv", ".tsv"):
        yield from _read_table(job, name)


def _parts(job: Job, *endings: str) -> list[str]:
    """Return the parts of the source with these endings, or its first part."""
    return [name for name in job.source.names if name.lower().endswith(endings)] or job.source.names[:1]


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
    """Detect an encoding: by the first bytes, else UTF-8, else GB18030 if Chinese; or raise EncodingError."""
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
    """Return the usual delimiter that the first line has most of."""
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


#: Cells of formulas that failed.
_ERRORS = frozenset({"#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#N/A", "#NUM!", "#NULL!"})


def read_xlsx(job: Job) -> Iterator[Draft]:
    """Yield the rows of the first sheet, or of the one in the settings; its first non-empty row is the header."""
    for name in _parts(job, ".xlsx", ".xlsm"):
        yield from _read_book(job, name)


def _read_book(job: Job, name: str) -> Iterator[Draft]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    file = job.source.file(name)
    has_pictures = _check_workbook(file)
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
        first = next((row for _, row in rows if any(cell is not None for cell in row)), ())
        header = ["" if cell is None else str(cell).strip() for cell in first]
        yield from drafts(job, header, _workbook_rows(job, name, rows, header), name)
    finally:
        book.close()


def _check_workbook(file: Path) -> bool:
    """Check that a workbook is harmless, and return True if it has pictures.

    Raises:
        ValueError: It is no workbook, a zip bomb, or declares document types, which Excel never writes.
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


def read_parquet(job: Job) -> Iterator[Draft]:
    """Yield the rows of each ``.parquet`` file; lists in a cell are lists."""
    for name in _parts(job, ".parquet"):
        file = job.source.file(name)
        try:
            with pq.ParquetFile(file) as table:
                yield from drafts(job, table.schema_arrow.names, _parquet_rows(job, name, table), name)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{file}: not a readable Parquet file: {str(error).splitlines()[0]}") from None


def _parquet_rows(job: Job, name: str, table: pq.ParquetFile) -> Iterator[Row]:
    rows = (row for batch in table.iter_batches(batch_size=BATCH) for row in batch.to_pylist())
    return ((job.place(name, number), row) for number, row in enumerate(rows, 1))
