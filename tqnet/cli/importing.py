"""``tqnet import``: banks from tables, papers, learning platforms and public data sets."""

from __future__ import annotations

import argparse
import codecs
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tqnet.cli.groups import SPLITS
from tqnet.cli.options import Command, argument, assignment, count, number, option, repeated, switch

#: Names -> sources. A copy of `tqnet.importers.formats.FORMATS`, checked by a test, so that ``--help`` loads nothing.
FORMATS = {
    "csv": "tables as .csv or .tsv",
    "xlsx": "Excel workbooks",
    "parquet": "Parquet tables",
    "json": "JSON and JSON Lines as tables",
    "moodle": "Moodle XML",
    "mbz": "Moodle backups",
    "qti": "QTI 1.2, 2 and 3: packages, cartridges (.imscc), folders, items",
    "docx": "papers in Word",
    "gift": "GIFT, Moodle's text format",
    "aiken": "Aiken, Moodle's simplest text format",
    "exam": "papers in LaTeX's exam class",
    "text": "papers as text",
    "pdf": "papers in PDF with a text layer",
    "math23k": "Math23K",
    "mathqa": "MathQA",
    "mawps": "MAWPS, ASDiv-A, SVAMP",
    "aqua": "AQuA-RAT",
    "gsm8k": "GSM8K",
    "math": "MATH",
    "geometry3k": "Geometry3K",
    "scienceqa": "ScienceQA",
}
_TABLES = ("csv", "xlsx", "parquet", "json")


def _known(name: str, names: Sequence[str], note: str = "") -> str:
    if name not in names:
        raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(names)}{note}")
    return name


def _columns(text: str) -> tuple[str, tuple[str, ...]]:
    from tqnet.importers.tables import FIELDS

    name, columns = assignment("FIELD=COLUMN, such as stem=Question")(text)
    return _known(name, FIELDS, "; other columns become extras"), tuple(map(str.strip, columns.split(",")))


def _separator(text: str) -> tuple[str, str]:
    name, separator = assignment("FIELD=SEPARATOR, such as options=;")(text)
    return _known(name, ("options", "images", "knowledge")), separator


def _fixed(text: str) -> tuple[str, Any]:
    name, value = assignment("FIELD=VALUE, such as language=en")(text)
    if name in ("id", "stem", "options", "images", "extras"):
        raise argparse.ArgumentTypeError(f"{text}: {name} differs from question to question")
    if name == "knowledge":
        from tqnet.importers.cells import paths

        return name, paths(value.split(";"))
    if name == "difficulty":
        return name, number()(value)
    return name, _known(value.strip(), SPLITS) if name == "split" else value.strip()


def _encoding(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        raise argparse.ArgumentTypeError(f"unknown encoding {name!r}") from None
    return name


class _ListFormats(argparse.Action):
    """Prints the formats and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(*(f"{name:<12}{source}" for name, source in FORMATS.items()), sep="\n")
        parser.exit()


@dataclass(frozen=True, kw_only=True)
class Import(Command, name="import"):
    """Make a bank from a table, a paper, an export of a learning platform, or a public data set.

    BANK becomes a folder with questions.jsonl and images/. Faults are reported, one line each with file, line and
    field; the rest is imported. docs/import.md has the mapping of every format.
    """

    source: str = argument("a file, a folder or a zip", metavar="SOURCE")
    out: str = option("a new folder", required=True, metavar="BANK")
    format: str = option("format of the source", default="auto", choices=("auto", *FORMATS))
    map: Sequence[tuple[str, tuple[str, ...]]] = repeated(
        "for a table: columns of a field, such as stem=Question or options=A,B,C,D; by default matched by name",
        type=_columns,
        metavar="FIELD=COLUMN[,COLUMN..]",
    )
    separate: Sequence[tuple[str, str]] = repeated(
        "for a table: separator of several values in one cell", type=_separator, metavar="FIELD=SEPARATOR"
    )
    set: Sequence[tuple[str, Any]] = repeated(
        "value of a field for every question: language=en, 'knowledge=Algebra > Equations'",
        type=_fixed,
        metavar="FIELD=VALUE",
    )
    encoding: str | None = option(
        "encoding of a CSV file that is neither UTF-8 nor GB18030: cp1252, big5 ..", type=_encoding
    )
    sheet: Sequence[str] = repeated(
        "sheet of a workbook; by default every sheet with a column for the stem", metavar="NAME"
    )
    header_row: int | None = count(
        "header row of a table, 0 for none; by default the first that names a stem", minimum=0, metavar="N"
    )
    levels: Sequence[str] = option(
        "words for difficulty from easy to hard, which become 1, 2, 3", default=(), metavar="WORD,WORD.."
    )
    language: str | None = option("language to import where texts have several; by default the first", metavar="CODE")
    on_error: Literal["skip", "stop"] = option(
        "stop: write nothing if there is a fault", default="skip", choices=("skip", "stop")
    )
    replace: bool = switch("replace an existing bank")
    list_formats: None = option("list the formats and exit", action=_ListFormats, nargs=0)

    def run(self) -> int:
        from tqnet.importers import import_bank
        from tqnet.importers.job import Settings

        if self.format not in ("auto", *_TABLES) and (self.map or self.separate):
            raise ValueError(f"--map and --separate are for tables; {self.format} has its own fields")
        settings = Settings(
            columns=dict(self.map),
            separators=dict(self.separate),
            fixed=dict(self.set),
            encoding=self.encoding,
            sheets=self.sheet,
            header_row=self.header_row,
            levels=[word.strip().lower() for words in self.levels for word in words.split(",") if word.strip()],
            language=self.language,
        )
        imported = import_bank(self.source, self.out, self.format, settings, self.on_error, self.replace)
        for fault in imported.faults:
            print(fault, file=sys.stderr)
        left_out = f", {imported.left_out:,} left out" if imported.left_out else ""
        faults = f" ({_counted(len(imported.faults), 'fault')})" if imported.faults else ""
        questions = _counted(imported.questions, "question")
        print(f"{self.out}: {questions} of {self.source} ({imported.format}){left_out}{faults}")
        return 1 if imported.unread else 0


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' * (number != 1)}"
