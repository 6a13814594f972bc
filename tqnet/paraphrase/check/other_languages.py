"""Texts that are not in English: Chinese by its numbers, units and some words, others by their numbers in digits."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.units import Amounts, by_value, value_of, written
from tqnet.paraphrase.check.wording import lost_qualifiers, other_relations, other_senses
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


_CHARACTER = re.compile(r"[\u4e00-\u9fff]")
#: Digits and marks of full width -> those of ASCII, except the comma, which parts sentences.
_NARROW = {ord("！") + place: ord("!") + place for place in range(94) if chr(ord("!") + place) != ","}
_WIDE_THOUSANDS = re.compile(r"(?<=\d)，(?=\d{3}(?!\d))")
_UNITS = {
    "kilometre": "千米 公里 km",
    "metre": "米 m",
    "decimetre": "分米 dm",
    "centimetre": "厘米 cm",
    "millimetre": "毫米 mm",
    "kilogram": "千克 公斤 kg",
    "gram": "克 g",
    "tonne": "吨",
    "litre": "升 L",
    "millilitre": "毫升 mL ml",
    "hour": "小时 h",
    "minute": "分钟 min",
    "second": "秒 s",
    "day": "天",
    "week": "周 星期",
    "month": "个月",
    "year": "年",
}
_NAMES = {word: name for name, words in _UNITS.items() for word in words.split()}
_UNIT = (
    r"\s*个?(?P<power>平方|立方)?"
    rf"(?P<unit>{'|'.join(sorted(_NAMES, key=len, reverse=True))})(?P<raised>[²³]?)(?![a-zA-Z/级])"
)
_BEHIND = re.compile(_UNIT)
_POWERS = {"平方": "square ", "²": "square ", "立方": "cubic ", "³": "cubic "}
#: 一米, where 一 may be an article, so that it is no number.
_ONE = re.compile(rf"(?<![第零一二三四五六七八九十百千万])一(?={_UNIT})")
#: 半小时, 一个半小时; and behind other numbers, 2个半小时.
_HALF = re.compile(rf"(?P<one>一个)?半(?={_UNIT})")
_AND_A_HALF = re.compile(rf"\s*个半(?={_UNIT})")
#: 2小时半, 一小时半.
_HALF_BEHIND = re.compile(rf"{_UNIT}半(?![径圆个])")
_ONE_AND_A_HALF = re.compile(rf"一(?={_HALF_BEHIND.pattern})")
_MYRIADS = {"万": 10**4, "亿": 10**8}
#: 八折, 75折 and 8.5折 are shares of a price; 优惠20% leaves 80%.
_SHARE = re.compile(r"([一二两三四五六七八九]{1,2}|\d{2}|\d(?:\.\d)?)\s*折")
_OFF = re.compile(r"(?:优惠|降价|降低|下降|便宜|减价|减少|让利)了?\s*$")
_DIGIT = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
#: Rates: 每分钟, 每小时.
_PER = re.compile(rf"每一?{_UNIT}")
#: Behind a 两 that counts those named before: 两种树一共, 两人共.
_NAMED = re.compile(
    r"(?:种|个?人|者|地|车|船|队|班|组|个?数|[名位]同学)[^,，。；？\d]{0,4}?(?:一共|总共|共|合计|加起来)"
)
#: Words by which one number stands for several things.
_REFERS = re.compile("同样|一样|相同|也|各|每|都|分别|其余|剩下的|两次")


def is_chinese(text: str) -> bool:
    """Return True if any character is Chinese."""
    return _CHARACTER.search(text) is not None


def chinese_differences(original: str, paraphrase: str) -> list[Difference]:
    """Compare numbers by value, in digits or characters, and their units; 1 is left out, which is an article too."""
    before, after = _Text(original), _Text(paraphrase)
    refers = len(_REFERS.findall(paraphrase)) > len(_REFERS.findall(original))
    lost, new = list[Difference](), list[Difference]()
    for old, fresh in ((before.values, after.values), (before.shares, after.shares)):
        for value, numbers in old.items():
            left = len(fresh.get(value, ()))
            if left >= len(numbers) or (left and refers):
                continue
            if not after.has(numbers[left], before) and not before.counts_what_is_named(numbers[left]):
                mentions = (len(numbers), left) if left else None
                lost.append(Difference(Part.NUMBER, Change.LOST, before.quote(numbers[left]), mentions=mentions))
        for value, (number, *_) in fresh.items():
            if value not in old and not before.has(number, after) and not after.counts_what_is_named(number):
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
        values: Value -> the numbers that have it, without 1.
        shares: The same of shares of a price.
    """

    def __init__(self, text: str):
        self.text = _WIDE_THOUSANDS.sub(",", text.translate(_NARROW))
        self.numbers = list(_numbers(self.text))
        self.units = list(_units(self.text, self.numbers))
        self.amounts = Amounts(self)
        self.values, self.shares = self._by_value(shares=False), self._by_value(shares=True)
        self._off = Counter(value_of(number) for number in self.numbers if self._is_off(number))

    def has(self, number: Number, other: _Text) -> bool:
        """Return True if a number of another text stands here more often, in another unit or as another way to tell a
        price: 八折 is 80% and a reduction by 20%.
        """
        value = value_of(number)
        if other._is_share(number):
            return self._kept(value) > other._kept(value) or self._off[1 - value] > other._off[1 - value]
        share = 1 - value if other._is_off(number) else value
        is_share = len(self.shares.get(share, ())) > len(other.shares.get(share, ()))
        return is_share or self.amounts.has(number, other.amounts, as_often=True)

    def counts_what_is_named(self, number: Number) -> bool:
        """Return True for a 两 that counts those named before."""
        return self.quote(number) == "两" and _NAMED.match(self.text, number.end) is not None

    def quote(self, number: Number) -> str:
        """Return a number as it is written."""
        return self.text[slice(*number.outer)].strip()

    def _by_value(self, shares: bool) -> dict[Fraction, list[Number]]:
        numbers = {
            value: [number for number in group if self._is_share(number) == shares]
            for value, group in by_value(self).items()
        }
        return {value: group for value, group in numbers.items() if group and value != 1}

    def _kept(self, value: Fraction) -> int:
        """Return how often a value is told that is not taken off."""
        return len(self.values.get(value, ())) - self._off[value]

    def _is_share(self, number: Number) -> bool:
        return self.text[number.start : number.end].endswith("折")

    def _is_off(self, number: Number) -> bool:
        return _OFF.search(self.text, max(0, number.start - 4), number.start) is not None


def _numbers(text: str) -> Iterator[Number]:
    """Yield the numbers of any text, and shares of a price, halves of units and myriads."""
    numbers = [Number(*match.span(), _share(match[1]), Kind.DECIMAL) for match in _SHARE.finditer(text)]
    for match in _HALF.finditer(text):
        numbers.append(Number(*match.span(), Fraction(3 if match["one"] else 1, 2), Kind.FRACTION, True))
    numbers += [Number(*match.span(), Fraction(3, 2), Kind.FRACTION, True) for match in _ONE_AND_A_HALF.finditer(text)]
    for number in find_numbers(text):
        value, end = number.value, number.end
        if half := _AND_A_HALF.match(text, end):
            value, end = value + Fraction(1, 2), half.end()
        elif _HALF_BEHIND.match(text, end):
            value += Fraction(1, 2)
        elif text[end : end + 1] in _MYRIADS:
            value, end = value * _MYRIADS[text[end]], end + 1
        numbers.append(replace(number, value=value, end=end))
    end = 0
    for number in sorted(numbers, key=lambda number: (number.start, -number.end)):
        if number.start >= end:
            yield number
            end = number.end


def _units(text: str, numbers: Sequence[Number]) -> Iterator[Unit]:
    """Yield the units behind numbers, and behind 一."""
    places: list[tuple[int, Number | None]] = [(number.end, number) for number in numbers]
    places += [(match.end(), None) for match in _ONE.finditer(text)]
    for place, number in sorted(places, key=lambda row: row[0]):
        if unit := _BEHIND.match(text, place):
            name = _POWERS.get(unit["power"] or unit["raised"], "") + _NAMES[unit["unit"]]
            yield Unit(place, unit.end(), name, size(name)[0], Form.WORD, number=number)


def _other_units(before: _Text, after: _Text) -> list[Difference]:
    """Return the units of numbers that changed; of a number that stands several times, only if no unit is left."""
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


def _other_rates(before: str, after: str) -> list[Difference]:
    """Return a rate that changed: 每小时 for 每分钟."""
    old, new = ({_NAMES[match["unit"]]: match[0] for match in _PER.finditer(text)} for text in (before, after))
    gone, fresh = ([rates[name] for name in rates if name not in others] for rates, others in ((old, new), (new, old)))
    return [Difference(Part.UNIT, Change.CHANGED, gone[0], fresh[0])] if len(gone) == len(fresh) == 1 else []


def _by_number(text: _Text) -> dict[Fraction, list[Unit]]:
    """Return value -> the units that stand at it."""
    units: dict[Fraction, list[Unit]] = {}
    for unit in text.units:
        units.setdefault(unit.number.value if unit.number else Fraction(1), []).append(unit)
    return units


def _share(digits: str) -> Fraction:
    """Return 8/10 for 八 and 8, and 85/100 for 八五, 85 and 8.5."""
    number = "".join(str(_DIGIT.get(character, character)) for character in digits if character != ".")
    return Fraction(int(number), 10 ** len(number))
