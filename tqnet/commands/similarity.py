"""Which questions are similar, as commands are told it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tqnet.commands.options import whole_number

if TYPE_CHECKING:
    from tqnet.questions import Contamination, QuestionBank, Similarity


def add_similarity_arguments(parser: argparse.ArgumentParser) -> None:
    """``--pairs`` or ``--similar-level``."""
    similar = parser.add_mutually_exclusive_group()
    similar.add_argument("--pairs", help="file of similar pairs; by default questions of one group are similar")
    similar.add_argument(
        "--similar-level",
        type=whole_number(1),
        metavar="LEVEL",
        help="questions of one concept of this level (1: coarsest) are",
    )


def add_doubles_argument(parser: argparse.ArgumentParser, what: str = "leave out") -> None:
    """``--without-doubles``."""
    parser.add_argument(
        "--without-doubles",
        action="store_true",
        help=f"{what} questions of valid and test that have a double in train (see tqnet check)",
    )


def doubles_of(bank: QuestionBank) -> Contamination:
    """The doubles of a bank, and a line on stderr that says how many.

    Raises:
        ValueError: There is nothing to compare.
    """
    from tqnet.questions import find_contamination

    if not {"train", "test"} <= set(bank.column("split")):
        raise ValueError("--without-doubles: the bank has no questions of the splits train and test to compare")
    doubles = find_contamination(bank)
    print(f"doubles of questions in train left out: {len(doubles.doubles):,}", file=sys.stderr)
    return doubles


def rows_left_out(args: argparse.Namespace, bank: QuestionBank) -> set[int]:
    """Those of the doubles under ``--without-doubles``; else none."""
    return {double.row for double in doubles_of(bank).doubles} if args.without_doubles else set()


def similarity_of(args: argparse.Namespace, bank: QuestionBank) -> Similarity:
    """By ``--pairs``, ``--similar-level`` or the groups of the bank."""
    from tqnet.questions import Similarity

    if args.similar_level is not None:
        return Similarity.from_concepts(bank, args.similar_level)
    if args.pairs:
        return Similarity.from_pairs(args.pairs, bank, on_error=args.on_error)
    return Similarity.from_groups(bank)
