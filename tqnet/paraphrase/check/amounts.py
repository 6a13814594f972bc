"""Amounts of a text, numbers with their units, and whether another text has them in other units.

"1.5 hours", "90 minutes", "an hour and a half" and "1 hour 30 minutes" are one amount, as are "a week" and "7 days",
"25 cents" and "$0.25".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tqnet.paraphrase.units import Form, Unit, size
from tqnet.text.numbers import Kind, Number

#: "Half an hour", "a quarter of an hour", "three quarters of a mile".
_OF_ONE = re.compile(r"\s+(?:of\s+)?(?:an?|the|one)\s+", re.IGNORECASE)
_AND_A = re.compile(r"\s+and\s+(?:an?\s+)?", re.IGNORECASE)
_IN_A_ROW = re.compile(r"\s*(?:,|(?:,\s*)?\b(?:and|or|to)\b)\s*", re.IGNORECASE)
_NEXT_PART = re.compile(r"\s*(?:,|\band\b|,\s*and\b)?\s*", re.IGNORECASE)
#: Which pint has as other things, or not at all.
_PERIODS = {
    ("fortnight", "fortnights"): (14, "day"),
    ("decade", "decades"): (10, "year"),
    ("century", "centuries"): (100, "year"),
}
_OF_PERIOD = {word: long for words, long in _PERIODS.items() for word in words}
_PERIOD = re.compile(rf"[\s-]{{0,3}}\b({'|'.join(_OF_PERIOD)})\b", re.IGNORECASE)
#: Significant digits that a conversion keeps.
_EXACT = 9

#: What is measured, and how much of it there is.
Size = tuple[str, float]


class Measured(Protocol):
    """A text whose numbers and units are found: a Problem, or a text in another language."""

    @property
    def text(self) -> str: ...
    @property
    def numbers(self) -> Sequence[Number]: ...
    @property
    def units(self) -> Sequence[Unit]: ...


@dataclass(frozen=True, slots=True)
class Amount:
    """``text[start:end]``, so much of something.

    Attributes:
        numbers, units: That it is made of; no number in "a week".
        size: The same of all ways to write it.
    """

    start: int
    end: int
    numbers: tuple[Number, ...]
    units: tuple[Unit, ...]
    size: Size


class Amounts:
    """Those of a text, each also as the part of a longer one: "1 hour 20 minutes" has three."""

    def __init__(self, measured: Measured):
        self._sizes: Counter[Size] = Counter()
        self._of_numbers: dict[Number, list[Size]] = {}
        self._of_units: dict[Unit, list[Size]] = {}
        for amount in (*_amounts(measured), *_in_rows(measured), *_periods(measured)):
            self._sizes[amount.size] += 1
            for number in amount.numbers:
                self._of_numbers.setdefault(number, []).append(amount.size)
            for unit in amount.units:
                self._of_units.setdefault(unit, []).append(amount.size)

    def has(self, part: Number | Unit, others: Amounts, as_often: bool = False) -> bool:
        """Whether this text has an amount that a number or a unit of another text is part of.

        Args:
            as_often: It must have it as often.
        """
        own = others._of_numbers.get(part, ()) if isinstance(part, Number) else others._of_units.get(part, ())
        return any(self._sizes[one] >= (others._sizes[one] if as_often else 1) for one in own)

    def measures(self, number: Number) -> bool:
        """Whether a number of this text has a unit."""
        return number in self._of_numbers


def same_size(value: Fraction | float, name: str) -> Size:
    """So much in a unit, to be compared with so much in another one."""
    dimension, one = size(name)
    return dimension, float(f"{float(value) * one:.{_EXACT}g}")


def _amounts(measured: Measured) -> Iterator[Amount]:
    last: Amount | None = None
    for amount in _simple(measured):
        yield amount
        if last is not None and _goes_on(measured.text, last, amount):
            total = float(f"{last.size[1] + amount.size[1]:.{_EXACT}g}")
            numbers, units = last.numbers + amount.numbers, last.units + amount.units
            amount = Amount(last.start, amount.end, numbers, units, (amount.size[0], total))
            yield amount
        last = amount


def _simple(measured: Measured) -> Iterator[Amount]:
    """Amounts in one unit, in their order."""
    text, ends, starts = measured.text, {}, {}
    for one in measured.numbers:
        ends[one.end], starts[one.start] = one, one
    for unit in measured.units:
        if unit.number is None and (unit.plural or unit.form is not Form.WORD):
            continue  # "how many hours", "in km"
        number = unit.number or _part_before(text, unit, ends)
        value, numbers, start, end = Fraction(1), list[Number](), unit.start, unit.end
        if number is not None:
            value, numbers, start = number.value, [number], min(start, number.start)
        more = _AND_A.match(text, end)
        half = starts.get(more.end()) if more else None
        if half is not None and half.spelled and half.kind is Kind.FRACTION and half.value < 1:
            value, numbers, end = value + half.value, [*numbers, half], half.end
        yield Amount(start, end, tuple(numbers), (unit,), same_size(value, unit.name))


def _in_rows(measured: Measured) -> Iterator[Amount]:
    """Numbers before another one that has their unit too: the 20 of "20 and 30 minutes"."""
    units = {unit.number: unit for unit in measured.units if unit.number is not None}
    following: Number | None = None
    for number in reversed(measured.numbers):
        unit = units.get(following) if following else None
        shares_it = following and _IN_A_ROW.fullmatch(measured.text, number.end, following.start)
        if unit and shares_it and number not in units and not number.sign:
            units[number] = unit
            yield Amount(*number.span, (number,), (), same_size(number.value, unit.name))
        following = number


def _periods(measured: Measured) -> Iterator[Amount]:
    """ "A decade" and "two decades", but not "how many decades"."""
    ends = {number.end: number for number in measured.numbers}
    singular = {one for one, _ in _PERIODS}
    for match in _PERIOD.finditer(measured.text):
        number, word = ends.get(match.start()), match[1].lower()
        if number is not None or word in singular:
            many, unit = _OF_PERIOD[word]
            value, numbers = (number.value, (number,)) if number else (Fraction(1), ())
            start = number.start if number else match.start(1)
            yield Amount(start, match.end(), numbers, (), same_size(many * value, unit))


def _part_before(text: str, unit: Unit, ends: dict[int, Number]) -> Number | None:
    """The "half" of "half an hour"."""
    for match in _OF_ONE.finditer(text, max(0, unit.start - 12), unit.start):
        number = ends.get(match.start())
        if match.end() == unit.start and number is not None and number.kind is Kind.FRACTION:
            return number
    return None


def _goes_on(text: str, last: Amount, amount: Amount) -> bool:
    """Whether an amount is the rest of another one: the 20 minutes of "1 hour 20 minutes"."""
    (first, *_), (second,) = last.units, amount.units
    smaller = first.dimension == second.dimension and size(second.name)[1] < size(first.name)[1]
    return smaller and second.number is not None and _NEXT_PART.fullmatch(text, last.end, amount.start) is not None
