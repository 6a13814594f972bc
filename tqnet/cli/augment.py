"""``tqnet augment``: questions before and after QuesCo's augmentation, the difference marked."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from tqnet.cli.groups import BANK, FaultOptions, SeedOptions
from tqnet.cli.options import Command, argument, count, number, option

if TYPE_CHECKING:
    from tqnet.questions import Question, QuestionBank

_TOKEN = re.compile(r"\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]+|\s+|.", re.DOTALL)
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"


@dataclass(frozen=True, kw_only=True)
class Augment(Command, SeedOptions, FaultOptions, name="augment"):
    """Show QuesCo's augmentation of questions.

    Differences are marked: [-removed-]{+added+}.
    """

    bank: str = argument(BANK, metavar="BANK")
    id: Sequence[str] = option(
        "of a question, repeatable; by default three at random", default=(), action="append", metavar="ID"
    )
    strategy: Sequence[str] = option(
        "swap, delete, rename, scale, operator, number, shuffle, repeat, or a group of them: text, formula, "
        "structure; repeatable; by default all",
        default=(),
        action="append",
        metavar="NAME",
    )
    probability: float | None = option(
        "of each strategy; by default 1 with --strategy, else 0.3 as in training", type=number(0, 1)
    )
    draws: int = count("augmentations of each question", default=1)

    def run(self) -> int:
        import numpy as np

        from tqnet.augment.strategies import GROUPS, apply_strategies, strategy_names
        from tqnet.questions import load_bank

        names = strategy_names(list(self.strategy or GROUPS))
        probability = self.probability if self.probability is not None else 1.0 if self.strategy else 0.3
        bank = load_bank(self.bank, self.on_error)
        for place in _places(bank, self.id, self.seed):
            question = bank[place]
            print(f"{question.id}\n  {_indented(question.content)}")
            for draw in range(self.draws):
                rng = np.random.default_rng([self.seed, place, draw])
                print(f"  -> {_indented(_change(question, apply_strategies(question, names, probability, rng)))}")
        return 0


def _places(bank: QuestionBank, ids: Sequence[str], seed: int) -> list[int]:
    import numpy as np

    if not ids:
        return sorted(np.random.default_rng(seed).choice(len(bank), min(3, len(bank)), replace=False).tolist())
    places = {id: place for place, id in enumerate(bank.ids)}
    for id in ids:
        if id not in places:
            raise ValueError(f"--id: the bank has no question {id!r}")
    return [places[id] for id in ids]


def _change(before: Question, after: Question) -> str:
    if before.content == after.content:
        return "(unchanged)"
    return mark_difference(before.content, after.content, colour=sys.stdout.isatty())


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def mark_difference(before: str, after: str, colour: bool = False) -> str:
    """Return ``after`` with removals in [- -] and additions in {+ +}, in red and green if ``colour``."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    pieces = []
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = "".join(old[start:end]), "".join(new[first:last])
        if kind == "equal":
            pieces.append(added)
            continue
        for text, opening, closing, paint in ((removed, "[-", "-]", _RED), (added, "{+", "+}", _GREEN)):
            if text:
                pieces.append(f"{paint}{opening}{text}{closing}{_PLAIN}" if colour else f"{opening}{text}{closing}")
    return "".join(pieces)
