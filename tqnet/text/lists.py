"""Markers of lists and options: letters, Roman and Chinese numerals, and the markers of HTML lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

BULLETS = "•◦▪"


def letter(place: int) -> str:
    """Return the letter of an option by its index from 0: A to Z, then AA, AB and so on."""
    name = ""
    while place >= 0:
        name = chr(ord("A") + place % 26) + name
        place = place // 26 - 1
    return name


#: Full-width forms of ASCII, and the space of Chinese.
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}


def narrow(text: str) -> str:
    """Write full-width letters, digits and signs as ASCII, one for one: ``（Ｂ）`` is ``(B)``."""
    return text.translate(_WIDE)


def named_places(text: str, count: int) -> list[int]:
    """Return the indices of the options in ``A, C`` or ``AC``; an empty list if one is beyond ``count``."""
    known = {letter(place): place for place in range(count)}
    words = re.findall("[A-Z]+", text)
    names = [name for word in words for name in ([word] if word in known else word)]
    return [known[name] for name in names] if all(name in known for name in names) else []


def roman(number: int) -> str:
    """Return a number from 1 to 39 in Roman numerals, others in digits."""
    if not 0 < number < 40:
        return str(number)
    text = ""
    for value, letters in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        text += letters * (number // value)
        number %= value
    return text


def chinese(number: int) -> str:
    """Return a number from 1 to 99 as in Chinese headings (九, 十, 二十一), others in digits."""
    if not 0 < number < 100:
        return str(number)
    tens, ones = (("", *"一二三四五六七八九")[digit] for digit in divmod(number, 10))
    return f"{tens.removeprefix('一')}十{ones}" if tens else ones


#: CSS's names of HTML's types of lists.
_LIST_TYPES = {
    "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A", "lower-roman": "i",
    "upper-roman": "I", "decimal": "1", "none": "",
}  # fmt: skip


class MarkupList:
    """A list and the number of its next item."""

    def __init__(self, element: Element, style: Mapping[str, str]):
        shown = style.get("list-style-type") or style.get("list-style", "").partition(" ")[0]
        self.type = _LIST_TYPES.get(shown, element.get("type", "1"))
        self.ordered = element.tag == "ol"
        self.number = _integer(element.get("start"), 1)

    def next_mark(self, item: Element, parents: Sequence[MarkupList]) -> str:
        """Return a bullet by depth, or a number after those of the enclosing lists: ``2.1.``."""
        if not self.type:
            return ""
        if not self.ordered:
            return BULLETS[min(sum(not parent.ordered for parent in parents), len(BULLETS) - 1)]
        self.number = _integer(item.get("value"), self.number) + 1
        around = [*(parent for parent in parents if parent.ordered), self]
        return "".join(f"{each._styled(each.number - 1)}." for each in around)

    def _styled(self, number: int) -> str:
        if self.type not in ("a", "A", "i", "I") or number < 1:
            return str(number)
        text = letter(number - 1) if self.type in "aA" else roman(number)
        return text.lower() if self.type.islower() else text


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else default
