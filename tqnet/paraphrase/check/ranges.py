"""Ranges of whole numbers: "1 to 5" and "1, 2, ..., 5" have the numbers of "1, 2, 3, 4 and 5"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number

_NEXT = re.compile(r"\s*(?:[,;+]|[,;]?\s*(?:and|or))\s*")
#: Of characters between two numbers.
_FAR = 20
_UP_TO = re.compile(r"\s*(?:,?\s*(?:to|through|up to|until)|[-–—]|[,+]?\s*(?:\.\s?\.\s?\.|…)\s*[,+]?(?:\s*and)?)\s*")


@dataclass(frozen=True)
class _Range:
    """Whole numbers from ``first`` to ``last``, every ``step``."""

    first: Fraction
    last: Fraction
    step: Fraction


class Ranges:
    """Rows of whole numbers in a text, written out or by their ends."""

    def __init__(self, problem: Problem):
        self._of: dict[Number, _Range] = {}
        self._shortened: set[_Range] = set()
        for row, steps, is_shortened in _rows(problem):
            if len(steps) > 1 or len(row) < 2:
                continue  # not every number between the ends is told
            found = _Range(row[0].value, row[-1].value, next(iter(steps), Fraction(1)))
            self._of |= dict.fromkeys(row, found)
            if is_shortened:
                self._shortened.add(found)
        self._all = set(self._of.values())

    def has(self, number: Number, others: Ranges) -> bool:
        """Whether this text has the row that a number of another text is in, and one of the two leaves out what is
        between its ends.
        """
        found = others._of.get(number)
        return found in self._all and (found in self._shortened or found in others._shortened)


def _rows(problem: Problem) -> Iterator[tuple[list[Number], set[Fraction], bool]]:
    """Each row of rising whole numbers, the steps between those that are told, and whether some are left out."""
    numbers = [number for number in problem.numbers if number.kind is Kind.WHOLE and not number.sign]
    row, steps, is_shortened = numbers[:1], set[Fraction](), False
    for last, number in pairwise(numbers):
        goes_up = last.value < number.value and number.start - last.end <= _FAR
        if goes_up and _NEXT.fullmatch(problem.text, last.end, number.start):
            row.append(number)
            steps.add(number.value - last.value)
        elif goes_up and _UP_TO.fullmatch(problem.text, last.end, number.start):
            row.append(number)
            is_shortened = True
        else:
            yield row, steps, is_shortened
            row, steps, is_shortened = [number], set[Fraction](), False
    yield row, steps, is_shortened
