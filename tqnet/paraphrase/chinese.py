"""Questions in Chinese: numbers, in digits or characters, and their units."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tqnet.paraphrase.amounts import Size, same_size
from tqnet.paraphrase.difference import Change, Difference, Part
from tqnet.text.numbers import Number, find_numbers

_CHARACTER = re.compile(r"[\u4e00-\u9fff]")
#: Digits and marks of full width as those of ASCII.
_NARROW = {ord("！") + place: ord("!") + place for place in range(94)}
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
    "year": "年",
}
_NAMES = {written: name for name, ways in _UNITS.items() for written in ways.split()}
_UNIT = re.compile(
    r"\s*个?(?P<power>平方|立方)?"
    rf"(?P<unit>{'|'.join(sorted(_NAMES, key=len, reverse=True))})(?P<raised>[²³]?)(?![a-zA-Z/级])"
)
_POWERS = {"平方": "square ", "²": "square ", "立方": "cubic ", "³": "cubic "}
#: 八折 and 8.5折 are shares of a price.
_SHARE = re.compile(r"([一二两三四五六七八九]{1,2}|\d(?:\.\d)?)\s*折")
_DIGIT = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
#: Words by which one number stands for several things.
_REFERS = re.compile("同样|一样|相同|也|各|每|都|分别|其余|剩下的|两次")


def is_chinese(text: str) -> bool:
    """Whether any of its characters is."""
    return _CHARACTER.search(text) is not None


def chinese_differences(original: str, paraphrase: str) -> list[Difference]:
    """Numbers by their values, whether in digits or characters, and what they are measured in.

    "1" is left out, which is an article too.
    """
    before, after = _Text(original), _Text(paraphrase)
    refers = len(_REFERS.findall(paraphrase)) > len(_REFERS.findall(original))
    found = []
    for value, own in before.numbers.items():
        left = len(after.numbers.get(value, ()))
        if left < len(own) and not (left and refers) and not after.has(own[left], before):
            mentions = (len(own), left) if left else None
            found.append(Difference(Part.NUMBER, Change.LOST, before.written(own[left]), mentions=mentions))
    for value, own in after.numbers.items():
        if value not in before.numbers and not before.has(own[0], after):
            found.append(Difference(Part.NUMBER, Change.NEW, after=after.written(own[0])))
    return [*found, *_other_units(before, after)]


class _Text:
    def __init__(self, text: str):
        self.text = text.translate(_NARROW)
        self.numbers: dict[Fraction, list[Number]] = defaultdict(list)
        self.units: dict[Number, tuple[str, str]] = {}
        self.sizes: set[Size] = set()
        shares = [(match.span(), _share(match[1])) for match in _SHARE.finditer(self.text)]
        self.shares = {value for _, value in shares}
        for number in find_numbers(self.text):
            value = _value(number)
            if value == 1 or any(start <= number.start < end for (start, end), _ in shares):
                continue
            self.numbers[value].append(number)
            if unit := _UNIT.match(self.text, number.end):
                name = _POWERS.get(unit["power"] or unit["raised"], "") + _NAMES[unit["unit"]]
                self.units[number] = name, unit[0].strip()
                self.sizes.add(same_size(value, name))

    def written(self, number: Number) -> str:
        return self.text[slice(*number.outer)].strip()

    def has(self, number: Number, other: _Text) -> bool:
        """Whether a number of another text is one of this in another unit, or a share of a price."""
        value = _value(number)
        unit = other.units.get(number)
        return value in self.shares or (unit is not None and same_size(value, unit[0]) in self.sizes)


def _other_units(before: _Text, after: _Text) -> list[Difference]:
    """Units of a number that are others now; of one that stands several times, only where no unit is left."""
    changed: dict[tuple[str, str], Difference] = {}
    for value in before.numbers.keys() & after.numbers.keys():
        old, new = _units(before, before.numbers[value]), _units(after, after.numbers[value])
        if old and new and not old.keys() & new.keys():
            (one, *_), (other, *_) = old.values(), new.values()
            changed[one, other] = Difference(Part.UNIT, Change.CHANGED, one, other)
    return list(changed.values())


def _units(text: _Text, numbers: Sequence[Number]) -> Mapping[str, str]:
    """Name -> as it is written."""
    return dict(text.units[number] for number in numbers if number in text.units)


def _value(number: Number) -> Fraction:
    return number.value / 100 if number.sign == "%" else number.value


def _share(written: str) -> Fraction:
    digits = written if written[0].isdigit() else ".".join(str(_DIGIT[character]) for character in written)
    return Fraction(digits) / 10
