"""Ratios in other numbers: 3:2:1 for 1/2 : 1/3 : 1/6; whose they are, turned.py looks at."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

#: A row of more is a table, whose shares are long fractions.
_TERMS = 10
_COLON = re.compile(r"\s*:\s*")


class Ratios:
    """Rows of numbers with colons between them, each as the shares of its terms, in whatever order."""

    def __init__(self, problem: Problem):
        rows = [problem.numbers[:1]]
        for last, number in pairwise(problem.numbers):
            if _COLON.fullmatch(problem.text, last.end, number.start):
                rows[-1].append(number)
            else:
                rows.append([number])
        self._of: dict[Number, tuple[Fraction, ...]] = {}
        for row in rows:
            total = sum(number.value for number in row)
            if 1 < len(row) <= _TERMS and total:
                self._of |= dict.fromkeys(row, tuple(sorted(number.value / total for number in row)))
        self._all = set(self._of.values())

    def has(self, number: Number, others: Ratios) -> bool:
        """Whether the ratio that a number of another text is part of stands here, in whatever numbers."""
        return others._of.get(number) in self._all
