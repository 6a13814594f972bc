"""Texts that are not in English: Chinese by its numbers, units and some words, others by their numbers in digits."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tqnet.paraphrase.check import Change, Difference, Part
from tqnet.paraphrase.check.text import with_macros
from tqnet.paraphrase.check.units import Amounts, by_value, value_of, written
from tqnet.paraphrase.check.wording import lost_qualifiers, other_relations, other_senses
from tqnet.paraphrase.spans import data
from tqnet.paraphrase.units import Form, Unit, size
from tqnet.text.numbers import Kind, Number, find_numbers

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")


def digit_differences(original: str, paraphrase: str) -> list[Difference]:
    """Compare numbers in digits, whatever the language; "1,000", "1.000" and "1000" are the same."""
    before, after = _in_digits(original), _in_digits(paraphrase)
    return [
        *(
            Difference(Part.NUMBER, Change.LOST, before=number, mentions=(count, left) if left else None)
            for number, count in before.items()
            if (left := after[number]) < count
        ),
        *(Difference(Part.NUMBER, Change.NEW, after=number) for number in after if number not in before),
    ]


def _in_digits(text: str) -> Counter[str]:
    normal = unicodedata.normalize("NFKC", text)
    return Counter(_THOUSANDS.sub("", number).replace(",", ".") for number in _DIGITS.findall(normal))


_CHINESE = data("chinese")
#: Full-width digits and marks -> ASCII, except the comma, which separates clauses.
_NARROW = {ord("！") + place: ord("!") + place for place in range(94) if chr(ord("!") + place) != ","}
_WIDE_THOUSANDS = re.compile(r"(?<=\d)，(?=\d{3}(?!\d))")
_NAMES = {word: name for name, words in _CHINESE["units"].items() for word in words.split()}
_UNIT = (
    r"\s*个?(?P<power>平方|立方)?"
    rf"(?P<unit>{'|'.join(sorted(_NAMES, key=len, reverse=True))})(?P<raised>[²³]?)(?![a-zA-Z/级])"
)
_BEHIND = re.compile(_UNIT)
_MACROS = {"unit": _UNIT, "half behind": rf"{_UNIT}半(?![径圆个])"}
_PATTERNS = {name: re.compile(with_macros(pattern, _MACROS)) for name, pattern in _CHINESE["patterns"].items()}
_HALVES = [(re.compile(with_macros(half, _MACROS)), Fraction(value)) for half, value in _CHINESE["halves"].items()]


def chinese_differences(original: str, paraphrase: str) -> list[Difference]:
    """Compare numbers by value, in digits or characters, and their units; 1 is ignored, as it is also an article."""
    before, after = _Text(original), _Text(paraphrase)
    refers = len(_PATTERNS["refers"].findall(paraphrase)) > len(_PATTERNS["refers"].findall(original))
    lost, new = list[Difference](), list[Difference]()
    for old, fresh in ((before.values, after.values), (before.shares, after.shares)):
        for value, numbers in old.items():
            left = len(fresh.get(value, ()))
            if left < len(numbers) and not (left and refers) and not after.says(numbers[left], before):
                mentions = (len(numbers), left) if left else None
                lost.append(Difference(Part.NUMBER, Change.LOST, before.quote(numbers[left]), mentions=mentions))
        for value, (number, *_) in fresh.items():
            if value not in old and not before.says(number, after):
                new.append(Difference(Part.NUMBER, Change.NEW, after=after.quote(number)))
    return [
        *lost,
        *new,
        *(_other_units(before, after) or _other_rates(before.text, after.text)),
        *other_relations(before, after),
        *other_senses(before.text, after.text),
        *lost_qualifiers(before.text, after.text),
    ]


class _Text:
    """A question in Chinese.

    Attributes:
        values: Value -> the numbers with that value, without 1.
        shares: The same for shares of a price.
    """

    def __init__(self, text: str):
        self.text = _WIDE_THOUSANDS.sub(",", text.translate(_NARROW))
        self.numbers = list(_numbers(self.text))
        self.units = list(self._units())
        self.amounts = Amounts(self)
        self.values, self.shares = self._by_value(shares=False), self._by_value(shares=True)
        self._off = Counter(value_of(number) for number in self.numbers if self._is_off(number))

    def says(self, number: Number, other: _Text) -> bool:
        """Return True if this text says a number of the other text more often, in another unit, or as another form of
        a price (八折 is 80% and a reduction by 20%); or if it is a 两 that counts the ones just named.
        """
        if other.quote(number) == "两" and _PATTERNS["named"].match(other.text, number.end):
            return True
        value = value_of(number)
        if other._is_share(number):
            return self._kept(value) > other._kept(value) or self._off[1 - value] > other._off[1 - value]
        share = 1 - value if other._is_off(number) else value
        is_share = len(self.shares.get(share, ())) > len(other.shares.get(share, ()))
        return is_share or self.amounts.has(number, other.amounts, as_often=True)

    def quote(self, number: Number) -> str:
        """Return a number as written."""
        return self.text[slice(*number.outer)].strip()

    def _units(self) -> Iterator[Unit]:
        """Yield the units after numbers, and after 一."""
        places: list[tuple[int, Number | None]] = [(number.end, number) for number in self.numbers]
        places += [(match.end(), None) for match in _PATTERNS["one"].finditer(self.text)]
        for place, number in sorted(places, key=lambda row: row[0]):
            if unit := _BEHIND.match(self.text, place):
                name = _CHINESE["powers"].get(unit["power"] or unit["raised"], "") + _NAMES[unit["unit"]]
                yield Unit(place, unit.end(), name, size(name)[0], Form.WORD, number=number)

    def _by_value(self, shares: bool) -> dict[Fraction, list[Number]]:
        numbers = {
            value: [number for number in group if self._is_share(number) == shares]
            for value, group in by_value(self).items()
        }
        return {value: group for value, group in numbers.items() if group and value != 1}

    def _kept(self, value: Fraction) -> int:
        """Return how often a value occurs other than as a reduction."""
        return len(self.values.get(value, ())) - self._off[value]

    def _is_share(self, number: Number) -> bool:
        return self.text[number.start : number.end].endswith("折")

    def _is_off(self, number: Number) -> bool:
        return _PATTERNS["taken off"].search(self.text, max(0, number.start - 4), number.start) is not None


def _numbers(text: str) -> Iterator[Number]:
    """Yield the numbers of any text, shares of a price, halves of units and myriads; the first of two that overlap."""
    numbers = [Number(*match.span(), _share(match[1]), Kind.DECIMAL) for match in _PATTERNS["share"].finditer(text)]
    for pattern, value in _HALVES:
        numbers += [Number(*match.span(), value, Kind.FRACTION, True) for match in pattern.finditer(text)]
    for number in find_numbers(text):
        value, end = number.value, number.end
        if half := _PATTERNS["and a half"].match(text, end):
            value, end = value + Fraction(1, 2), half.end()
        elif _PATTERNS["half behind"].match(text, end):
            value += Fraction(1, 2)
        elif myriad := _CHINESE["myriads"].get(text[end : end + 1]):
            value, end = value * myriad, end + 1
        numbers.append(replace(number, value=value, end=end))
    end = 0
    for number in sorted(numbers, key=lambda number: (number.start, -number.end)):
        if number.start >= end:
            yield number
            end = number.end


def _share(digits: str) -> Fraction:
    """Return 8/10 for 八 and 8, and 85/100 for 八五, 85 and 8.5."""
    number = "".join(str(_CHINESE["digits"].get(digit, digit)) for digit in digits if digit != ".")
    return Fraction(int(number), 10 ** len(number))


def _other_units(before: _Text, after: _Text) -> list[Difference]:
    """Return the changed units of numbers; for a number that occurs several times, only if no unit is left."""
    changed: dict[tuple[str, str], Difference] = {}
    old, new = _by_number(before), _by_number(after)
    for value in old.keys() & new.keys():
        units, others = old[value], new[value]
        if {unit.name for unit in units} & {unit.name for unit in others}:
            continue
        if not (after.amounts.has(units[0], before.amounts) and before.amounts.has(others[0], after.amounts)):
            names = written(before.text, units[0]), written(after.text, others[0])
            changed[names] = Difference(Part.UNIT, Change.CHANGED, *names)
    return list(changed.values())


def _by_number(text: _Text) -> dict[Fraction, list[Unit]]:
    """Return value -> the units that go with it."""
    units: dict[Fraction, list[Unit]] = defaultdict(list)
    for unit in text.units:
        units[unit.number.value if unit.number else Fraction(1)].append(unit)
    return units


def _other_rates(before: str, after: str) -> list[Difference]:
    """Return a rate that changed: 每小时 for 每分钟."""
    old, new = ({_NAMES[rate["unit"]]: rate[0] for rate in _PATTERNS["per"].finditer(text)} for text in (before, after))
    gone, fresh = ([rates[name] for name in rates if name not in others] for rates, others in ((old, new), (new, old)))
    return [Difference(Part.UNIT, Change.CHANGED, gone[0], fresh[0])] if len(gone) == len(fresh) == 1 else []
