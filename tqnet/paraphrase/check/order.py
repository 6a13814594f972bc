"""Which of two numbers comes first: "from $80 to $92", "adds 6 and then doubles"."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.values import value_of
from tqnet.paraphrase.problem import Problem

_FROM, _TO = re.compile(r"\bfrom\s+$", re.IGNORECASE), re.compile(r"\s+(?:[a-z]+\s+)?to\s+", re.IGNORECASE)
_THEN = re.compile(
    r"[^.?!;]{0,60}?\b(?:then|afterwards?|after\s+that|next)\b[^.?!;]{0,60}|"
    r"[^.?!]{0,60}[.;]\s+(?:then|afterwards|after\s+that|next)\b[^.?!]{0,60}",
    re.IGNORECASE,
)
#: Between them, what says that the second comes first, or is added to: "5 next, after 3", "5, then adds it to 12".
_TURNS = re.compile(r"\b(?:after|before|first|having|to\s+(?:the|his|her|their|my|its))\b(?!\s+that\b)", re.IGNORECASE)
#: Of characters before a number.
_NEAR = 10


def turned_rows(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Both numbers of "from $80 to $92" and of "adds 6 and then doubles" that come the other way round."""
    before, after = _rows(original), _rows(paraphrase)
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, f"{said} {first}, {last}", f"{said} {last}, {first}")
        for said, first, last in before
        if (said, last, first) in after and (said, first, last) not in after and (said, last, first) not in before
    ]


def _rows(problem: Problem) -> set[tuple[str, Fraction, Fraction]]:
    """Values of two numbers of which one comes first: what says so, and both."""
    text = problem.text
    found = set()
    for one, other in pairwise(problem.numbers):
        between = one.outer[1], other.outer[0]
        if _TO.fullmatch(text, *between) and _FROM.search(text, max(0, one.outer[0] - _NEAR), one.outer[0]):
            found.add(("from", value_of(one), value_of(other)))
        elif _THEN.fullmatch(text, *between) and not _TURNS.search(text, *between):
            found.add(("first", value_of(one), value_of(other)))
    return found
