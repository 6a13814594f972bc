"""Numbers that are even: "divisible by 2" and "with a factor of 2"."""

from __future__ import annotations

import re

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

_EVEN = re.compile(r"(?<!\bnot\s)\beven\b", re.IGNORECASE)
_DIVISIBLE_BEFORE = re.compile(r"\b(?:divi(?:sible|ded)\s+by|multiples?\s+of|factor\s+of)\s+$", re.IGNORECASE)
#: Of characters in which those words stand.
_NEAR = 16


class Even:
    """Whether a text tells of even numbers."""

    def __init__(self, problem: Problem):
        self._text = problem.text

    def has(self, number: Number, others: Even) -> bool:
        """Whether what is "divisible by 2" in another text is even here."""
        if number.value != 2 or not _DIVISIBLE_BEFORE.search(others._text, max(0, number.start - _NEAR), number.start):
            return False
        return _EVEN.search(self._text) is not None
