"""Ranges of whole numbers: "1 to 5" and "1, 2, ..., 5" have the numbers of "1, 2, 3, 4 and 5"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from tqnet.augment.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number

_NEXT = re.compile(r"\s*(?:[,;+]|[,;]?\s*(?:and|or))\s*")
#: Of characters between two numbers.
_FAR = 20
_UP_TO = re.compile(r"\s*(?:,?\s*(?:to|through|up to|until)|[-–—]|[,+]?\s*(?:\.\s?\.\s?\.|…)\s*[,+]?(?:\s*and)?)\s*")


class Ranges:
    """Rows of whole numbers in a text, written out or by their ends."""

    def __init__(self, problem: Problem):
        self._ends: dict[Number, tuple[Fraction, Fraction]] = {}
        self._shortened: set[tuple[Fraction, Fraction]] = set()
        for row, is_shortened in _rows(problem):
            ends = row[0].value, row[-1].value
            self._ends |= dict.fromkeys(row, ends)
            if is_shortened:
                self._shortened.add(ends)
        self._all = set(self._ends.values())

    def has(self, number: Number, others: Ranges) -> bool:
        """Whether this text has a row with the same ends as the one of a number of another text, and one of the two
        leaves out what is between.
        """
        ends = others._ends.get(number)
        return ends in self._all and (ends in self._shortened or ends in others._shortened)


def _rows(problem: Problem) -> Iterator[tuple[list[Number], bool]]:
    """Each row of rising whole numbers, and whether some are left out."""
    numbers = [number for number in problem.numbers if number.kind is Kind.WHOLE and not number.sign]
    row, is_shortened = numbers[:1], False
    for last, number in pairwise(numbers):
        goes_up = last.value < number.value and number.start - last.end <= _FAR
        if goes_up and _NEXT.fullmatch(problem.text, last.end, number.start):
            row.append(number)
        elif goes_up and _UP_TO.fullmatch(problem.text, last.end, number.start):
            row.append(number)
            is_shortened = True
        else:
            if len(row) > 1:
                yield row, is_shortened
            row, is_shortened = [number], False
    if len(row) > 1:
        yield row, is_shortened
