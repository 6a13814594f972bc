"""Amounts and units: "1.5 hours", "90 minutes" and "an hour and a half" are the same, 5 miles and 5 km are not."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Protocol

from tqnet.paraphrase.check import Change, Difference, Part
from tqnet.paraphrase.check.text import AlikeSentences, may_be_called, with_macros
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import data
from tqnet.paraphrase.units import Form, Unit, in_words, size, spellings
from tqnet.text.numbers import CARDINALS, Kind, Number

#: "Half an hour", "a quarter of an hour", "three quarters of a mile".
_OF_ONE = re.compile(r"\s+(?:of\s+)?(?:an?|the|one)\s+", re.IGNORECASE)
_AND_A = re.compile(r"\s+and\s+(?:an?\s+)?", re.IGNORECASE)
_NEXT_PART = re.compile(r"\s*(?:,|\band\b|,\s*and\b)?\s*", re.IGNORECASE)
#: Periods that pint defines differently, or not at all.
_PERIODS = {"fortnight": (14, "day"), "decade": (10, "year"), "century": (100, "year"), "centurie": (100, "year")}
_PERIOD = re.compile(rf"[\s-]{{0,3}}\b({'|'.join(_PERIODS)})(s?)\b", re.IGNORECASE)
#: Number of significant digits that a conversion keeps.
_EXACT = 9

#: The dimension and the amount in its base unit.
Size = tuple[str, float]


class Measured(Protocol):
    """A text whose numbers and units are known: a Problem, or a text in another language."""

    @property
    def text(self) -> str: ...
    @property
    def numbers(self) -> Sequence[Number]: ...
    @property
    def units(self) -> Sequence[Unit]: ...


@dataclass(frozen=True, slots=True)
class _Amount:
    """``text[start:end]``, made up of numbers (none in "a week") and units."""

    start: int
    end: int
    numbers: tuple[Number, ...]
    units: tuple[Unit, ...]
    size: Size


class Amounts:
    """The amounts of a text, each also as part of a longer one: "1 hour 20 minutes" has three."""

    def __init__(self, measured: Measured):
        self._sizes: Counter[Size] = Counter()
        self._by_part: dict[Number | Unit, list[Size]] = defaultdict(list)
        for amount in (*_amounts(measured), *_periods(measured)):
            self._sizes[amount.size] += 1
            parts: tuple[Number | Unit, ...] = (*amount.numbers, *amount.units)
            for part in parts:
                self._by_part[part].append(amount.size)

    def has(self, part: Number | Unit, others: Amounts, as_often: bool = False) -> bool:
        """Return True if this text has an amount (as often) that a number or unit of another text is part of."""
        sizes = others._by_part.get(part, ())
        return any(self._sizes[size] >= (others._sizes[size] if as_often else 1) for size in sizes)


def _size_of(value: Fraction | float, name: str) -> Size:
    """Return an amount in its base unit."""
    dimension, factor = size(name)
    return dimension, float(f"{float(value) * factor:.{_EXACT}g}")


def _amounts(measured: Measured) -> Iterator[_Amount]:
    last: _Amount | None = None
    for amount in _simple(measured):
        yield amount
        if last is not None and _goes_on(measured.text, last, amount):
            total = float(f"{last.size[1] + amount.size[1]:.{_EXACT}g}")
            numbers, units = last.numbers + amount.numbers, last.units + amount.units
            amount = _Amount(last.start, amount.end, numbers, units, (amount.size[0], total))
            yield amount
        last = amount


def _simple(measured: Measured) -> Iterator[_Amount]:
    """Yield amounts in one unit, in order."""
    text = measured.text
    ends = {number.end: number for number in measured.numbers}
    starts = {number.start: number for number in measured.numbers}
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
        yield _Amount(start, end, tuple(numbers), (unit,), _size_of(value, unit.name))


def _periods(measured: Measured) -> Iterator[_Amount]:
    """Yield "a decade" and "two decades", but not "how many decades"."""
    ends = {number.end: number for number in measured.numbers}
    for match in _PERIOD.finditer(measured.text):
        number = ends.get(match.start())
        if number is not None or not match[2]:
            length, unit = _PERIODS[match[1].lower()]
            value, numbers = (number.value, (number,)) if number else (Fraction(1), ())
            yield _Amount(match.start(), match.end(), numbers, (), _size_of(length * value, unit))


def _part_before(text: str, unit: Unit, ends: dict[int, Number]) -> Number | None:
    """Return the "half" of "half an hour"."""
    for match in _OF_ONE.finditer(text, max(0, unit.start - 12), unit.start):
        number = ends.get(match.start())
        if match.end() == unit.start and number is not None and number.kind is Kind.FRACTION:
            return number
    return None


def _goes_on(text: str, last: _Amount, amount: _Amount) -> bool:
    """Return True for the 20 minutes of "1 hour 20 minutes"."""
    (first, *_), (second,) = last.units, amount.units
    smaller = first.dimension == second.dimension and size(second.name)[1] < size(first.name)[1]
    return smaller and second.number is not None and _NEXT_PART.fullmatch(text, last.end, amount.start) is not None


_PER_BEFORE = re.compile(r"(?:\b(?:per|an?|each|every|one)|/)\s*$", re.IGNORECASE)
#: Before a unit of the answer, which "how long" may ask for, too.
_ASKED_BEFORE = re.compile(r"\b(?:many|much|number of|in|into|to)\s+(?:the\s+)?$", re.IGNORECASE)
#: "Ann is 9 years old" is "Ann is 9".
_OF_AGE = re.compile(r"[\s-]*(?:old|of\s+age|younger)\b", re.IGNORECASE)
#: The "one day" of a story is not a rate.
_ONE_DAY = re.compile(r"(?<!in )(?<!for )(?<!per )(?<!of )(?<!within )\bone\s+$", re.IGNORECASE)
_RATE = re.compile(r"\s*(?:(?:for\s+)?(?:each|every)|per|an?|/)\s*", re.IGNORECASE)


def unit_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Compare the unit of each number, then the units of the whole texts.

    "km/h" has kilometres and hours. A unit named less often is not lost: "3 and 5 miles". Neither is that of an amount
    that the other text has in another unit, nor one that is only asked for: "how many hours" for "how long".
    """
    amounts_before, amounts_after = Amounts(original), Amounts(paraphrase)
    changed = [
        (old, new)
        for old, new in _of_numbers(original, paraphrase)
        if not (amounts_after.has(old, amounts_before) and amounts_before.has(new, amounts_after))
    ]
    gone = _missing(original, amounts_before, paraphrase, amounts_after)
    fresh = _missing(paraphrase, amounts_after, original, amounts_before)
    for units, unit in (pair for row in changed for pair in zip((gone, fresh), row, strict=True)):
        for name in _names(unit):
            units.pop(name, None)
    for name, (unit, *_) in list(gone.items()):
        other = next((other for other in fresh if fresh[other][0].dimension == unit.dimension), None)
        if other is not None:
            changed.append((gone.pop(name)[0], fresh.pop(other)[0]))
    lost = {name: units[0] for name, units in gone.items() if not _are_only_asked_for(original, units, paraphrase)}
    added = {name: units[0] for name, units in fresh.items() if not _are_only_asked_for(paraphrase, units, original)}
    texts = original.text, paraphrase.text
    return [
        *(
            Difference(Part.UNIT, Change.CHANGED, written(texts[0], old), written(texts[1], new))
            for old, new in changed
        ),
        *(Difference(Part.UNIT, Change.LOST, before=_part(texts[0], *row)) for row in lost.items()),
        *(Difference(Part.UNIT, Change.NEW, after=_part(texts[1], *row)) for row in added.items()),
    ]


def replaced_units(original: Problem, alike: Sequence[AlikeSentences]) -> list[Difference]:
    """Return the units of numbers that became another word in an otherwise equal sentence: "5 xyz"."""
    units = {written(original.text, unit).lower(): unit.name for unit in original.units if unit.number}
    words = (pair for sentence in alike for pair in sentence.lone_pairs if all(map(str.isalpha, pair)))
    return [
        Difference(Part.UNIT, Change.CHANGED, old, new)
        for old, new in words
        if old.lower() in units and _is_no_unit(units[old.lower()], old.lower(), new.lower())
    ]


def _is_no_unit(name: str, old: str, new: str) -> bool:
    if new in spellings() or reads(name, new) or old[:3] == new[:3]:  # or is misspelt, as "quartz"
        return False
    return not may_be_called(old.removesuffix("s"), new.removesuffix("s"))  # cups and mugs


def _missing(problem: Problem, amounts: Amounts, other: Problem, others: Amounts) -> dict[str, list[Unit]]:
    """Return the simple units of a text that the other text does not have in any form -> their occurrences."""
    places: dict[str, list[Unit]] = defaultdict(list)
    for unit in problem.units:
        if _measures(problem, unit):
            for name in _names(unit):
                places[name].append(unit)
    names = {name for unit in other.units if _measures(other, unit) for name in _names(unit)}
    missing = {
        name: [unit for unit in units if not others.has(unit, amounts)]
        for name, units in places.items()
        if name not in names and not reads(name, other.text)
    }
    return {name: units for name, units in missing.items() if units}


def _are_only_asked_for(problem: Problem, units: Sequence[Unit], other: Problem) -> bool:
    """Return True for units of the answer, if the other text asks too."""
    if problem.question is None or other.question is None:
        return False
    start, end = problem.question
    return all(
        unit.number is None
        and start <= unit.start < end
        and _ASKED_BEFORE.search(problem.text, max(0, unit.start - 16), unit.start) is not None
        for unit in units
    )


def _of_numbers(original: Problem, paraphrase: Problem) -> list[tuple[Unit, Unit]]:
    """Return the distinct pairs of units that changed for a number: "5 miles", "5 km"; "$5 an hour", "$5 a day"."""
    changed: dict[tuple[str, str], tuple[Unit, Unit]] = {}
    for units_of in (_by_number, _rates):
        before, after = units_of(original), units_of(paraphrase)
        for value in before.keys() & after.keys():
            old = [unit for name, unit in before[value].items() if name not in after[value]]
            new = [unit for name, unit in after[value].items() if name not in before[value]]
            if len(old) == len(new) == 1:
                changed[old[0].name, new[0].name] = old[0], new[0]
    return sorted(changed.values(), key=lambda pair: pair[0].start)


def _by_number(problem: Problem) -> dict[object, dict[str, Unit]]:
    units: dict[object, dict[str, Unit]] = defaultdict(dict)
    for unit in problem.units:
        if unit.number is not None:
            units[value_of(unit.number)].setdefault(_names(unit)[0], unit)
    return units


def _rates(problem: Problem) -> dict[object, dict[str, Unit]]:
    """Return value -> the units that it is a rate per."""
    units: dict[object, dict[str, Unit]] = defaultdict(dict)
    for unit, following in pairwise([*problem.units, None]):
        if unit is None or unit.number is None:
            continue
        value, names = value_of(unit.number), _names(unit)
        if len(names) > 1:
            units[value].setdefault(names[1], unit)
        elif following is not None and following.number is None:
            end = max(unit.end, unit.number.outer[1])
            if _RATE.fullmatch(problem.text, end, following.start):
                units[value].setdefault(following.name, following)
    return units


def _measures(problem: Problem, unit: Unit) -> bool:
    """Return False for a word of the story: "One day, ...", or "9 years old"."""
    text = problem.text
    if unit.name == "year" and _OF_AGE.match(text, unit.end):
        return False
    if unit.form is not Form.WORD or unit.plural:
        return True
    if unit.name == "day" and _ONE_DAY.search(text, max(0, unit.start - 16), unit.start):
        return False
    return unit.number is not None or _PER_BEFORE.search(text, max(0, unit.start - 16), unit.start) is not None


def reads(name: str, text: str) -> bool:
    """Return True if a text names a unit, even where the extractor, which looks after numbers, misses it."""
    return _spelling(name).search(text) is not None


@cache
def _spelling(name: str) -> re.Pattern[str]:
    lists = data("numbers")
    words = {in_words(name, plural, american) for plural in (False, True) for american in (False, True)}
    words.update(lists["units"].get(name, ()))
    cardinal = rf"(?:{'|'.join(CARDINALS)}|hundred|thousand|half)"
    mark = rf"|\d\s?(?:{lists['marks'][name]})" if name in lists["marks"] else ""
    macros = {"in words": rf"\.?\s?{cardinal}\b", "cardinal": cardinal}
    sign = f"|{with_macros(lists['signs'][name], macros)}" if name in lists["signs"] else ""
    return re.compile(rf"(?<![^\W\d_])(?:{'|'.join(words)})\b{mark}{sign}", re.IGNORECASE)


def _names(unit: Unit) -> list[str]:
    """Return a unit's name, or both names for a speed; "5 pounds" may be a weight or money."""
    return unit.name.removesuffix(" sterling").split(" per ")


def _part(text: str, name: str, unit: Unit) -> str:
    """Return a simple unit as written; as part of a speed, by its name."""
    return written(text, unit) if _names(unit) == [name] else name


def written(text: str, unit: Unit) -> str:
    """Return a unit as written."""
    return unit.name if unit.form is Form.AMOUNT else text[unit.start : unit.end].strip()


def value_of(number: Number) -> Fraction:
    """Return the value of a number; 25% is a quarter."""
    return number.value / 100 if number.sign == "%" else number.value


def by_value(measured: Measured) -> dict[Fraction, list[Number]]:
    """Return value -> its numbers, in order."""
    numbers: dict[Fraction, list[Number]] = defaultdict(list)
    for number in measured.numbers:
        numbers[value_of(number)].append(number)
    return dict(numbers)
