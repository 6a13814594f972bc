"""Signs in words: "minus 5" and "5 degrees below zero" are -5."""

from __future__ import annotations

import re

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

#: A sign, and no subtraction: "minus 5" but not "10 minus 5".
_MINUS = re.compile(r"(?:^|[(,:]\s*|(?<!\d)(?<!\b[a-z])\s)(?:minus|negative)\s+$", re.IGNORECASE)
_BELOW = re.compile(r"\bbelow\s+$", re.IGNORECASE)
_BELOW_ZERO = re.compile(r"[^\d.,;?!]*\bbelow\s+(?:zero|freezing)\b", re.IGNORECASE)


class Negatives:
    """Numbers below zero, by their signs or by words."""

    def __init__(self, problem: Problem):
        self._text = problem.text
        self._signed = {number.value for number in problem.numbers if number.value < 0}
        self._worded = {number: -number.value for number in problem.numbers if self._is_negated(number)}
        self._values_of_worded = set(self._worded.values())

    def has(self, number: Number, others: Negatives) -> bool:
        """Whether one text has "-5" and the other one "minus 5" or "5 degrees below zero"."""
        if not number.value and _BELOW.search(others._text, max(0, number.start - 8), number.start):
            return bool(self._signed)
        if number.value < 0:
            return number.value in self._values_of_worded
        return others._worded.get(number) in self._signed

    def _is_negated(self, number: Number) -> bool:
        start = number.outer[0]
        return (
            _MINUS.search(self._text, max(0, start - 12), start) is not None
            or _BELOW_ZERO.match(self._text, number.end, number.end + 40) is not None
        )
