"""Multiples from the other side: "Ann is half as old as Tom" is "Tom is twice as old as Ann"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tqnet.augment.paraphrase.problem import Problem
from tqnet.text.numbers import Number

_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_THE = r"(?:(?:the|his|her|their|its|my)\s+)?"
#: Behind a multiple: "as old as Tom", "times as many pens as Tom", "the age of Tom", "Tom's age", "of what Tom weighs".
_COMPARED = re.compile(
    rf"\s*(?:times\s+)?(?:as\s+[a-z]+(?:\s+[a-z]+){{0,3}}?\s+as\s+{_THE}(?P<as>[a-z]+)"
    rf"|(?:of\s+)?the\s+[a-z]+\s+of\s+{_THE}(?P<of>[a-z]+)"
    rf"|(?:of\s+)?{_THE}(?P<own>[a-z]+)['’]s\b"
    rf"|(?:of\s+)?what\s+{_THE}(?P<what>[a-z]+))",
    re.IGNORECASE,
)
#: "a third", which is a number before "of" alone.
_PART = re.compile(r"\b(?:an?|one)[\s-](?P<part>half|third|quarter|fourth|fifth|sixth|tenth)(?=\s+as\b)", re.IGNORECASE)
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "tenth": 10}


@dataclass(frozen=True, slots=True)
class _Multiple:
    """So many times as much as ``whom``; who is it, stands among the words ``before`` it in the sentence."""

    value: Fraction
    whom: str
    before: frozenset[str]

    def turns(self, other: _Multiple) -> bool:
        """Whether both say the same from two sides."""
        return self.value * other.value == 1 and self.whom in other.before and other.whom in self.before


class Inverses:
    """Multiples of a text."""

    def __init__(self, problem: Problem):
        numbers = [(number.outer[0], number.end, number.value, number) for number in problem.numbers]
        known = {start for start, *_ in numbers}
        parts = [(match.span(), match["part"].lower()) for match in _PART.finditer(problem.text)]
        told = [
            *numbers,
            *((start, end, Fraction(1, _PARTS[part]), None) for (start, end), part in parts if start not in known),
        ]
        self._of: dict[Number, _Multiple] = {}
        self._all: list[_Multiple] = []
        for start, end, value, number in told:
            if compared := _COMPARED.match(problem.text, end):
                sentence = next((begin for begin, stop in problem.sentences if begin <= start < stop), 0)
                before = _WORD.findall(problem.text[sentence:start].lower())
                multiple = _Multiple(value, compared[compared.lastgroup or 0].lower(), frozenset(before))
                self._all.append(multiple)
                if number is not None:
                    self._of[number] = multiple

    def has(self, number: Number, others: Inverses) -> bool:
        """Whether a multiple of another text is told here from the other side."""
        told = others._of.get(number)
        return told is not None and any(told.turns(multiple) for multiple in self._all)
