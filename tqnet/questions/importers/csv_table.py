"""CSV and other tables in plain text, in the encodings that spreadsheets write."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from tqnet.questions.importers.columns import Row, drafts
from tqnet.questions.importers.job import Draft, Job

#: First bytes -> encoding.
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DELIMITERS = ",;\t|"
_BLOCK = 2**20
#: Of the characters of a Chinese text in GB18030, at least as many are in GB2312; of Latin-1 read as GB18030, few are.
_COMMON = 0.9


class EncodingError(ValueError):
    """A text in an encoding that nothing tells."""


def read(job: Job) -> Iterator[Draft]:
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
