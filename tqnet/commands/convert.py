"""``tqnet convert``: a bank in another program's format."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_error_arguments, read_bank
from tqnet.commands.results import output_file

if TYPE_CHECKING:
    from tqnet.cli import Subparsers


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "convert",
        help="write a bank as Moodle XML",
        description="Write the questions of a bank as Moodle XML, figures embedded, knowledge points as category and "
        "tags: what tqnet import has read, or was found out about questions, goes back.",
    )
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument("--to", choices=("moodle",), required=True)
    parser.add_argument("--out", required=True, metavar="FILE", help="an .xml file")
    add_error_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.importers.moodle_export import export_moodle

    out = output_file(args.out)
    count, faults = export_moodle(read_bank(args), out)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{out}: {count:,} questions in Moodle XML")
    return 0
