"""Days that a text names: "over two days" for "on Saturday and on Sunday"."""

from __future__ import annotations

import re

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number

_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: Words by which a text has days without the word.
NAMED = (*_WEEK, "weekend", "today", "yesterday", "tomorrow")
_NAMED = re.compile(rf"\b({'|'.join(NAMED)})s?\b", re.IGNORECASE)


class NamedDays:
    """How many days a text names, and its numbers of days."""

    def __init__(self, problem: Problem):
        named = {match[1].lower() for match in _NAMED.finditer(problem.text)}
        self._many = 2 if named == {"weekend"} else len(named - {"weekend"})
        self._numbers = {unit.number for unit in problem.units if unit.name == "day" and unit.number is not None}

    def has(self, number: Number, others: NamedDays) -> bool:
        """Whether a number of another text says of how many days it or this text has the names."""
        if number.kind is not Kind.WHOLE or number not in others._numbers:
            return False
        return number.value > 0 and number.value in (self._many, others._many)
