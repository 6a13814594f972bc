"""Multiples from the other side: "Ann is half as old as Tom" is "Tom is twice as old as Ann"."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from spacy.lang.en.stop_words import STOP_WORDS

from tqnet.paraphrase.check.contradictions import contradictions
from tqnet.paraphrase.check.difference import Difference
from tqnet.paraphrase.check.nouns import PRONOUNS
from tqnet.paraphrase.check.shares import parts
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

_THE = r"(?:(?:the|(?-i:an?)|his|her|their|its|my)\s+)?"
#: "Ann", "rope", or "rope B".
_WHOM = r"[a-z]+(?:\s+(?-i:[A-Z])\b)?"
#: Behind a multiple: "as old as Tom", "times as many pens as Tom", "the age of Tom", "Tom's age", "of what Tom weighs",
#: "times B".
_COMPARED = re.compile(
    rf"\s*(?:times\s+)?(?:as\s+(?P<how>[a-z]+(?:\s+[a-z]+){{0,3}}?)\s+as\s+{_THE}(?P<as>{_WHOM})"
    rf"|(?:of\s+)?the\s+[a-z]+\s+of\s+{_THE}(?P<of>{_WHOM})"
    rf"|(?:of\s+)?{_THE}(?P<own>{_WHOM})['’]s\b"
    rf"|(?:of\s+)?what\s+{_THE}(?P<what>{_WHOM})"
    rf"|(?:of\s+)?{_THE}(?P<plain>{_WHOM}))",
    re.IGNORECASE,
)
_AT_ANOTHER_TIME = re.compile(r"(?P<who>he|she|it|they)\s+(?P<when>will\s+be|was|were|is|are)\b", re.IGNORECASE)
#: "As long as it is wide" compares the length with the width.
_SIDES = {"long": "length", "wide": "width", "broad": "breadth", "high": "height", "tall": "height", "deep": "depth"}
_OF_ITSELF = re.compile(rf"(?:it|they)\s+(?:is|are)\s+(?P<side>{'|'.join(_SIDES)})\b", re.IGNORECASE)
_TENSES = {"was": "past", "were": "past", "is": "present", "are": "present", "will be": "future"}
#: What "45 left" has not.
_MULTIPLIES = re.compile(r"\b(?:twice|half|double|thrice|times|of)\b", re.IGNORECASE)
#: Which of two is not told: "one number is twice another".
_NAMELESS = frozenset(("another", "other"))
_SENTENCE_ENDS = re.compile(r"[.?!]\s")
_WORD = re.compile(r"[a-z]{2,}")
_CLAUSE_ENDS = re.compile(r"\band\b|\bwhile\b|\bbut\b")
#: Of characters before a multiple, in which stands who is so much more.
_BEFORE = 200


@dataclass(frozen=True, slots=True)
class _Multiple:
    """So many times as much as ``whom``; who is it, stands ``before`` it in the sentence.

    Attributes:
        how: "old", "many pens" or but "many"; empty where a noun says it.
        said: As the text has it.
        when: Of one who is compared with himself, at which other time: "will be" in "half as old as he will be".
    """

    value: Fraction
    how: str
    whom: str
    before: str
    said: str
    when: str = ""

    def turns(self, other: _Multiple) -> bool:
        """Whether both say the same from two sides."""
        if self.value * other.value != 1 or not (self.how.startswith(other.how) or other.how.startswith(self.how)):
            return False
        if self.when or other.when:
            return "" != self.when != other.when != ""
        if self.whom in _NAMELESS:
            return other.whom in _NAMELESS
        return self._is_between_the_same_two(other)

    def contradicts(self, other: _Multiple) -> bool:
        """Whether one says of the second of two, or of the second of two times, what the other says of the first."""
        if self.value == 1:
            return False
        if self.when or other.when:
            both = bool(self.when and other.when) and (self.how, self.whom) == (other.how, other.whom)
            return both and _TENSES[self.when] != _TENSES[other.when]
        return self.whom != other.whom and self._is_between_the_same_two(other)

    def _is_between_the_same_two(self, other: _Multiple) -> bool:
        """Whether each has for its subject whom the other compares with."""
        return _stands_in(self.whom, other.before) and _stands_in(other.whom, self.before)


class Inverses:
    """Multiples of a text."""

    def __init__(self, problem: Problem):
        known = {number.outer[0] for number in problem.numbers}
        told = [
            *((number.outer[0], number.end, number.value, number) for number in problem.numbers),
            *((*span, value, None) for span, value in parts(problem.text) if span[0] not in known),
        ]
        self._of: dict[Number, _Multiple] = {}
        self.multiples: list[_Multiple] = []
        for start, end, value, number in told:
            multiple = _read(problem.text, start, end, value)
            if multiple is not None:
                self.multiples.append(multiple)
                if number is not None:
                    self._of[number] = multiple

    def has(self, number: Number, others: Inverses) -> bool:
        """Whether a multiple of another text is told here from the other side, as often as there."""
        told = others._of.get(number)
        if told is None:
            return False
        turned = [multiple for multiple in self.multiples if told.turns(multiple)]
        alike = [multiple for multiple in others.multiples if turned and multiple.turns(turned[0])]
        return 0 < len(alike) <= len(turned)


def turned_multiples(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each multiple of two whose places are exchanged: "Ann has 3 times as many as Tom", "Tom has 3 times as many as
    Ann".
    """
    return contradictions(_single(original), _single(paraphrase))


def _single(problem: Problem) -> dict[Fraction, _Multiple]:
    """Value of which there is one multiple -> that."""
    multiples = Inverses(problem).multiples
    often = Counter(multiple.value for multiple in multiples)
    return {multiple.value: multiple for multiple in multiples if often[multiple.value] == 1}


def _read(text: str, start: int, end: int, value: Fraction) -> _Multiple | None:
    """None where nobody is compared with, or somebody who cannot be told from who is more."""
    compared = _COMPARED.match(text, end)
    if not compared or (compared["plain"] and not _MULTIPLIES.search(text, start, compared.start("plain"))):
        return None
    whom = next(filter(None, (compared[name] for name in ("as", "of", "own", "what", "plain")))).lower()
    before = _subject(text[max(0, start - _BEFORE) : start].lower())
    side = _SIDES.get((compared["how"] or "").lower())
    if side and (other := _OF_ITSELF.match(text, compared.start("as"))):
        return _Multiple(value, "", _SIDES[other["side"].lower()], side, text[start : other.end()])
    if when := _AT_ANOTHER_TIME.match(text, compared.start("as")) if compared["as"] else None:
        return _Multiple(
            value,
            compared["how"].lower(),
            when["who"].lower(),
            before,
            text[start : when.end()],
            " ".join(when["when"].lower().split()),
        )
    if whom in PRONOUNS - _NAMELESS or _stands_in(whom, before):
        return None
    return _Multiple(value, (compared["how"] or "").lower(), whom, before, text[start : compared.end()])


def _subject(before: str) -> str:
    """The clause in which a multiple stands, or its sentence, where the clause has but words as "which is"."""
    sentence = _SENTENCE_ENDS.split(before)[-1]
    clause = _CLAUSE_ENDS.split(sentence)[-1]
    return sentence if STOP_WORDS.issuperset(_WORD.findall(clause)) else clause


def _stands_in(whom: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(whom)}\b", words) is not None
