"""``tqnet merge``: one bank of several, or of a part of one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_error_arguments
from tqnet.commands.options import whole_number

if TYPE_CHECKING:
    from tqnet.cli import Subparsers

_SPLITS = ("train", "valid", "test")


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "merge",
        help="make one bank of several, or of a part of one",
        description="Write the questions of one bank or several as one. Ids and groups of several banks are called "
        "BANK/ID. Figures stay where they are.",
    )
    parser.add_argument(
        "banks", nargs="+", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help=".jsonl or .parquet")
    parser.add_argument("--split", nargs="+", choices=_SPLITS, default=[], help="only questions of these splits")
    parser.add_argument("--language", nargs="+", default=[], metavar="CODE", help="only questions in these languages")
    splits = parser.add_mutually_exclusive_group()
    splits.add_argument(
        "--rename",
        nargs="+",
        type=_renamed,
        default=[],
        metavar="OLD=NEW",
        help="call a split otherwise: valid=test, where a bank has no test",
    )
    splits.add_argument(
        "--fold",
        type=_fold,
        metavar="K/N",
        help="draw train and test anew by group: test is the K-th of N parts, for cross-validation or a bank without "
        "splits",
    )
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of the parts (0)")
    add_error_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from collections import Counter

    from tqnet.questions import load_bank
    from tqnet.questions.splits import draw_fold, kept, merge, rename_splits

    banks = [load_bank(bank, args.on_error, verify_images=not args.no_verify_images) for bank in args.banks]
    bank = merge(banks, kept(args.split, args.language))
    if args.rename:
        bank = rename_splits(bank, dict(args.rename))
    if args.fold:
        fold, folds = args.fold
        bank = draw_fold(bank, fold, folds, args.seed)
    out = Path(args.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    bank.save(out)
    counts = Counter(split or "no split" for split in bank.column("split"))
    print(f"{out}: {len(bank):,} questions, " + ", ".join(f"{count:,} {split}" for split, count in counts.items()))
    return 0


def _renamed(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not {old, new} <= set(_SPLITS):
        raise argparse.ArgumentTypeError(f"{text}: expected OLD=NEW, each one of {', '.join(_SPLITS)}")
    return old, new


def _fold(text: str) -> tuple[int, int]:
    fold, _, folds = text.partition("/")
    if not (fold.isdecimal() and folds.isdecimal()) or not 1 <= int(fold) <= int(folds) or int(folds) < 2:
        raise argparse.ArgumentTypeError(f"{text}: expected K/N, such as 1/5")
    return int(fold), int(folds)
