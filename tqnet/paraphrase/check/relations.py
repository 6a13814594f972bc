"""What a number says where it stands: "3 times as many" or "3 more", "8 years ago" or "in 8 years".

Also whom something is so much more or less than: "6 fewer than Eric" or "6 fewer than Paul".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tqnet.paraphrase.check.amounts import Measured
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.nouns import PRONOUNS
from tqnet.paraphrase.check.values import value_of
from tqnet.text.numbers import Kind

#: Of each dimension what is more, and what is less.
_DIMENSIONS = """
more greater larger bigger | fewer less smaller
older | younger
longer taller | shorter
heavier | lighter
faster | slower
higher | lower
farther further | nearer closer
later | earlier
dearer costlier | cheaper
多 | 少
大 | 小
长 高 | 短 矮
重 | 轻
快 | 慢
贵 | 便宜
"""
#: Word -> its dimension, and which side of that it is.
SIDES = {
    word: (dimension, side)
    for dimension, line in enumerate(_DIMENSIONS.strip().splitlines())
    for side, words in enumerate(line.split("|"))
    for word in words.split()
}
COMPARATIVE = "|".join(word for word in SIDES if word.isascii())
_COMPARES = "|".join(word for word in SIDES if not word.isascii())
_AS = "many|much|old|long|tall|wide|high|heavy|fast|far|big|large|good"
_PER_CENT = r"(?:\s*%|\s+per\s?cent)"

_OF_WHAT = r"(?:of|on)\s+(?:the\s+|his\s+|her\s+|its\s+|their\s+)?"
_REST = r"(?:remain(?:ing|der|ed|s)?|rest|left|left-?overs?|others?|balance)\b"

#: Of each relation its two senses; # is the number, #th one that is an ordinal.
_SENSES = [
    [re.compile(sense, re.IGNORECASE) for sense in senses]
    for senses in (
        (
            rf"#[\s-]*(?:times|fold)\b|#\s+as\s+(?:{_AS})\b",
            rf"#(?!\s*times|\s+of\b)\s+(?:[a-z]+\s+){{0,2}}?(?:{COMPARATIVE})\b",
        ),
        (
            r"#\s+(?:years?|months?|weeks?|days?)\s+ago\b",
            r"\bin\s+#\s+(?:years?|months?)\b|#\s+(?:years?|months?|weeks?|days?)\s+(?:from\s+(?:now|today)|hence)\b",
        ),
        (rf"\bby\s+#{_PER_CENT}", rf"\bto\s+#{_PER_CENT}"),
        (
            r"(?<!no\s)(?<!not\s)\b(?:less|fewer|smaller)\s+than\s+#|\b(?:below|under)\s+#",
            r"\bat\s+most\s+#|\b(?:no|not)\s+(?:more|greater|larger)\s+than\s+#|\bup\s+to\s+#|#\s+or\s+(?:less|fewer|under)\b",
        ),
        (
            r"(?<!no\s)(?<!not\s)\b(?:more|greater|larger|bigger)\s+than\s+#|\b(?:above|over)\s+#",
            r"\bat\s+least\s+#|\b(?:no|not)\s+(?:less|fewer|smaller)\s+than\s+#|#\s+or\s+(?:more|over)\b",
        ),
        (
            r"#\s+(?:is|are|was|were)\s+added\b|\badd(?:s|ing|ed)?\s+#|\b(?:increased|raised)\s+by\s+#|\bplus\s+#",
            r"#\s+(?:is|are|was|were)\s+(?:taken\s+away|taken\s+from|subtracted|deducted|removed)\b|"
            r"\b(?:subtract|deduct)(?:s|ing|ed)?\s+#|\b(?:decreased|reduced|diminished|lessened|lowered)\s+by\s+#|\bminus\s+#",
        ),
        (
            r"\b(?:decreased|reduced|diminished|lessened)\s+by\s+#|\bminus\s+#|"
            r"#\s+(?:(?:is|are)\s+)?(?:subtracted|deducted|taken(?:\s+away)?)\s+from\b",
            r"\b(?:subtracted|deducted|taken(?:\s+away)?)\s+from\s+#|#\s+minus\b|"
            r"#\s+(?:is\s+)?(?:decreased|reduced|diminished)\s+by\b",
        ),
        (
            rf"#(?:{_PER_CENT})?\s+{_OF_WHAT}(?:cost|buying|purchase)\b",
            rf"#(?:{_PER_CENT})?\s+{_OF_WHAT}(?:selling|sale|marked|list)\b",
        ),
        (
            rf"#(?:{_PER_CENT})?\s+of\s+(?:the\s+|his\s+|her\s+|its\s+|their\s+|what\s+)(?:[a-z]+\s+){{0,2}}?{_REST}",
            rf"#(?:{_PER_CENT})?\s+of\s+(?:the|his|her|its|their)\s+(?:original|total|whole|entire|initial|\d)",
        ),
        (
            r"(?<!no\s)(?<!not\s)\b(?:more|greater|larger|bigger|higher)\s+than\s+#|\b(?:above|over|exceed(?:s|ing|ed)?)\s+#",
            r"(?<!no\s)(?<!not\s)\b(?:less|fewer|smaller|lower)\s+than\s+#|\b(?:below|under)\s+#",
        ),
        (
            rf"#{_PER_CENT}\s+(?:off|discount|reduction)\b",
            rf"\b(?:pays?|paid|paying|costs?|for|at)\s+#{_PER_CENT}\s+of\b",
        ),
        (rf"#{_PER_CENT}\s+(?:[a-z]+\s+){{0,2}}?(?:{COMPARATIVE})\b", rf"(?<!by\s)#{_PER_CENT}\s+of\b"),
        (
            r"\beach\s+(?:of\s+(?:which|whom|them)\s+)?(?:[a-z]+\s+){0,2}[$£€]?#|#\s+(?:(?:for|to)\s+)?(?:[a-z]+\s+){0,2}?(?:each|apiece)\b",
            r"#\s+(?:[a-z]+\s+){0,2}?(?:in\s+total|in\s+all|altogether|together|between\s+them)\b|"
            r"\b(?:total\s+of|(?:al)?together(?:\s+[a-z]+)?)\s+[$£€]?#",
        ),
        (
            r"\b(?:average|mean)\b[^.?!]{0,40}?\b(?:is|was|of|are|were|be)\s+[$£€]?#",
            r"\b(?:total|sum)\b[^.?!]{0,40}?\b(?:is|was|of|are|were|be)\s+[$£€]?#",
        ),
        (r"\bfirst\s+#", r"#th\b"),
        (r"#\s*倍", rf"比[^,，。；]{{1,10}}?(?:{_COMPARES})了?\s*#(?!\s*倍)"),
        (r"#\s*(?:年|天|个月)之?前", r"#\s*(?:年|天|个月)之?后"),
    )
]
_THAN = [
    re.compile(than, re.IGNORECASE)
    for than in (
        rf"#\s*%?\s+(?:[a-z]+\s+){{0,2}}?(?P<how>{COMPARATIVE})\s+(?:[a-z]+\s+){{0,3}}?than\s+"
        r"(?:(?:an?|the|his|her|their|its|my)\s+)?(?P<whom>[a-z]+)(?=\s*(?:[.,;:?!)]|$|['’]s\b)|\s+(?:and|but|how|what|who|if|"
        r"in|on|at|is|are|was|were|has|have|had|did|does)\b)",
        rf"比(?P<whom>[^,，。；？\d#]{{1,8}}?)的?(?P<how>{_COMPARES})[了出]?\s*#(?!\s*倍)",
    )
]
#: Characters before a number and behind it.
_BEFORE, _BEHIND = 60, 48


@dataclass(frozen=True, slots=True)
class _Place:
    """A number, as a text writes it, and what stands around it, with a # in its place."""

    number: str
    around: str

    def says(self, match: re.Match[str]) -> str:
        return match[0].replace("#th", "#").replace("#", self.number).strip()


def other_relations(original: Measured, paraphrase: Measured) -> list[Difference]:
    """Each number that both texts have, where it says one thing in the original and another one in the paraphrase."""
    before, after = _places(original), _places(paraphrase)
    texts = original.text.lower(), paraphrase.text.lower()
    found = []
    for value in (value for value in before if value in after):
        both = before[value], after[value]
        changes = [*_other_senses(*both), *_other_sides(*both, texts)]
        found += [Difference(Part.NUMBER, Change.CHANGED, *change) for change in changes[:1]]
    return found


def _places(measured: Measured) -> dict[Fraction, list[_Place]]:
    text = measured.text
    found: dict[Fraction, list[_Place]] = {}
    for number in measured.numbers:
        start, end = number.span
        mark = "#th" if number.kind is Kind.ORDINAL else "#"
        around = f"{text[max(0, start - _BEFORE) : start]}{mark}{text[end : end + _BEHIND]}"
        found.setdefault(value_of(number), []).append(_Place(text[start:end], around))
    return found


def _other_senses(before: Sequence[_Place], after: Sequence[_Place]) -> Iterator[tuple[str, str]]:
    for senses in _SENSES:
        old, new = (
            {at: said for at, sense in enumerate(senses) if (said := _said(sense, places))}
            for places in (before, after)
        )
        if len(old) == len(new) == 1 and old.keys() != new.keys():
            (one,), (other,) = old.values(), new.values()
            yield one, other


def _said(sense: re.Pattern[str], places: Sequence[_Place]) -> str | None:
    return next((place.says(match) for place in places if (match := sense.search(place.around))), None)


def _other_sides(
    before: Sequence[_Place], after: Sequence[_Place], texts: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    for than in _THAN:
        old, new = (
            [(place, match) for place in places if (match := than.search(place.around))] for places in (before, after)
        )
        if len(old) == len(new) == 1:
            (one, own), (other, match) = old[0], new[0]
            if _is_turned(own, match, texts):
                yield one.says(own), other.says(match)


def _is_turned(own: re.Match[str], other: re.Match[str], texts: tuple[str, str]) -> bool:
    """Whether it is more than the same one and then less, or more both times, and than somebody else of the problem."""
    whom, instead = own["whom"].lower(), other["whom"].lower()
    if {whom, instead} & PRONOUNS:
        return False
    (dimension, side), (other_dimension, other_side) = (SIDES[match["how"].lower()] for match in (own, other))
    if dimension != other_dimension:
        return False  # "3 minutes earlier" and "3 minutes faster"
    stays = side == other_side
    if "%" in own[0] and "%" in other[0] and whom != instead:
        stays = True  # of another whole: 20% more than 75 is 90, of which 75 is not 20% less
    if whom == instead:
        return not stays
    return stays and all(one in text for one in (whom, instead) for text in texts)
