"""What a paraphrase lost or changed of a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any


class Part(StrEnum):
    """Of a question."""

    NUMBER = "number"
    UNIT = "unit"
    ENTITY = "entity"
    WORD = "word"
    FORMULA = "formula"
    SENTENCE = "sentence"
    QUESTION = "question"


class Change(StrEnum):
    """What became of it.

    ``RENAMED`` is every mention of one entity given another name; with ``INCONSISTENT``, the old name is left
    somewhere. Numbers and words that are ``EXCHANGED`` are all there, in each other's places. A question that is
    ``SHORTENED`` is there, without some of its words; one that is ``CUT_OFF`` breaks off before it has asked; one
    that is ``CHANGED`` asks for something else.
    """

    LOST = "lost"
    NEW = "new"
    CHANGED = "changed"
    EXCHANGED = "exchanged"
    INCONSISTENT = "inconsistent"
    SHORTENED = "shortened"
    CUT_OFF = "cut off"
    RENAMED = "renamed"


#: What is compared by its value, and words that are named only where hardly anybody who means the same leaves them out
#: or puts others. Names that are lost or new, sentences and the words of a question are compared as they are written,
#: and who rewords a question writes them otherwise.
CERTAIN = (Part.NUMBER, Part.UNIT, Part.WORD)
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
#: \frac{3}{4} and \frac34.
LATEX_FRACTION = re.compile(
    r"\\[dtc]?frac\s*(?:\{\s*(?P<over>\d{1,9})\s*\}|(?P<short_over>\d))\s*"
    r"(?:\{\s*(?P<under>\d{1,9})\s*\}|(?P<short_under>\d))"
)
_QUESTIONS = {
    Change.LOST: "the question is missing",
    Change.SHORTENED: "words that the question lost: {0.before}",
    Change.CUT_OFF: "the question breaks off: {0.after}",
}

#: The score of a pair in which such a part is not the same: the least cosine.
UNLIKE = -1.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was.

    Attributes:
        before: As the original writes it; empty where it is new.
        after: As the paraphrase writes it; empty where it was lost.
        mentions: How often the original and the paraphrase have a number of which some mentions are left; else None.
    """

    part: Part
    change: Change
    before: str = ""
    after: str = ""
    mentions: tuple[int, int] | None = None

    @property
    def is_harmless(self) -> bool:
        """Whether the question is still the same for all that."""
        return self.change is Change.RENAMED

    @property
    def asks_otherwise(self) -> bool:
        """Whether the question is certainly another one, however alike the words: a number or a unit is not the same,
        one that is asked about has two names, or something else is asked, or nothing to its end.
        """
        if self.part is Part.FORMULA:
            return self.change is Change.CHANGED and _has_other_numbers(self.before, self.after)
        if self.part is Part.QUESTION:
            return self.change in (Change.LOST, Change.CUT_OFF, Change.CHANGED)
        return self.part in CERTAIN or self.change is Change.INCONSISTENT

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        known = asdict(self)
        if self.mentions is None:
            del known["mentions"]
        return known


def _has_other_numbers(formula: str, other: str) -> bool:
    """Whether each of two formulas has numbers that the other has not: both are more than written otherwise."""
    one, two = ({*_NUMBERS.findall(LATEX_FRACTION.sub(_divided, of))} for of in (formula, other))
    return bool(one - two and two - one)


def _divided(match: re.Match[str]) -> str:
    """3/4 as 0.75."""
    value = latex_fraction(match)
    return match[0] if value is None else f"{float(value):g}"


def latex_fraction(match: re.Match[str]) -> Fraction | None:
    """Of a match of LATEX_FRACTION; None where it divides by zero."""
    over, under = (int(match[part] or match[f"short_{part}"]) for part in ("over", "under"))
    return Fraction(over, under) if under else None


def readable(differences: Sequence[Difference]) -> str:
    """One line: "lost numbers: 15, 4; changed unit: miles -> km; the question is missing". Empty without any."""
    heads: dict[str, list[str]] = {}
    for one in differences:
        if one.part is Part.QUESTION and one.change in _QUESTIONS:
            heads[_QUESTIONS[one.change].format(one)] = []
        else:
            heads.setdefault(f"{one.change} {one.part}", []).append(_item(one))
    return "; ".join(_line(head, items) for head, items in heads.items())


def _item(one: Difference) -> str:
    if one.mentions:
        before, after = one.mentions
        return f"{one.before} ({before - after} of {before} mentions)"
    if one.change is Change.INCONSISTENT:
        return f"{one.before} -> {one.after}, but not everywhere"
    return f"{one.before} -> {one.after}" if one.before and one.after else one.before or one.after


def _line(head: str, items: Sequence[str]) -> str:
    if not items:
        return head
    plural = f"{head[:-1]}ies" if head.endswith("y") else f"{head}s"
    return f"{head if len(items) == 1 else plural}: {', '.join(items)}"
