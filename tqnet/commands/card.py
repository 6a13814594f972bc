"""``tqnet card``: the README.md of a trained folder, and the files by which other libraries load it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqnet.cli import Subparsers


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "card",
        help="write a trained folder's README.md, and what sentence-transformers loads it by",
        description="Every training ends with this. For folders of before, to state a licence, or to add evaluations; "
        "licence and evaluations that tqnet's own card there states are kept.",
    )
    parser.add_argument("model", metavar="DIR", help="a trained folder: RUN/model")
    parser.add_argument("--license", metavar="ID", help="of the weights, as the Hugging Face Hub names it (apache-2.0)")
    parser.add_argument(
        "--results",
        nargs="+",
        default=[],
        metavar="FILE",
        help="results.json of tqnet evaluate stages or of tqnet evaluate mteb, whose scores are added",
    )
    parser.add_argument("--name", help="the model's name in --results, where they are of several")
    parser.add_argument("--force", action="store_true", help="also over a README.md that is not tqnet's or was changed")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.hub.folder import write_card
    from tqnet.hub.lineage import read_measured
    from tqnet.modeling.interchange import introduce, kind_of

    folder = Path(args.model)
    kind_of(folder)  # before anything is written
    measured: dict[str, Any] = {}
    for file in args.results:
        for title, rows in read_measured(Path(file), args.name).items():
            measured.setdefault(title, []).extend(rows)
    added = introduce(folder)
    if added:
        print(f"added: {', '.join(added)}")
    if not write_card(folder, args.license, measured, args.force):
        print(f"tqnet: {folder / 'README.md'} is kept; --force writes over it", file=sys.stderr)
        return 1
    print(f"card: {folder / 'README.md'}")
    return 0
