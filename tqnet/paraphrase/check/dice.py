"""The sides of a die, which a text need not tell: a "six-sided die" is a die."""

from __future__ import annotations

import re

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

_DIE = re.compile(
    r"\b(?:an?|the|each|both|one|two|three|\d|fair|standard|ordinary|unbiased)\s(?:die|dice)\b", re.IGNORECASE
)
_SIDED = re.compile(r"\b(?:sided|faced|sides|faces)\b", re.IGNORECASE)
_SIDED_BEHIND = re.compile(r"[\s-]*(?:sided|faced)[\s,]+(?:[a-z]+\s+)?(?:die|dice)\b", re.IGNORECASE)
_SIDES_BEHIND = re.compile(r"\s+(?:equal\s+)?(?:sides|faces)\b", re.IGNORECASE)
_DIE_BEFORE = re.compile(r"\b(?:die|dice)\s+(?:(?:that\s+)?(?:has|have|having)|with)\s+$", re.IGNORECASE)


class Dice:
    """Whether a text has dice, and of how many sides."""

    def __init__(self, problem: Problem):
        self._text = problem.text

    def has(self, number: Number, others: Dice) -> bool:
        """Whether a "six-sided die" of another text is a die here, of which nothing else is told."""
        return number.value == 6 and others._are_sides(number) and self._are_ordinary()

    def _are_ordinary(self) -> bool:
        return _DIE.search(self._text) is not None and _SIDED.search(self._text) is None

    def _are_sides(self, number: Number) -> bool:
        """Whether it is the six of "six-sided die" or "die with six sides"."""
        if _SIDED_BEHIND.match(self._text, number.end):
            return True
        before = _DIE_BEFORE.search(self._text, max(0, number.start - 30), number.start)
        return before is not None and _SIDES_BEHIND.match(self._text, number.end) is not None
