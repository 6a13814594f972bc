"""Coins of a dollar that have a name: "20 quarters" are "20 coins of 25 cents"."""

from __future__ import annotations

from functools import cached_property

from tqnet.paraphrase.check.lemmas import lemma
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

#: Name -> its cents.
COINS = {"nickel": 5, "dime": 10, "quarter": 25}


class Coins:
    """The worth of the coins that a text names, and its numbers of cents."""

    def __init__(self, problem: Problem):
        self._doc = problem.doc
        self._cents = {unit.number for unit in problem.units if unit.name == "cent"}

    def has(self, number: Number, others: Coins) -> bool:
        """Whether "25 cents" of another text are a quarter here."""
        return number in others._cents and number.value in self._worth

    @cached_property
    def _worth(self) -> set[int]:
        return {COINS[word] for token in self._doc if (word := lemma(token)) in COINS}
