"""Which questions are similar, as commands are told it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tqnet.commands.encode import whole_number

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank, Similarity


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


def similarity_of(args: argparse.Namespace, bank: QuestionBank) -> Similarity:
    """By ``--pairs``, ``--similar-level`` or the groups of the bank."""
    from tqnet.questions import Similarity

    if args.similar_level is not None:
        return Similarity.from_concepts(bank, args.similar_level)
    if args.pairs:
        return Similarity.from_pairs(args.pairs, bank, on_error=args.on_error)
    return Similarity.from_groups(bank)
