"""Shares: "3 out of 5" is 3/5, or 60%, and so is a ratio of 3:5; "a third" is 1/3."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from tqnet.paraphrase.problem import Problem
from tqnet.text.formulas import Span
from tqnet.text.numbers import Kind, Number, find_numbers

_OUT_OF = re.compile(r"\s+(?:in|(?:out\s+)?of|(?:in|of|out\s+of|for)\s+every)\s+|\s?:\s?")
#: Parts are numbers only before "of"; "a third" may be one elsewhere too.
_PART = re.compile(r"\b(?:an?|one)[\s-][a-z]+(?:th|rd)\b", re.IGNORECASE)
#: Which behind a number may be coins, or parts, as in "one sixth and three quarters".
_IN_PARTS = {"quarters": 4, "halves": 2, "thirds": 3}
_PARTS = re.compile(rf"[\s-]({'|'.join(_IN_PARTS)})\b", re.IGNORECASE)
#: Of characters between two numbers.
_FAR = 20


class Shares:
    """Those of a text."""

    def __init__(self, problem: Problem):
        self._of: dict[Number, Fraction] = {}
        self._told = Counter(one.value / 100 if one.sign == "%" else one.value for one in problem.numbers)
        for part, whole in pairwise(problem.numbers):
            if part not in self._of and _are_one_share(part, whole, problem.text):
                self._of[part] = self._of[whole] = part.value / whole.value
        for number in problem.numbers:
            if number.kind is Kind.WHOLE and (match := _PARTS.match(problem.text, number.end)):
                self._of[number] = number.value / _IN_PARTS[match[1].lower()]
        self._values = Counter(self._of.values())

    def has(self, number: Number, others: Shares) -> bool:
        """Whether a number of another text is a share here, or part of a share there that this text has as a number."""
        if number in others._of:
            share = others._of[number]
            return self._told[share] > others._told[share]
        value = number.value / 100 if number.sign == "%" else number.value
        return self._values[value] > others._values[value]


def _are_one_share(part: Number, whole: Number, text: str) -> bool:
    if whole.start - part.end > _FAR or not _OUT_OF.fullmatch(text, part.end, whole.start):
        return False
    return part.kind is whole.kind is Kind.WHOLE and not (part.sign or whole.sign) and whole.value > 0


def parts(text: str) -> Iterator[tuple[Span, Fraction]]:
    """Where one part of several stands, "a third" or "one fifth", whether it is a number there or not."""
    for match in _PART.finditer(text):
        for number in find_numbers(f"{match[0]} of it"):
            if number.kind is Kind.FRACTION:
                yield match.span(), number.value
