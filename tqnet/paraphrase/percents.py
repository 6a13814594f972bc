"""Percentages of a whole and above it: "marked at 140% of the cost" is "marked 40% above cost"."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

from tqnet.augment.paraphrase.problem import Problem
from tqnet.text.numbers import Number

_BASE = r"(?:(?:the|its|his|her|their)\s+)?(?P<base>[a-z]+)"
_OF = re.compile(rf"\s*of\s+{_BASE}", re.IGNORECASE)
_MORE = re.compile(
    rf"\s*(?:(?P<up>above|over|(?:more|higher|greater)\s+than)|below|under|(?:less|lower|fewer)\s+than)\s+{_BASE}",
    re.IGNORECASE,
)


class Percents:
    """Those of a text, each as a share of what it is told of or compared with."""

    def __init__(self, problem: Problem):
        self._shares: dict[Number, tuple[Fraction, str]] = {}
        self._more: dict[Number, tuple[Fraction, str]] = {}
        for number in (number for number in problem.numbers if number.sign == "%"):
            end = number.outer[1]
            if share := _OF.match(problem.text, end):
                self._shares[number] = number.value, share["base"].lower()
            elif more := _MORE.match(problem.text, end):
                whole = 100 + (number.value if more["up"] else -number.value)
                self._more[number] = whole, more["base"].lower()
        self._told = Counter(self._shares.values()), Counter(self._more.values())

    def has(self, number: Number, others: Percents) -> bool:
        """Whether a share of another text is told here as so much more or less, or the other way round, as often."""
        (shares, more), (other_shares, other_more) = self._told, others._told
        if number in others._shares:
            share = others._shares[number]
            return more[share] >= other_shares[share]
        share = others._more.get(number, (Fraction(0), ""))
        return number in others._more and shares[share] >= other_more[share]
