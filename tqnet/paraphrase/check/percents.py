"""Shares of a whole and what is above it: "140% of the cost" is "40% above cost", "three quarters of z" "25% less"."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

from tqnet.paraphrase.check.values import value_of
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number

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
        for number in (one for one in problem.numbers if one.sign == "%" or one.kind is Kind.FRACTION):
            value, end = value_of(number), number.outer[1]
            if share := _OF.match(problem.text, end):
                self._shares[number] = value, share["base"].lower()
            elif more := _MORE.match(problem.text, end):
                self._more[number] = 1 + (value if more["up"] else -value), more["base"].lower()
        self._as_shares, self._as_more = Counter(self._shares.values()), Counter(self._more.values())

    def has(self, number: Number, others: Percents) -> bool:
        """Whether a share of another text is told here as so much more or less, or the other way round, as often."""
        share, more = others._shares.get(number), others._more.get(number)
        if share is not None:
            return self._as_more[share] >= others._as_shares[share]
        return more is not None and self._as_shares[more] >= others._as_more[more]
