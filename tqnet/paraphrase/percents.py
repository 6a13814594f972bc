"""Percentages from the whole: "marked at 140% of the cost" is "marked 40% above cost"."""

from __future__ import annotations

import re
from fractions import Fraction

from tqnet.augment.paraphrase.problem import Problem
from tqnet.text.numbers import Number

_UP = r"above|over|more|higher|greater|larger|increases?|increased|rises?|rose|profit|gain|up|raised?|grew"
_DOWN = (
    r"below|under|less|lower|fewer|smaller|decreases?|decreased|falls?|fell|loss|down|reduced|reduction|off|discount"
)
_BEHIND = re.compile(rf"\s*(?:[a-z]+\s+)?(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\b", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\s+(?:(?:by|of|at)\s+)?(?:an?\s+)?$", re.IGNORECASE)
_OF = re.compile(r"\s*of\b", re.IGNORECASE)
#: Of characters before a number.
_NEAR = 24


class Percents:
    """Those of a text: by how much something changes, or what share of the whole it is."""

    def __init__(self, problem: Problem):
        text = problem.text
        self._changes: dict[Number, Fraction] = {}
        self._shares: dict[Number, Fraction] = {}
        for number in (number for number in problem.numbers if number.sign == "%"):
            start, end = number.outer
            change = _BEFORE.search(text, max(0, start - _NEAR), start)
            if not change and _OF.match(text, end):
                self._shares[number] = number.value
            elif change := change or _BEHIND.match(text, end):
                self._changes[number] = 100 + (number.value if change["up"] else -number.value)

    def has(self, number: Number, others: Percents) -> bool:
        """Whether a share of another text is told here as a change, or a change there as a share."""
        if number in others._shares:
            return others._shares[number] in self._changes.values()
        return number in others._changes and others._changes[number] in self._shares.values()
