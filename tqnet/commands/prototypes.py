"""``tqnet prototypes``: word problems of one equation as groups of similar questions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_error_arguments
from tqnet.commands.options import whole_number
from tqnet.commands.results import output_file

if TYPE_CHECKING:
    from tqnet.cli import Subparsers


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "prototypes",
        help="group word problems by their equations",
        description="Writes a bank whose groups are the prototypes of its questions' field 'equation' (n1 * n2, "
        "whatever the numbers), for tqnet evaluate similar and finetune/similar.py. Lists the equations that cannot "
        "be read; such a question has no group.",
    )
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument("--out", required=True, metavar="FILE", help=".jsonl or .parquet")
    parser.add_argument(
        "--min-count",
        type=whole_number(1),
        default=5,
        help="numbers are constants that stand in so many equations and not in their texts (5)",
    )
    add_error_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from collections import Counter

    from tqnet.questions import QuestionBank, load_bank
    from tqnet.solver.problems import Alphabet, gold_equations, grouped_by_prototype

    out = output_file(args.out)
    bank = load_bank(args.bank, args.on_error, verify_images=not args.no_verify_images)
    told = list(gold_equations(bank))
    if not told:
        raise ValueError(f"{args.bank}: no question has a field 'equation'")
    alphabet = Alphabet.learn(told, args.min_count)
    questions, faults = grouped_by_prototype(bank, alphabet)
    lines = bank.column("line")
    for place, fault in faults.items():
        print(f"line {lines[place]}: {questions[place].id}: equation: {fault}")
    QuestionBank.from_questions(questions).save(out)
    sizes = Counter(question.group for question in questions if question.group)
    common = ", ".join(f"{group} ({count:,})" for group, count in sizes.most_common(3))
    print(
        f"{out}: {len(questions):,} questions, {len(sizes):,} prototypes, most often {common or 'none'}; "
        f"{len(faults):,} equations not read; constants {', '.join(alphabet.constants) or 'none'}"
    )
    return 0
