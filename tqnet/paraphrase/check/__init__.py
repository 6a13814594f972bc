"""A rule-based check of paraphrases: it compares what two questions say, and names every difference.

The rules are frozen: what they miss is left to the encoder's score, and no list is extended for single pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

#: Score of a pair that differs in such a part: the minimum cosine.
UNLIKE = -1.0


class Part(StrEnum):
    """A part of a question; a condition is a clause or sentence that says something of its own."""

    NUMBER = "number"
    UNIT = "unit"
    ENTITY = "entity"
    WORD = "word"
    FORMULA = "formula"
    CONDITION = "condition"
    SENTENCE = "sentence"
    QUESTION = "question"


class Change(StrEnum):
    """What happened to a part.

    ``RENAMED``: every mention of an entity has another name; ``INCONSISTENT``: some mentions keep the old one.
    ``EXCHANGED``: numbers or words stand in each other's places. A question is ``SHORTENED`` (lost some words),
    ``CUT_OFF`` (breaks off before it has asked) or ``CHANGED`` (asks for something else).
    """

    LOST = "lost"
    NEW = "new"
    CHANGED = "changed"
    EXCHANGED = "exchanged"
    INCONSISTENT = "inconsistent"
    SHORTENED = "shortened"
    CUT_OFF = "cut off"
    RENAMED = "renamed"


#: Parts compared by value, or named only where hardly any valid rewording changes them. Lost names, sentences and
#: words of a question are compared as written, so a free rewording loses them too.
_DECISIVE = (Part.NUMBER, Part.UNIT, Part.WORD, Part.CONDITION)
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
#: \frac{3}{4} and \frac34.
LATEX_FRACTION = re.compile(r"\\[dtc]?frac\s*(?:\{\s*(\d{1,9})\s*\}|(\d))\s*(?:\{\s*(\d{1,9})\s*\}|(\d))")
_QUESTIONS = {
    Change.LOST: "the question is missing",
    Change.SHORTENED: "words that the question lost: {0.before}",
    Change.CUT_OFF: "the question breaks off: {0.after}",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between an original and its paraphrase.

    Attributes:
        before: The part as the original writes it; empty if it is new.
        after: The part as the paraphrase writes it; empty if it was lost.
        mentions: Mentions of a number in the original and the paraphrase, if some are left; else None.
    """

    part: Part
    change: Change
    before: str = ""
    after: str = ""
    mentions: tuple[int, int] | None = None

    @property
    def is_harmless(self) -> bool:
        """True if the question is still the same."""
        return self.change is Change.RENAMED

    @property
    def asks_otherwise(self) -> bool:
        """True if the paraphrase certainly asks another question, however similar its words."""
        if self.part is Part.FORMULA:
            gone, fresh = _numbers(self.before), _numbers(self.after)  # nonempty: not merely written differently
            return self.change is Change.CHANGED and bool(gone - fresh and fresh - gone)
        if self.part is Part.QUESTION:
            return self.change in (Change.LOST, Change.CUT_OFF, Change.CHANGED)
        return self.part in _DECISIVE or self.change is Change.INCONSISTENT

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def latex_fraction(match: re.Match[str]) -> Fraction | None:
    """Return the value of a match of LATEX_FRACTION; None if it divides by zero."""
    over, under = map(int, filter(None, match.groups()))
    return Fraction(over, under) if under else None


def _numbers(formula: str) -> set[str]:
    """Return the numbers of a formula; 3/4 is 0.75."""
    fractions = LATEX_FRACTION.sub(lambda match: f"{float(latex_fraction(match) or 0):g}", formula)
    return set(_NUMBERS.findall(fractions))


def readable(differences: Sequence[Difference]) -> str:
    """Return one line: "lost numbers: 15, 4; changed unit: miles -> km; the question is missing"."""
    heads: dict[str, list[str]] = {}
    for difference in differences:
        if difference.part is Part.QUESTION and difference.change in _QUESTIONS:
            heads[_QUESTIONS[difference.change].format(difference)] = []
        else:
            heads.setdefault(f"{difference.change} {difference.part}", []).append(_item(difference))
    lines = []
    for head, items in heads.items():
        plural = (f"{head[:-1]}ies" if head.endswith("y") else f"{head}s") if len(items) > 1 else head
        lines.append(f"{plural}: {', '.join(items)}" if items else head)
    return "; ".join(lines)


def _item(difference: Difference) -> str:
    before, after = difference.before, difference.after
    if difference.mentions:
        mentions, left = difference.mentions
        return f"{before} ({mentions - left} of {mentions} mentions)"
    if difference.change is Change.INCONSISTENT:
        return f"{before} -> {after}, but not everywhere"
    return f"{before} -> {after}" if before and after else before or after
