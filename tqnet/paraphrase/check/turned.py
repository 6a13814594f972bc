"""Ratios and shares that a paraphrase turns round: "the ratio of boys to girls is 3:4" for "of girls to boys"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.problem import Problem

_THE = r"(?:(?:the|its|their|his|her)\s+)?"
#: "boys", "the number of boys", "Ann's age", "the age of Ann".
_TERM = rf"{_THE}(?:[a-z]+\s+of\s+{_THE})?([a-z]+)(?:['’]s(?:\s+[a-z]+)?)?"
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_VALUE = rf"{_NUMBER}\s?(?::|\b(?:is\s+)?to\b)\s?{_NUMBER}(?![\d:]|\s?:)"
#: Of characters between the terms and the value, in one sentence and without other numbers.
_BETWEEN = r"\b[^\d.?!]{0,60}?\b"
_RATIOS = (
    re.compile(rf"\b(?:ratio|proportion)\s+of\s+{_TERM}\s+(?:to|and)\s+{_TERM}{_BETWEEN}{_VALUE}", re.IGNORECASE),
    re.compile(
        rf"\b([a-z]+)\s+(?:to|and)\s+{_THE}([a-z]+){_BETWEEN}(?:ratio|proportion)(?:\s+of)?\s+{_VALUE}", re.IGNORECASE
    ),
)

_TERM_OF_SHARE = r"[$£€]?(?:\d[\d.,]{0,12}\d|\d|[a-z])"
_PERCENTAGE = r"what\s+(?:per\s?cent(?:age)?|fraction|part|share)\s+of"
_SHARE = re.compile(
    rf"\b{_PERCENTAGE}\s+(?P<whole>{_TERM_OF_SHARE})\s+is\s+(?P<part>{_TERM_OF_SHARE})\b"
    rf"|(?P<own>{_TERM_OF_SHARE})\s+is\s+{_PERCENTAGE}\s+(?P<of>{_TERM_OF_SHARE})\b",
    re.IGNORECASE,
)


def turned_ratios(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each ratio of two terms that has the same shares with the other terms, or "what percent of 80 is 20" turned."""
    before, after = dict(_ratios(original.text)), dict(_ratios(paraphrase.text))
    share, other = _SHARE.search(original.text), _SHARE.search(paraphrase.text)
    if share and other and _whole_and_part(share) == _whole_and_part(other)[::-1]:
        return [Difference(Part.NUMBER, Change.EXCHANGED, share[0], other[0])]
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, _written(before[of]), _written(after[of]))
        for of in before
        if of in after and _shares(after[of]) != _shares(before[of])
    ]


def _whole_and_part(share: re.Match[str]) -> tuple[str, str]:
    return (share["whole"] or share["of"]).lower(), (share["part"] or share["own"]).lower()


def _ratios(text: str) -> Iterator[tuple[tuple[frozenset[str], frozenset[Fraction]], dict[str, Fraction]]]:
    """The terms and the shares of each ratio, and the numbers of the terms."""
    for pattern in _RATIOS:
        for first, second, one, other in pattern.findall(text):
            terms = {first.lower(): Fraction(one), second.lower(): Fraction(other)}
            if len(terms) == 2 and any(terms.values()):
                yield (frozenset(terms), frozenset(_shares(terms).values())), terms


def _shares(terms: dict[str, Fraction]) -> dict[str, Fraction]:
    return {term: value / sum(terms.values()) for term, value in terms.items()}


def _written(terms: dict[str, Fraction]) -> str:
    return ", ".join(f"{value} {term}" for term, value in sorted(terms.items()))
