"""Times of day: "half past three in the afternoon" and "15:30" for "3:30 pm", "noon" for "12"."""

from __future__ import annotations

import re
from fractions import Fraction

from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import CARDINALS, Kind, Number

_TWELVE = CARDINALS[1:13]
_HOUR = rf"(?P<hour>{'|'.join(_TWELVE)}|\d{{1,2}})"
#: What stands before "past" or "to" -> so much of an hour.
_PARTS = {"half": Fraction(1, 2), "quarter": Fraction(1, 4), "five": Fraction(1, 12), "ten": Fraction(1, 6)} | {
    "twenty": Fraction(1, 3),
    "twenty-five": Fraction(5, 12),
}
_PART = "|".join(sorted(_PARTS, key=len, reverse=True))
_PAST = re.compile(
    rf"\b(?:a\s+)?(?P<part>{_PART})(?:\s+minutes)?\s+(?P<side>past|after|to|before)\s+{_HOUR}\b", re.IGNORECASE
)
_NOON = re.compile(r"\b(?:noon|midday|midnight)\b", re.IGNORECASE)
_HALF_OF_DAY = re.compile(r"[ap]\s?\.?\s?m\b", re.IGNORECASE)
_LATER = re.compile(
    r"\s*(?P<unit>hours?|minutes?)\s+(?:later|after\s+(?:that|this|him|her|it)|afterwards?)\b", re.IGNORECASE
)
#: Before a number that is an hour.
_TIME_BEFORE = re.compile(
    r"\b(?:at|from|until|till|to|by|since|between|and|before|after|around|about)\s+$", re.IGNORECASE
)
#: Behind it, where it counts nothing.
_TIME_ENDS = re.compile(r"\s*(?:[.,;:?!)]|$|[ap]\.?m\b|o['’]clock|(?:and|to|until|till|in|for|on|at)\b)", re.IGNORECASE)
_NEAR = 10


class TimesOfDay:
    """Hours that a text tells, in words, on a clock or by a number of up to twelve."""

    def __init__(self, problem: Problem):
        self._text = problem.text
        spoken = [(match.span(), _hour_of(match)) for match in _PAST.finditer(problem.text)]
        spoken += [(match.span(), Fraction(12)) for match in _NOON.finditer(problem.text)]
        #: Each character of a time in words -> its hour, of twelve.
        self._spoken_at = {at: hour % 12 for span, hour in spoken for at in range(*span)}
        numbers = [one for one in problem.numbers if not one.sign and (one.kind is Kind.CLOCK or _may_be_an_hour(one))]
        #: All hours, of twelve; those that are not told by am or pm; those of clocks.
        self._hours = {*self._spoken_at.values(), *(number.value % 12 for number in numbers)}
        self._open_hours = {
            *self._spoken_at.values(),
            *(number.value % 12 for number in numbers if not self._tells_half(number)),
        }
        later = ((number, _LATER.match(problem.text, number.end)) for number in problem.numbers)
        #: "two hours later" -> that many hours.
        self._later = {
            number: number.value / (60 if match["unit"].lower().startswith("minute") else 1)
            for number, match in later
            if match
        }
        self._clocks = {number.value % 12 for number in problem.numbers if number.kind is Kind.CLOCK}
        #: Hours from which one may be told as so much later.
        self._starts = {*self._spoken_at.values(), *(one.value % 12 for one in numbers if self._is_told_as_a_time(one))}

    def has(self, number: Number, others: TimesOfDay) -> bool:
        """Whether a time of day of another text stands here in another form."""
        if number.kind is Kind.CLOCK:
            told = self._open_hours if others._tells_half(number) else self._hours
            return number.value % 12 in told or any(
                self._is_later(number.value, hours, others) for hours in self._later.values()
            )
        if self.tells_later(number, others):
            return True
        if others._spoken_at.get(number.start) in self._clocks:
            return True
        return not number.sign and _may_be_an_hour(number) and number.value % 12 in self._clocks

    def tells_later(self, number: Number, others: TimesOfDay) -> bool:
        """Whether another text's "two hours later" is told here as a time of day."""
        by = others._later.get(number)
        return by is not None and any(others._is_later(hour, by, self) for hour in self._clocks - others._clocks)

    def _is_later(self, hour: Fraction, by: Fraction, others: TimesOfDay) -> bool:
        """Whether an hour is so much later than one that both texts have."""
        return by % 12 != 0 and (hour - by) % 12 in self._starts & others._starts

    def _is_told_as_a_time(self, number: Number) -> bool:
        start, end = number.outer
        is_told = _TIME_BEFORE.search(self._text, max(0, start - _NEAR), start) and _TIME_ENDS.match(self._text, end)
        return number.kind is Kind.CLOCK or is_told is not None

    def _tells_half(self, number: Number) -> bool:
        """Whether it is "3:30 pm"."""
        return number.kind is Kind.CLOCK and _HALF_OF_DAY.search(self._text, number.start, number.end) is not None


def _hour_of(match: re.Match[str]) -> Fraction:
    word = match["hour"].casefold()
    part = _PARTS[match["part"].lower()]
    hour = _TWELVE.index(word) + 1 if word in _TWELVE else int(word)
    return hour + (part if match["side"].lower() in ("past", "after") else -part)


def _may_be_an_hour(number: Number) -> bool:
    return number.kind is Kind.WHOLE and 0 < number.value <= 12
