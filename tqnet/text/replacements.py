"""Interchangeable phrases of questions, and phrases that change what is asked or stated: `replacements.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from tqnet.text.latex import prose

_TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

#: Language -> asides before and after a question, which change nothing.
ASIDES: dict[str, tuple[list[str], list[str]]] = _TABLES["asides"]

#: Templates of when something happened, to put after a clause of prose.
TIMES = (" in {month} {year}", " in {year}", " on {month} {number}, {year}")

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NAMES = {
    "en": ("Tom", "Jack", "Anna", "Maria", "Lucy", "Omar", "Wei", "Ivan", "Lena"),
    "zh": ("小明", "小华", "小红", "小军", "小丽", "小刚"),
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of the table at ``text[start:end]``; ``line`` and ``sense`` locate it in the table."""

    start: int
    end: int
    line: int
    sense: int


class Phrases:
    """A table of phrases to find in texts.

    Attributes:
        lines: Senses of each line, each with its phrases.
        reasons: How the senses of each line differ.
    """

    def __init__(self, table: str):
        rows = [row.partition(" : ") for row in table.strip().splitlines()]
        self.lines = [[sense.split(", ") for sense in row[0].split(" | ")] for row in rows]
        self.reasons = [row[2] for row in rows]
        self._places: dict[str, tuple[int, int]] = {}
        for at, senses in enumerate(self.lines):
            for number, phrases in enumerate(senses):
                for phrase in phrases:
                    self._places.setdefault(phrase.lower(), (at, number))
        longest_first = sorted(self._places, key=len, reverse=True)
        words = "|".join(re.escape(phrase) for phrase in longest_first if phrase.isascii())
        signs = "|".join(re.escape(phrase) for phrase in longest_first if not phrase.isascii())
        apart = rf"(?<![\w-])(?:{words})(?![\w-])" if words else ""
        self._pattern = re.compile("|".join(filter(None, (apart, signs))), re.IGNORECASE)

    def find(self, text: str) -> list[Phrase]:
        """Return the phrases in the prose of ``text``, the longer of two that overlap."""
        return [
            Phrase(*match.span(), *self._places[match[0].lower()])
            for start, end in prose(text)
            for match in self._pattern.finditer(text, start, end)
        ]


#: Phrases with the same meaning.
WORDINGS = Phrases(_TABLES["wordings"])
#: Phrases whose exchange makes a different question.
OTHERS = Phrases(_TABLES["others"])
#: Words in which near duplicates may differ, words that may not be added to one, and words that ask.
SILENT, TELLING, ASKING = (frozenset(_TABLES[name].split()) for name in ("silent", "telling", "asking"))


def as_written(new: str, old: str) -> str:
    """Capitalise ``new`` if the phrase ``old`` that it replaces is capitalised."""
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
