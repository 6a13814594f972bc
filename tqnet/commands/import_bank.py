"""``tqnet import``: a bank of what other programs and data sets have."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqnet.cli import Subparsers

#: As `tqnet.importers.formats.FORMATS`, which a test compares; here so that ``--help`` loads nothing heavy.
FORMATS = (
    "auto", "csv", "xlsx", "parquet", "moodle", "qti", "math23k", "mathqa", "mawps", "aqua", "gsm8k", "math",
    "geometry3k", "scienceqa",
)  # fmt: skip
_TABLES = ("csv", "xlsx", "parquet")
#: Fields that one value may be given for all questions; any other name is an extra's.
_REFUSED = ("id", "stem", "options", "images", "extras")


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "import",
        help="make a bank of a table, a Moodle or QTI export, or a public data set",
        description="Make BANK, a folder with questions.jsonl and images/, of SOURCE. What cannot be read is reported, "
        "a line each with file, line and field; the rest is imported. docs/import.md says what becomes of what.",
    )
    parser.add_argument("source", metavar="SOURCE", help="a file, a folder or a zip")
    parser.add_argument("--out", required=True, metavar="BANK", help="a folder, made anew")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="of the source; auto finds it out")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        type=_mapped,
        metavar="FIELD=COLUMN[,COLUMN..]",
        help="of a table: the columns of a field, as stem=Question or options=A,B,C,D; by their names without",
    )
    parser.add_argument(
        "--separate",
        action="append",
        default=[],
        type=_separated,
        metavar="FIELD=SEPARATOR",
        help="of a table: what stands between several options, images or knowledge paths in one cell",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_fixed,
        metavar="FIELD=VALUE",
        help="give every question this: language=en, split=train, 'knowledge=Algebra > Equations'",
    )
    parser.add_argument("--encoding", help="of a CSV file, if it is neither UTF-8 nor GB18030: cp1252, big5 ..")
    parser.add_argument("--sheet", metavar="NAME", help="of a workbook; the first without")
    parser.add_argument(
        "--on-error", choices=("skip", "stop"), default="skip", help="stop: with any fault, nothing is written"
    )
    parser.add_argument("--replace", action="store_true", help="a bank that is there makes way for the new one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.importers import import_bank

    imported = import_bank(args.source, args.out, args.format, _settings(args), args.on_error, args.replace)
    for fault in imported.faults:
        print(fault, file=sys.stderr)
    left_out = f", {imported.left_out:,} left out" if imported.left_out else ""
    faults = f" ({_count(len(imported.faults), 'fault')})" if imported.faults else ""
    print(
        f"{args.out}: {_count(imported.questions, 'question')} of {args.source} ({imported.format}){left_out}{faults}"
    )
    return 0


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' if number != 1 else ''}"


def _settings(args: argparse.Namespace) -> Any:
    """What the user says of the source.

    Raises:
        ValueError: A setting that no such field takes, or an encoding that is none.
    """
    import codecs

    from tqnet.importers.job import Settings
    from tqnet.importers.tables import FIELDS, paths

    if args.format not in ("auto", *_TABLES) and (args.map or args.separate):
        raise ValueError(f"--map and --separate are for tables; {args.format} has fields of its own")
    for name, _ in args.map:
        if name not in FIELDS:
            raise ValueError(f"--map: {name!r} is none of {', '.join(FIELDS)}; other columns are extras by themselves")
    for name, _ in args.separate:
        if name not in ("options", "images", "knowledge"):
            raise ValueError(f"--separate: {name!r} is none of options, images, knowledge")
    if args.encoding:
        try:
            codecs.lookup(args.encoding)
        except LookupError:
            raise ValueError(f"--encoding: {args.encoding!r} is no encoding") from None
    fixed = dict(args.set)
    extras = {name: fixed.pop(name) for name in list(fixed) if name not in FIELDS}
    if "knowledge" in fixed:
        fixed["knowledge"] = paths(fixed["knowledge"].split(";"))
    if "difficulty" in fixed:
        try:
            fixed["difficulty"] = float(fixed["difficulty"])
        except ValueError:
            raise ValueError(f"--set: difficulty: no number: {fixed['difficulty']!r}") from None
    if fixed.get("split", "train") not in ("train", "valid", "test"):
        raise ValueError(f"--set: split: {fixed['split']!r} is none of train, valid, test")
    return Settings(dict(args.map), dict(args.separate), fixed | extras, args.encoding, args.sheet)


def _pair(text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value):
        raise argparse.ArgumentTypeError(f"{text}: expected {example}")
    return name.strip(), value


def _mapped(text: str) -> tuple[str, tuple[str, ...]]:
    name, columns = _pair(text, "FIELD=COLUMN, such as stem=Question")
    return name, tuple(column.strip() for column in columns.split(","))


def _separated(text: str) -> tuple[str, str]:
    return _pair(text, "FIELD=SEPARATOR, such as options=;")


def _fixed(text: str) -> tuple[str, str]:
    name, value = _pair(text, "FIELD=VALUE, such as language=en")
    if name in _REFUSED:
        raise argparse.ArgumentTypeError(f"{text}: {name} is each question's own")
    return name, value.strip()
