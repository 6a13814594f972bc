"""Lists of Word documents: the automatic numbers and letters of paragraphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tqnet.importers.safe_xml import Element
from tqnet.text.lists import chinese, letter, roman


@dataclass(frozen=True)
class _List:
    """A list of Word (``w:num``).

    Attributes:
        definition: The ``w:abstractNum`` that it is a use of.
        starts: Level -> the number that it starts with in this list alone.
    """

    definition: str
    levels: dict[int, Element]
    starts: dict[int, int]


class Lists:
    """Automatic numbers of paragraphs, as Word counts them (ECMA-376, part 1, 17.9).

    Lists with one definition continue one count, unless a list has a start of its own. A level begins again below the
    next item of a higher one.

    NOTE: Where Word goes on with E in the options of the next question, letters begin again, as they name options.

    Attributes:
        questions: Number of questions up to here.
    """

    def __init__(self, numbering: Element | None):
        self.questions = 0
        self._lists: dict[str, _List] = {}
        self._counts: dict[str, list[int]] = {}  # by definition, of each level
        self._asked: dict[str, int] = {}  # by definition, `questions` at its last item
        self._started: set[tuple[str, int]] = set()  # lists and levels
        if numbering is None:
            return
        definitions = named(numbering, "abstractNum", "abstractNumId")
        for number, element in named(numbering, "num", "numId").items():
            definition = value_at(element, "abstractNumId")
            if definition in definitions:
                levels = (*definitions[definition].iter("lvl"), *element.iter("lvl"))
                starts = {
                    integer(attribute(part, "ilvl"), 0): integer(value_at(part, "startOverride"), 1)
                    for part in element.findall("lvlOverride")
                    if part.find("startOverride") is not None
                }
                self._lists[number] = _List(
                    definition, {integer(attribute(level, "ilvl"), 0): level for level in levels}, starts
                )

    def is_lettered(self, number: str, level: int) -> bool:
        """Return True if the items of a level have letters, as options do."""
        listed = self._lists.get(number)
        return listed is not None and value_at(listed.levels.get(level), "numFmt") in _LETTERS

    def next_number(self, number: str, level: int, is_heading: bool) -> tuple[int, str]:
        """Return the number of a question, or the mark of an option or other item, that a paragraph has."""
        listed = self._lists.get(number)
        if listed is None or level not in listed.levels or not 0 <= level <= 8:
            return 0, ""
        levels = [listed.levels.get(depth) for depth in range(level + 1)]
        kinds = [value_at(part, "numFmt") or "decimal" for part in levels]
        starts = [listed.starts.get(depth, integer(value_at(part, "start"), 1)) for depth, part in enumerate(levels)]
        counts = self._counts.setdefault(listed.definition, [])
        is_fresh = level in listed.starts and (number, level) not in self._started
        is_asked = self._asked.get(listed.definition, 0) < self.questions
        # An item of a higher level may be the heading above questions that the list numbers itself.
        if is_fresh or (is_asked and kinds[level] in _LETTERS and len(counts) == level + 1 and not is_heading):
            del counts[level:]
        self._started.add((number, level))
        self._asked[listed.definition] = self.questions
        counts += [start - 1 for start in starts[len(counts) :]]
        counts[level] += 1
        del counts[level + 1 :]
        if kinds[level] == "bullet":
            return 0, "•"
        if level == 0 and kinds[level].startswith("decimal") and counts[0] > 0:
            return counts[0], ""
        text = value_at(levels[level], "lvlText")
        for depth, count in enumerate(counts):
            shown = _FORMATS.get(kinds[depth], str)(max(count, starts[depth]))
            text = text.replace(f"%{depth + 1}", shown)
        return 0, text


_LETTERS = ("upperLetter", "lowerLetter")
_CHINESE = (
    "chineseCounting chineseCountingThousand ideographDigital japaneseCounting taiwaneseCounting "
    "taiwaneseCountingThousand"
)
#: Formats of numbers that are not shown in digits.
_FORMATS: dict[str, Callable[[int], str]] = {
    "upperLetter": lambda number: letter(number - 1),
    "lowerLetter": lambda number: letter(number - 1).lower(),
    "upperRoman": roman,
    "lowerRoman": lambda number: roman(number).lower(),
    "none": lambda number: "",
    "decimalEnclosedCircle": lambda number: chr(ord("①") + number - 1) if 0 < number <= 20 else str(number),
    "ideographTraditional": lambda number: "甲乙丙丁戊己庚辛壬癸"[number - 1] if 0 < number <= 10 else str(number),
    **dict.fromkeys(_CHINESE.split(), chinese),
}


def integer(text: str, default: int, base: int = 10) -> int:
    """Read a number of a file; the ``default`` for what is none, or longer than any that Word writes."""
    try:
        return int(text, base) if len(text) < 10 else default
    except ValueError:
        return default


def attribute(element: Element, name: str) -> str:
    """Return an attribute, whatever its namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def value_at(element: Element | None, path: str) -> str:
    """Return ``w:val`` of the element at ``path``; of a property that is set without a value, its name."""
    part = None if element is None else element.find(path)
    return "" if part is None else attribute(part, "val") or part.tag


def named(root: Element, tag: str, name: str) -> dict[str, Element]:
    """Return the children ``tag`` by their attribute ``name``."""
    return {attribute(element, name): element for element in root.findall(tag)}
