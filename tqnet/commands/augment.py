"""``tqnet augment``: questions before and after QuesCo's augmentation, the difference marked."""

from __future__ import annotations

import argparse
import re
import sys
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from tqnet.commands.options import number, whole_number

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.questions import Question, QuestionBank

_TOKEN = re.compile(r"\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]+|\s+|.", re.DOTALL)
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "augment",
        help="show what QuesCo's augmentation makes of questions",
        description="Show what QuesCo's augmentation makes of questions: [-what goes-]{+what comes+}.",
    )
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument(
        "--id", action="append", metavar="ID", help="of a question, repeatable; three by chance without"
    )
    parser.add_argument(
        "--strategy",
        action="append",
        metavar="NAME",
        help="swap, delete, rename, scale, operator, number, shuffle, repeat, or a group of them: text, formula, "
        "structure; repeatable (all)",
    )
    parser.add_argument(
        "--probability",
        type=number(0, 1),
        help="of each strategy (1 for those that are named, otherwise 0.3 as in training)",
    )
    parser.add_argument("--draws", type=whole_number(1), default=1, help="how often each question is augmented (1)")
    parser.add_argument("--seed", type=whole_number(0), default=0)
    parser.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with faulty records")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from tqnet.augment.strategies import GROUPS, apply_strategies, strategy_names
    from tqnet.questions import load_bank

    names = strategy_names(args.strategy or list(GROUPS))
    probability = args.probability if args.probability is not None else 1.0 if args.strategy else 0.3
    bank = load_bank(args.bank, args.on_error)
    for place in _places(bank, args.id, args.seed):
        question = bank[place]
        print(f"{question.id}\n  {_indented(question.content)}")
        for draw in range(args.draws):
            rng = np.random.default_rng([args.seed, place, draw])
            print(f"  -> {_indented(_change(question, apply_strategies(question, names, probability, rng)))}")
    return 0


def _places(bank: QuestionBank, ids: list[str] | None, seed: int) -> list[int]:
    import numpy as np

    if not ids:
        return sorted(np.random.default_rng(seed).choice(len(bank), min(3, len(bank)), replace=False).tolist())
    place_of = {own: place for place, own in enumerate(bank.ids)}
    for wanted in ids:
        if wanted not in place_of:
            raise ValueError(f"--id: the bank has no question {wanted!r}")
    return [place_of[wanted] for wanted in ids]


def _change(before: Question, after: Question) -> str:
    if before.content == after.content:
        return "(unchanged)"
    return mark_difference(before.content, after.content, colour=sys.stdout.isatty())


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def mark_difference(before: str, after: str, colour: bool = False) -> str:
    """``after`` with what went in [- -] and what came in {+ +}, in red and green if ``colour``."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    pieces = []
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[start:end]), "".join(new[first:last])
        if kind == "equal":
            pieces.append(come)
            continue
        for text, opening, closing, paint in ((gone, "[-", "-]", _RED), (come, "{+", "+}", _GREEN)):
            if text:
                pieces.append(f"{paint}{opening}{text}{closing}{_PLAIN}" if colour else f"{opening}{text}{closing}")
    return "".join(pieces)
