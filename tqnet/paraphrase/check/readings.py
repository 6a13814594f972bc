"""Implicit numbers of a text: "half past three", "a pair", "3 out of 5", the three of "A, B and C".

A missing implicit number is not a loss; but a number is neither lost nor new if the other text says it implicitly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from tqnet.paraphrase.check import LATEX_FRACTION, latex_fraction
from tqnet.paraphrase.check.text import nouns
from tqnet.paraphrase.check.units import Amounts, value_of
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import Covered, data
from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.numbers import CARDINALS, LONGEST, Kind, Number, find_numbers

_DIGITS = re.compile(r"\d+(?:\.\d+)?")
#: Words before a number that refer back: "the 20 apples".
DEFINITE_BEFORE = re.compile(r"\b(?:the|these|those|this|that|all|his|her|its|their|same|both)\s+$", re.IGNORECASE)


class ImplicitNumbers:
    """The values that a text says other than by its numbers.

    Each reading covers one such form; its ``has`` tells whether a number of another text is said that way.
    """

    def __init__(self, problem: Problem):
        self.problem, self.amounts = problem, Amounts(problem)

    def has(self, number: Number, others: ImplicitNumbers) -> bool:
        """Return True if this text says a number of another text in other words or units."""
        return (
            self.amounts.has(number, others.amounts, as_often=abs(number.value) in self._numbers)
            or self._says(number, others)
            or any(mine.has(number, other) for mine, other in zip(self._readings, others._readings, strict=True))
        )

    def reads(self, value: Fraction) -> bool:
        """Return True if a value occurs anywhere in this text."""
        return self._values[value] > 0 or value in self.coefficients or value in self._numbers

    @cached_property
    def coefficients(self) -> dict[Fraction, str]:
        """Digits outside numbers and formulas, as in "3x"."""
        text = self.problem.text
        known = Covered([*formula_character_spans(text), *(number.outer for number in self.problem.numbers)])
        digits = (match for match in _DIGITS.finditer(text) if match.start() not in known and len(match[0]) <= LONGEST)
        return {Fraction(match[0]): match[0] for match in digits}

    @cached_property
    def _readings(self) -> tuple[Any, ...]:
        return tuple(reading(self.problem) for reading in _READINGS)

    def _says(self, number: Number, others: ImplicitNumbers) -> bool:
        """Return True if this text says a value implicitly, more often than the other text does."""
        if number.sign not in ("", "%"):
            return False
        value = value_of(number) if number.sign else abs(number.value)
        return self._values[value] > others._values[value] or value in self.coefficients

    @cached_property
    def _values(self) -> Counter[Fraction]:
        text = self.problem.text
        numbers = Covered(number.outer for number in self.problem.numbers)
        values: Counter[Fraction] = Counter()
        for value, words in _words().items():
            places = words.finditer(text)
            values[value] = sum(word.start() not in numbers or word[0].endswith("other") for word in places)
        digits = [digits for span in formula_character_spans(text) for digits in _DIGITS.findall(text, *span)]
        values.update(Fraction(number) for number in digits if len(number) <= LONGEST)
        values.update(value for (start, _), value in _parts(text) if start not in numbers)
        values.update(filter(None, map(latex_fraction, LATEX_FRACTION.finditer(text))))
        return values

    @cached_property
    def _numbers(self) -> set[Fraction]:
        return {abs(number.value) for number in self.problem.numbers}


@cache
def _words() -> dict[Fraction, re.Pattern[str]]:
    words = data("numbers")["words"]
    return {Fraction(value): re.compile(rf"\b(?:{words[value]})\b", re.IGNORECASE) for value in words}


_HOURS = CARDINALS[1:13]
#: Before "past" or "to", parts of an hour.
_PARTS_OF_HOUR = {
    part: Fraction(minutes, 60)
    for part, minutes in (("half", 30), ("quarter", 15), ("twenty-five", 25), ("five", 5), ("ten", 10), ("twenty", 20))
}
_PAST = re.compile(
    rf"\b(?:a\s+)?(?P<part>{'|'.join(_PARTS_OF_HOUR)})(?:\s+minutes)?\s+(?P<side>past|after|to|before)\s+"
    rf"(?P<hour>{'|'.join(_HOURS)}|\d{{1,2}})\b",
    re.IGNORECASE,
)
_NOON = re.compile(r"\b(?:noon|midday|midnight)\b", re.IGNORECASE)
_HALF_OF_DAY = re.compile(r"[ap]\s?\.?\s?m\b", re.IGNORECASE)


class _Clock:
    """Times of day: "half past three in the afternoon" and "15:30" for "3:30 pm", "noon" for "12"."""

    def __init__(self, problem: Problem):
        self._text = problem.text
        spoken = [(match.span(), _hour(match)) for match in _PAST.finditer(problem.text)]
        spoken += [(match.span(), Fraction(12)) for match in _NOON.finditer(problem.text)]
        #: Position of each character of a time in words -> its hour on a 12-hour clock.
        self._spoken = {at: hour % 12 for span, hour in spoken for at in range(*span)}
        hours = [number for number in problem.numbers if number.kind is Kind.CLOCK or _may_be_an_hour(number)]
        #: All hours on a 12-hour clock, those without am or pm, and those of clocks.
        spoken_hours = set(self._spoken.values())
        self._hours = spoken_hours | {number.value % 12 for number in hours}
        self._open = spoken_hours | {number.value % 12 for number in hours if not self._tells_half(number)}
        self._clocks = {number.value % 12 for number in hours if number.kind is Kind.CLOCK}

    def has(self, number: Number, others: _Clock) -> bool:
        if number.kind is Kind.CLOCK:
            return number.value % 12 in (self._open if others._tells_half(number) else self._hours)
        spoken = others._spoken.get(number.start)
        return spoken in self._clocks or (_may_be_an_hour(number) and number.value % 12 in self._clocks)

    def _tells_half(self, number: Number) -> bool:
        return number.kind is Kind.CLOCK and _HALF_OF_DAY.search(self._text, number.start, number.end) is not None


def _hour(match: re.Match[str]) -> Fraction:
    word, part = match["hour"].casefold(), _PARTS_OF_HOUR[match["part"].lower()]
    hour = _HOURS.index(word) + 1 if word in _HOURS else int(word)
    return hour + (part if match["side"].lower() in ("past", "after") else -part)


def _may_be_an_hour(number: Number) -> bool:
    return number.kind is Kind.WHOLE and not number.sign and 0 < number.value <= 12


_OUT_OF = re.compile(r"\s+(?:in|(?:out\s+)?of|(?:in|of|out\s+of|for)\s+every)\s+|\s?:\s?")
#: Parts are numbers only before "of"; "a third" may be one elsewhere, too.
_PART = re.compile(r"\b(?:an?|one)[\s-][a-z]+(?:th|rd)\b", re.IGNORECASE)
#: "One sixth and three quarters": quarters may also be coins.
_IN_PARTS = {"quarters": 4, "halves": 2, "thirds": 3}
_PARTS = re.compile(rf"[\s-]({'|'.join(_IN_PARTS)})\b", re.IGNORECASE)


class _Shares:
    """Shares: "3 out of 5" is 3/5, or 60%, and so is a ratio of 3:5."""

    def __init__(self, problem: Problem):
        self._by_number: dict[Number, Fraction] = {}
        self._numbers = Counter(map(value_of, problem.numbers))
        for part, whole in pairwise(problem.numbers):
            if part not in self._by_number and _are_one_share(part, whole, problem.text):
                self._by_number[part] = self._by_number[whole] = part.value / whole.value
        for number in problem.numbers:
            if number.kind is Kind.WHOLE and (match := _PARTS.match(problem.text, number.end)):
                self._by_number[number] = number.value / _IN_PARTS[match[1].lower()]
        self._shares = Counter(self._by_number.values())

    def has(self, number: Number, others: _Shares) -> bool:
        if number in others._by_number:
            share = others._by_number[number]
            return self._numbers[share] > others._numbers[share]
        return self._shares[value_of(number)] > others._shares[value_of(number)]


def _are_one_share(part: Number, whole: Number, text: str) -> bool:
    if whole.start - part.end > 20 or not _OUT_OF.fullmatch(text, part.end, whole.start):
        return False
    return part.kind is whole.kind is Kind.WHOLE and not (part.sign or whole.sign) and whole.value > 0


def _parts(text: str) -> Iterator[tuple[Span, Fraction]]:
    """Yield the span and value of each "a third" or "one fifth"."""
    for match in _PART.finditer(text):
        for number in find_numbers(f"{match[0]} of it"):
            if number.kind is Kind.FRACTION:
                yield match.span(), number.value


_UP_TO = re.compile(r"\s*(?:,?\s*(?:to|through|up to|until)|[-–—]|,?\s*(?:\.\s?\.\s?\.|…),?)\s*")
#: Maximum length of a range; nobody writes out longer ones.
_LONGEST_RANGE = 50


class _Ranges:
    """Ranges of whole numbers: "1 to 5" has the numbers of "1, 2, 3, 4 and 5"."""

    def __init__(self, problem: Problem):
        self._values = {number.value for number in problem.numbers}
        self._ranges = [
            range(int(first.value), int(last.value) + 1)
            for first, last in pairwise(problem.numbers)
            if first.kind is last.kind is Kind.WHOLE
            and last.value - first.value < _LONGEST_RANGE
            and _UP_TO.fullmatch(problem.text, first.end, last.start)
        ]

    def has(self, number: Number, others: _Ranges) -> bool:
        return any(number.value in values and others._values.issuperset(values) for values in self._ranges)


_BASE = r"(?:(?:the|its|his|her|their)\s+)?(?P<base>[a-z]+)"
_OF = re.compile(rf"\s*of\s+{_BASE}", re.IGNORECASE)
_MORE = re.compile(
    rf"\s*(?:(?P<up>above|over|(?:more|higher|greater)\s+than)|below|under|(?:less|lower|fewer)\s+than)\s+{_BASE}",
    re.IGNORECASE,
)


class _Percents:
    """Shares of a base, and increases over it: "140% of the cost" is "40% above cost"."""

    def __init__(self, problem: Problem):
        #: Number -> whether it is more or less than a base, the share that results, and the base.
        self._by_number: dict[Number, tuple[bool, Fraction, str]] = {}
        for number in problem.numbers:
            if number.sign != "%" and number.kind is not Kind.FRACTION:
                continue
            value, end = value_of(number), number.outer[1]
            if share := _OF.match(problem.text, end):
                self._by_number[number] = False, value, share["base"].lower()
            elif more := _MORE.match(problem.text, end):
                self._by_number[number] = True, 1 + (value if more["up"] else -value), more["base"].lower()
        self._counts = Counter(self._by_number.values())

    def has(self, number: Number, others: _Percents) -> bool:
        key = others._by_number.get(number)
        return key is not None and self._counts[not key[0], key[1], key[2]] >= others._counts[key]


_THE = r"(?:(?:the|(?-i:an?)|his|her|their|its|my)\s+)?"
_WHOM = r"[a-z]+(?:\s+(?-i:[A-Z])\b)?"  # "Ann", "rope", or "rope B"
#: After a multiple: "as old as Tom", "times as many pens as Tom", "the age of Tom", "Tom's age", "of what Tom weighs".
_COMPARED = re.compile(
    rf"\s*(?:times\s+)?(?:as\s+(?P<how>[a-z]+(?:\s+[a-z]+){{0,3}}?)\s+as\s+{_THE}(?P<as>{_WHOM})"
    rf"|(?:of\s+)?the\s+[a-z]+\s+of\s+{_THE}(?P<of>{_WHOM})|(?:of\s+)?{_THE}(?P<owner>{_WHOM})['’]s\b"
    rf"|(?:of\s+)?what\s+{_THE}(?P<what>{_WHOM})|(?:of\s+)?{_THE}(?P<plain>{_WHOM}))",
    re.IGNORECASE,
)
#: "As long as it is wide" compares the length with the width.
_SIDES = {"long": "length", "wide": "width", "broad": "breadth", "high": "height", "tall": "height", "deep": "depth"}
_OF_ITSELF = re.compile(rf"(?:it|they)\s+(?:is|are)\s+({'|'.join(_SIDES)})\b", re.IGNORECASE)
_MULTIPLIES = re.compile(r"\b(?:twice|half|double|thrice|times|of)\b", re.IGNORECASE)  # unlike "45 left"
#: The two of "one number is twice another".
_NAMELESS = frozenset(("another", "other"))
_CLAUSE_ENDS = re.compile(r"[.?!]\s|\band\b(?!\s+(?:is|has|weighs)\b)|\bwhile\b|\bbut\b")


@dataclass(frozen=True, slots=True)
class _Multiple:
    """A comparison, so many times as much as ``whom``; the text ``before`` it in the clause holds the subject."""

    value: Fraction
    how: str
    whom: str
    before: str

    def turns(self, other: _Multiple) -> bool:
        """Return True if both make the same comparison from opposite sides."""
        if self.value * other.value != 1 or not (self.how.startswith(other.how) or other.how.startswith(self.how)):
            return False
        if self.whom in _NAMELESS:
            return other.whom in _NAMELESS
        return _stands_in(self.whom, other.before) and _stands_in(other.whom, self.before)


class _Multiples:
    """Multiples, also from the other side: "Ann is half as old as Tom" is "Tom is twice as old as Ann"."""

    def __init__(self, problem: Problem):
        text, known = problem.text, {number.outer[0] for number in problem.numbers}
        self._by_number = {
            number: multiple
            for number in problem.numbers
            if (multiple := _multiple(text, number.outer[0], number.end, number.value))
        }
        others = (_multiple(text, *span, value) for span, value in _parts(text) if span[0] not in known)
        self._all = [*self._by_number.values(), *filter(None, others)]

    def has(self, number: Number, others: _Multiples) -> bool:
        multiple = others._by_number.get(number)
        turned = [other for other in self._all if multiple and multiple.turns(other)]
        alike = [other for other in others._all if turned and other.turns(turned[0])]
        return 0 < len(alike) <= len(turned)


def _multiple(text: str, start: int, end: int, value: Fraction) -> _Multiple | None:
    """Read a multiple; None if it compares with nobody, or with somebody indistinguishable from the subject."""
    compared = _COMPARED.match(text, end)
    if not compared or (compared["plain"] and not _MULTIPLIES.search(text, start, compared.start("plain"))):
        return None
    whom = next(filter(None, (compared[name] for name in ("as", "of", "owner", "what", "plain")))).lower()
    before = _CLAUSE_ENDS.split(text[max(0, start - 200) : start].lower())[-1]
    side = _SIDES.get((compared["how"] or "").lower())
    if side and (other := _OF_ITSELF.match(text, compared.start("as"))):
        return _Multiple(value, "", _SIDES[other[1].lower()], side)
    if whom in nouns("pronouns") - _NAMELESS or _stands_in(whom, before):
        return None
    return _Multiple(value, (compared["how"] or "").lower(), whom, before)


def _stands_in(whom: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(whom)}\b", words) is not None


_SIDES_BEHIND = re.compile(r"[\s-]+(?:(?:equal|whole|square)\s+)?([a-z]+?)s?\b", re.IGNORECASE)


_FIGURES: dict[str, dict[str, int]] = data("numbers")["figures"]


def _words_of(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


class _Figures:
    """Numbers of parts implied by names of figures: the six faces of a cube or a die, the four sides of a square."""

    def __init__(self, problem: Problem):
        self._text, words = problem.text, _words_of(problem.text)
        self._names = {name for name in _FIGURES if {name, f"{name}s"} & words}

    def has(self, number: Number, others: _Figures) -> bool:
        part = _SIDES_BEHIND.match(others._text, number.end)
        known = (_FIGURES[name] for name in self._names & others._names)
        return part is not None and any(parts.get(part[1].lower()) == number.value for parts in known)


_ITEM = (
    r"(?<![\w$])(?>(?:Mrs?|Ms|Dr)\.\s[A-Z][\w'’]*|[A-Z][\w'’]*|[a-zA-Z]|\$[^$\s]+\$|\d+(?:,\d{3}(?!\d))*(?:\.\d+)?)"
    r"(?![\w$])"
)
_ITEMS = re.compile(_ITEM)
#: "A and B", "Tom, Ann and Eve", "15, 18 and 22". Possessive: a long row has many readings as items and commas.
_ROW = re.compile(rf"{_ITEM}(?:\s*+,\s*+{_ITEM})*+(?:\s*+,)?\s++(?:and|or|&)\s++{_ITEM}")


class _Rows:
    """Counts of what a text lists: the two of "two pipes, A and B", the days of "on Saturday and on Sunday"."""

    def __init__(self, problem: Problem):
        self._text = problem.text
        rows = {match.span(): _ITEMS.findall(match[0]) for match in _ROW.finditer(problem.text)}
        self._inside = Covered(rows)
        #: Lengths of rows of three or more items, and of rows of two letters.
        self._lengths = {len(row) for row in rows.values() if len(row) > 2 or len(max(row, key=len)) == 1}
        words = _words_of(problem.text)
        days = sum(not words.isdisjoint((day, f"{day}s")) for day in data("numbers")["days"])
        self._days = 2 if "weekend" in words else days
        self._of_days = {unit.number for unit in problem.units if unit.name == "day"}

    def has(self, number: Number, others: _Rows) -> bool:
        if number.kind is not Kind.WHOLE or number.sign or number.value < 2:
            return False
        if number in others._of_days:
            return number.value in (self._days, others._days)
        if number.value == 2 and DEFINITE_BEFORE.search(others._text, max(0, number.start - 8), number.start):
            return True
        return number.start not in others._inside and number.value in self._lengths | others._lengths


_READINGS = (_Clock, _Shares, _Ranges, _Percents, _Multiples, _Figures, _Rows)
