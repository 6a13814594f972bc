"""What goes up or down by a number: "increased by 5%", "a 5% loss"."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.values import by_value, value_of, written
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number
from tqnet.text.replacements import OTHERS

_FURTHER = {
    "up": """
    increases increased increasing raise raises raising rise rising rose risen grow grows growing grew grown growth
    gains gained gaining profits surcharge
    """,
    "down": """
    decreases decreased decreasing reduce reduces reducing reduction fall falling fell fallen drop drops dropping
    dropped decline declines declined declining shrinks shrank shrinking lose loses losing lost losses
    discounts off
    """,
}
#: Word -> "up" or "down".
_DIRECTIONS = {
    word: direction
    for senses, reason in zip(OTHERS.lines, OTHERS.reasons, strict=True)
    if reason == "directions of a change"
    for direction, words in zip(_FURTHER, senses, strict=True)
    for word in words
} | {word: direction for direction, words in _FURTHER.items() for word in words.split()}
_BEFORE = re.compile(r"\b([a-z]+)\s+(?:(?:by|of|at)\s+)?(?:an?\s+|another\s+)?$", re.IGNORECASE)
_BEHIND = re.compile(r"\s+([a-z]+)", re.IGNORECASE)
_NEAR = 30


def directions(problem: Problem) -> dict[Fraction, str]:
    """Value -> whether something goes "up" or "down" by it."""
    found: dict[Fraction, set[str]] = defaultdict(set)
    for number in problem.numbers:
        start, end = number.outer
        for match in (_BEFORE.search(problem.text, max(0, start - _NEAR), start), _BEHIND.match(problem.text, end)):
            if match and (direction := _DIRECTIONS.get(match[1].lower())):
                found[value_of(number)].add(direction)
    return {value: directions.pop() for value, directions in found.items() if len(directions) == 1}


def other_directions(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each percentage by which something goes up in one text and down in the other one.

    Of other numbers, what one gains another one may have lost; a percentage is of another whole from the other side.
    """
    before, after = directions(original), directions(paraphrase)
    own, others = by_value(original), by_value(paraphrase)
    return [
        Difference(Part.NUMBER, Change.CHANGED, _told(original, own[value], was), _told(paraphrase, others[value], now))
        for value, was, now in ((value, before[value], after[value]) for value in before if value in after)
        if was != now and all(number.sign == "%" for number in (*own[value], *others[value]))
    ]


def _told(problem: Problem, numbers: list[Number], direction: str) -> str:
    return f"{written(problem, numbers[0])} {direction}"
