"""Tables: CSV in the encodings that spreadsheets write, Excel workbooks (.xlsx), and Parquet."""

from __future__ import annotations

import csv
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from tqnet.importers.columns import columns_by_name
from tqnet.importers.encodings import EncodingError, encoding_of
from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.merged_rows import ERRORS, Cells, Repeated, plain_value, questions_of_rows
from tqnet.importers.number_formats import as_shown
from tqnet.importers.source import MAX_MEMBER, check_zip
from tqnet.importers.tables import ColumnError, Row, drafts, quoted
from tqnet.questions.reading import csv_rows, unrepeated
from tqnet.questions.table import BATCH

_DELIMITERS = ",;\t|"


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
            yield from _table(job, name, _csv_cells(job, name, stream, _delimiter(stream)), name)
    except (UnicodeDecodeError, UnicodeError) as error:
        raise EncodingError(f"{file}: not in {encoding} ({error}); name its encoding by --encoding") from None


_UNSTORED = re.compile(rb"</f>(?:<v\s*/>|<v></v>)?\s*</c>")
_MERGED = re.compile(rb"mergeCell\s[^>]{0,99}?ref\s*=\s*[\"']([^\"']{0,99})")
#: openpyxl makes an object of every merged cell.
_MOST_MERGED = 10**6
#: A header stands among the first rows: below a title, say.
_HEADER_ROWS = 20


def _table(job: Job, name: str, rows: Iterator[Cells], shown: str) -> Iterator[Draft]:
    """Yield the drafts of the rows below the header: the row in the settings, or the first that names a stem.

    Row 0 stands for none: columns are called by their numbers, from 1.
    """
    first = [(place, cells) for place, cells in islice(rows, _HEADER_ROWS) if any(cell is not None for cell in cells)]
    raw = [["" if cell is None else str(plain_value(cell)).strip() for cell in cells] for _, cells in first]
    headers = list(map(unrepeated, raw))
    wanted = {column for columns in job.settings.columns.values() for column in columns}
    at = next((at for at, header in enumerate(headers) if _is_header(header, wanted)), 0)
    if job.settings.header_row == 0:
        header = [str(number) for number in range(1, max(map(len, raw), default=0) + 1)]
        yield from drafts(job, _named(job, questions_of_rows(job, chain(first, rows), header), header), name, header)
        return
    if number := job.settings.header_row:
        at = next((at for at, (place, _) in enumerate(first) if place.line == number), -1)
        if at < 0:
            raise ValueError(
                f"{job.source.path}: --header-row: no row {number} among the first {_HEADER_ROWS} of {shown}"
            )
    if not headers:
        return
    names: Sequence[str] = raw[at]
    if not wanted:
        names, at = _whole_header(raw, at)
    header = unrepeated(names)
    if not wanted and job.settings.header_row is None:
        _check_direction(job, raw, header)
    _report_repeated(job, first[at][0], names, header)
    below = questions_of_rows(job, chain(first[at + 1 :], rows), header)
    try:
        yield from drafts(job, _named(job, below, header), name, header)
    except ColumnError as error:
        raise ColumnError(f"{error}; --header-row 0 if it has no header") from None


def _whole_header(rows: Sequence[Sequence[str]], at: int) -> tuple[Sequence[str], int]:
    """Return the names of columns, and their last row: below a merged ``Options`` may stand A, B and C."""
    header, known = rows[at], columns_by_name(rows[at])
    below = [*chain.from_iterable(rows[at + 1 : at + 2]), *("" for _ in header)]
    stem = header.index(known["stem"][0]) if "stem" in known else 0
    names = [part or whole for whole, part in zip(header, below, strict=False)]
    is_part = below[stem] in ("", header[stem])
    more = len(columns_by_name(names).get("options", ())) > max(1, len(known.get("options", ())))
    return (names, at + 1) if is_part and more else (header, at)


def _check_direction(job: Job, rows: Sequence[Sequence[str]], header: Sequence[str]) -> None:
    """Refuse a table whose questions run down, with the names of their fields in the first column alone."""
    down = columns_by_name(unrepeated([row[0] for row in rows if row]))
    if len(columns_by_name(header)) < 2 < len(down) and "stem" in down:
        fields = quoted(list(chain.from_iterable(down.values())))
        message = f"fields stand below one another ({fields}); write a question per row, or name the header's row"
        raise ColumnError(f"{job.source.path}: {message} with --header-row")


def _report_repeated(job: Job, place: Place, raw: Sequence[str], header: Sequence[str]) -> None:
    if again := [unique for name, unique in zip(raw, header, strict=True) if name != unique]:
        job.fault(place, "record", f"names of columns that occur again get a number: {quoted(again)}")


def _is_header(header: Sequence[str], wanted: set[str]) -> bool:
    named = wanted <= set(header) or wanted <= {",".join(header)}
    return named if wanted else "stem" in columns_by_name(header) and len(list(filter(None, header))) > 0


def _named(job: Job, rows: Iterable[Cells], header: Sequence[str]) -> Iterator[Row]:
    for place, cells in rows:
        if any(cell is not None and str(cell).strip() for cell in cells[len(header) :]):
            job.leave_out(place, "record", f"{len(cells)} cells under {len(header)} columns; a comma without quotes?")
            continue
        unnamed = (cell for column, cell in zip(header, cells, strict=False) if not column)
        if any(cell is not None and str(cell).strip() for cell in unnamed) and job.first_time("unnamed"):
            job.fault(place, "record", "a cell of a column without a name is not read, also in other rows")
        values = dict(zip(header, cells, strict=False))
        for column, cell in values.items():
            if isinstance(cell, str) and cell in ERRORS:
                job.fault(place, column or "record", f"a formula that failed: {cell}")
                values[column] = None
        yield place, values


def _delimiter(stream: TextIO) -> str:
    """Return the usual delimiter that the first line has most of."""
    line = stream.readline()
    stream.seek(0)
    return max(_DELIMITERS, key=line.count)


class _Lines:
    """The lines of a text; those of the last row can be given back."""

    def __init__(self, stream: Iterable[str]):
        self._stream = iter(stream)
        self._returned: list[str] = []
        self.row: list[str] = []
        self.number = 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.pop() if self._returned else next(self._stream)
        self.row.append(line)
        return line

    def next_row(self) -> None:
        """Leave the lines of a row behind."""
        self.number += len(self.row)
        self.row = []

    def give_back(self) -> str:
        """Return the first line of a row, and read the others again."""
        first, *others = self.row
        self._returned += reversed(others)
        self.row = [first]
        return first


def _csv_cells(job: Job, name: str, stream: Iterable[str], delimiter: str) -> Iterator[Cells]:
    """Yield the rows; a quote without its end costs the quote, not the rows up to the next one.

    Such a row has a strange number of cells, goes on behind a closing quote, or has none; and one of its lines is a row
    by itself.
    """
    lines, width = _Lines(stream), 0
    reader = csv_rows(lines, delimiter)  # type: ignore[arg-type]
    while True:
        lines.next_row()
        place = job.place(name, lines.number)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if len(lines.row) < 2:
                job.leave_unread(place, f"no row of CSV: {error}")
                continue
            cells = []
        problem = _quote_problem(lines.row, delimiter)
        is_open = problem == _NO_END
        if len(lines.row) > 1 and (problem or len(cells) != width):
            split = [line.rstrip("\r\n").split(delimiter) for line in lines.row]
            fits = [len(row) == width > 1 for row in split]
            if is_open or (any(fits) if problem else all(fits)):
                is_open = True
                lines.give_back()
                cells = list(map(_unquoted, split[0]))
        if is_open:
            job.fault(place, "record", "a quote without its end; the line is read without it")
        width = width or (len(cells) if sum(map(bool, cells)) > 1 else 0)
        yield place, [cell or None for cell in cells]


#: What Python says of a quote that nothing ends.
_NO_END = "unexpected end of data"


def _quote_problem(lines: Sequence[str], delimiter: str) -> str:
    """Return what is wrong with the quotes of a row, such as that no delimiter follows their end."""
    if not any('"' in line for line in lines):
        return ""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return str(error)
    return ""


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell.startswith('"') and cell.endswith('"'):
        return cell[1:-1].replace('""', '"')
    return cell.removeprefix('"') if cell.count('"') % 2 else cell


def read_xlsx(job: Job) -> Iterator[Draft]:
    """Yield the rows of the sheets in the settings, or of all with a column for the stem."""
    for name in _parts(job, ".xlsx", ".xlsm"):
        yield from _read_book(job, name)


def _read_book(job: Job, name: str) -> Iterator[Draft]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    file = job.source.file(name)
    parts, empty, merged = _check_workbook(file)
    if any(part.startswith("xl/media/") for part in parts):
        job.fault(job.place(name), "images", "pictures within the workbook are not read; name files in a column")
    if empty:
        job.fault(job.place(name), "record", f"formulas without a stored value: {empty}; save the workbook in Excel")
    # openpyxl reads rich text that is not shared by cells only of a workbook in memory.
    size = sum(size for part, size in parts.items() if part.startswith("xl/worksheets/"))
    is_large = size > MAX_MEMBER or merged > _MOST_MERGED
    if is_large and merged:
        job.fault(job.place(name), "record", "merged cells of a large workbook are read in their first row alone")
    try:
        book = load_workbook(file, read_only=is_large, data_only=True, rich_text=True)
    except (InvalidFileException, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file}: not a workbook that can be read: {error}") from None
    try:
        if missing := [sheet for sheet in job.settings.sheets if sheet not in book.sheetnames]:
            names = ", ".join(map(repr, book.sheetnames))
            raise ValueError(f"{file}: --sheet: no sheet {missing[0]!r}; there are {names}")
        refused: list[ColumnError] = []
        for sheet in job.settings.sheets or book.sheetnames:
            try:
                yield from _table(job, name, _sheet_rows(job, name, book[sheet]), f"sheet {sheet!r}")
            except ColumnError as error:
                if job.settings.sheets or len(book.sheetnames) == 1:
                    raise
                refused.append(error)
                job.fault(job.place(name), "record", f"sheet {sheet!r} is not read: it has no column for the stem")
        if len(refused) == len(book.sheetnames):
            raise refused[0]
    finally:
        book.close()


def _sheet_rows(job: Job, name: str, sheet: Any) -> Iterator[Cells]:
    """Yield the rows, with the values of cells that are merged downwards in each."""
    first = {
        (row, area.min_col): Repeated(value)
        for area in getattr(sheet, "merged_cells", ())  # openpyxl has none of a large workbook
        if (value := _with_scripts(as_shown(sheet.cell(area.min_row, area.min_col)))) is not None
        for row in range(area.min_row + 1, area.max_row + 1)
    }
    for number, cells in enumerate(sheet.iter_rows(), 1):
        values = [first.get((number, column)) or _with_scripts(as_shown(cell)) for column, cell in enumerate(cells, 1)]
        yield job.place(name, number), values


def _with_scripts(cell: Any) -> Any:
    """Write rich text with ``^2`` for a superscript and ``_2`` for a subscript."""
    if not isinstance(cell, list):  # openpyxl's CellRichText is a list
        return cell
    pieces = []
    for part in cell:
        text = str(part)
        mark = {"superscript": "^", "subscript": "_"}.get(getattr(getattr(part, "font", None), "vertAlign", None) or "")
        pieces.append(text if not mark else f"{mark}{text}" if len(text) == 1 else f"{mark}{{{text}}}")
    return "".join(pieces)


def _check_workbook(file: Path) -> tuple[dict[str, int], int, float]:
    """Check that a workbook is harmless; return the sizes of its parts, its formulas without a value and merged cells.

    Raises:
        ValueError: It is no workbook, a zip bomb, or declares document types, which Excel never writes.
    """
    empty, merged = 0, 0.0
    try:
        with zipfile.ZipFile(file) as archive:
            check_zip(archive, file)
            for part in archive.infolist():
                if not part.filename.endswith((".xml", ".rels")):
                    continue
                with archive.open(part) as stream:
                    while chunk := stream.read(MAX_MEMBER):
                        chunk = chunk.replace(b"\0", b"")
                        empty += len(_UNSTORED.findall(chunk))
                        merged += sum(map(_area, _MERGED.findall(chunk)))
                        if b"<!DOCTYPE" in chunk or b"<!ENTITY" in chunk:
                            raise ValueError(f"{file}: {part.filename} declares a document type, which is not read")
            return {part.filename: part.file_size for part in archive.infolist()}, empty, merged
    except zipfile.BadZipFile as error:
        raise ValueError(f"{file}: not a workbook that can be read: {error}") from None


def _area(cells: bytes) -> float:
    """Return how many cells there are in ``A1:B7``; infinitely many if that cannot be told."""
    from openpyxl.worksheet.cell_range import CellRange

    try:
        return math.prod(CellRange(cells.decode()).size.values())
    except (ValueError, TypeError):
        return math.inf


def read_parquet(job: Job) -> Iterator[Draft]:
    """Yield the rows of each ``.parquet`` file; lists in a cell are lists."""
    for name in _parts(job, ".parquet"):
        file = job.source.file(name)
        try:
            with pq.ParquetFile(file) as table:
                header = unrepeated(table.schema_arrow.names)
                _report_repeated(job, job.place(name), table.schema_arrow.names, header)
                yield from drafts(job, _parquet_rows(job, name, table, header), name, header, by_program=True)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{file}: not a readable Parquet file: {str(error).splitlines()[0]}") from None


def _parquet_rows(job: Job, name: str, table: pq.ParquetFile, header: list[str]) -> Iterator[Row]:
    batches = (pa.RecordBatch.from_arrays(batch.columns, header) for batch in table.iter_batches(batch_size=BATCH))
    rows = (row for batch in batches for row in batch.to_pylist())
    return ((job.place(name, number), row) for number, row in enumerate(rows, 1))
