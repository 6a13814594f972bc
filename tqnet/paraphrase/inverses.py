"""Multiples from the other side: "Ann is half as old as Tom" is "Tom is twice as old as Ann"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tqnet.augment.paraphrase.problem import Problem
from tqnet.paraphrase.nouns import PRONOUNS
from tqnet.paraphrase.shares import parts
from tqnet.text.numbers import Number

_THE = r"(?:(?:the|(?-i:an?)|his|her|their|its|my)\s+)?"
#: "Ann", "rope", or "rope B".
_WHOM = r"[a-z]+(?:\s+(?-i:[A-Z])\b)?"
#: Behind a multiple: "as old as Tom", "times as many pens as Tom", "the age of Tom", "Tom's age", "of what Tom weighs".
_COMPARED = re.compile(
    rf"\s*(?:times\s+)?(?:as\s+(?P<how>[a-z]+(?:\s+[a-z]+){{0,3}}?)\s+as\s+{_THE}(?P<as>{_WHOM})"
    rf"|(?:of\s+)?the\s+[a-z]+\s+of\s+{_THE}(?P<of>{_WHOM})"
    rf"|(?:of\s+)?{_THE}(?P<own>{_WHOM})['’]s\b"
    rf"|(?:of\s+)?what\s+{_THE}(?P<what>{_WHOM}))",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[.?!]\s")
#: Of characters before a multiple, in which stands who is so much more.
_BEFORE = 200


@dataclass(frozen=True, slots=True)
class _Multiple:
    """So many times as much as ``whom``; who is it, stands ``before`` it in the sentence.

    Attributes:
        how: "old", "many pens" or but "many"; empty where a noun says it.
    """

    value: Fraction
    how: str
    whom: str
    before: str

    def turns(self, other: _Multiple) -> bool:
        """Whether both say the same from two sides."""
        return (
            self.value * other.value == 1
            and (self.how.startswith(other.how) or other.how.startswith(self.how))
            and _stands_in(self.whom, other.before)
            and _stands_in(other.whom, self.before)
        )


class Inverses:
    """Multiples of a text."""

    def __init__(self, problem: Problem):
        known = {number.outer[0] for number in problem.numbers}
        told = [
            *((number.outer[0], number.end, number.value, number) for number in problem.numbers),
            *((*span, value, None) for span, value in parts(problem.text) if span[0] not in known),
        ]
        self._of: dict[Number, _Multiple] = {}
        self._all: list[_Multiple] = []
        for start, end, value, number in told:
            multiple = _read(problem.text, start, end, value)
            if multiple is not None:
                self._all.append(multiple)
                if number is not None:
                    self._of[number] = multiple

    def has(self, number: Number, others: Inverses) -> bool:
        """Whether a multiple of another text is told here from the other side, as often as there."""
        told = others._of.get(number)
        if told is None:
            return False
        turned = [multiple for multiple in self._all if told.turns(multiple)]
        alike = [multiple for multiple in others._all if turned and multiple.turns(turned[0])]
        return 0 < len(alike) <= len(turned)


def _read(text: str, start: int, end: int, value: Fraction) -> _Multiple | None:
    """None where nobody is compared with, or somebody who cannot be told from who is more."""
    compared = _COMPARED.match(text, end)
    if not compared:
        return None
    whom = next(filter(None, (compared[name] for name in ("as", "of", "own", "what")))).lower()
    before = _SENTENCE_ENDS.split(text[max(0, start - _BEFORE) : start].lower())[-1]
    if whom in PRONOUNS or _stands_in(whom, before):
        return None
    return _Multiple(value, (compared["how"] or "").lower(), whom, before)


def _stands_in(whom: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(whom)}\b", words) is not None
