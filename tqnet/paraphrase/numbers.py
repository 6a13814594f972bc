"""Numbers that a paraphrase lost or changed; in words or digits, they are the same.

All of it takes a time by the length of the texts: a table of numbers, or a whole exercise sheet, has thousands.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from fractions import Fraction

from spacy.tokens import Token

from tqnet.augment.paraphrase.problem import Problem
from tqnet.paraphrase.difference import Change, Difference, Part
from tqnet.text.numbers import LONGEST, Number
from tqnet.text.spans import formula_spans

_NAMED_BEFORE = re.compile(r"\b(?:the|these|those|this|that|all|his|her|its|their|same|both)\s+$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_WORD_BEHIND = re.compile(r"[\s-]*([a-z]+)", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:an?|each|every|per|single|the)(?=\s+([a-z]+)\b)", re.IGNORECASE)


def number_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Numbers by their values, as often as they are mentioned; a lost and a new one of the same thing are one change.

    Not looked at are "one", which may be an article, the second mention of a number that the text goes back to, "the
    20 apples" after "20 apples", and numbers that the other text has in a formula. A number that is mentioned more
    often than before is not new.
    """
    before, after = by_value(original), by_value(paraphrase)
    things, others = _Things(original), _Things(paraphrase)
    lost = [number for value, own in before.items() for number in own[len(after.get(value, ())) :]]
    lost = _not_otherwise(original, [number for number in lost if not _goes_back(number, before, things)], paraphrase)
    new = _not_otherwise(paraphrase, [own[0] for value, own in after.items() if value not in before], original)
    pairs = _pairs(lost, things, new, others)
    gone: dict[Fraction, Number] = {}
    for number in lost:
        if number not in pairs:
            gone.setdefault(value_of(number), number)
    found = [
        Difference(Part.NUMBER, Change.CHANGED, written(original, number), written(paraphrase, other))
        for number, other in pairs.items()
    ]
    for value, number in gone.items():
        counts = len(before[value]), len(after.get(value, ()))
        mentions = counts if counts[1] else None
        found.append(Difference(Part.NUMBER, Change.LOST, written(original, number), mentions=mentions))
    taken = set(pairs.values())
    return found + [
        Difference(Part.NUMBER, Change.NEW, after=written(paraphrase, number)) for number in new if number not in taken
    ]


def by_value(problem: Problem) -> dict[Fraction, list[Number]]:
    """Value -> the numbers that have it, in their order; 25% is a quarter."""
    found: dict[Fraction, list[Number]] = defaultdict(list)
    for number in problem.numbers:
        found[value_of(number)].append(number)
    return dict(found)


def counted_noun(problem: Problem, number: Number) -> Token | None:
    """What a number counts: the "apples" of "20 red apples"; None where it stands alone."""
    span = problem.doc.char_span(*number.outer, alignment_mode="expand")
    if span is None:
        return None
    for token in span:
        if token.dep_ == "nummod" and token.head not in span:
            return token.head
    behind = problem.doc[span.end] if span.end < len(problem.doc) else None
    return behind if behind is not None and behind.pos_ == "NOUN" else None


class _Things:
    """What the numbers of a text measure or count."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self._units: dict[Number, str] = {}
        for unit in problem.units:
            if unit.number is not None:
                self._units.setdefault(unit.number, unit.name)

    def of(self, number: Number) -> str | None:
        """A unit, or else the lemma of a noun."""
        if number in self._units:
            return self._units[number]
        noun = counted_noun(self.problem, number)
        return noun.lemma_.lower() if noun is not None else None


def value_of(number: Number) -> Fraction:
    """25% is a quarter."""
    return number.value / 100 if number.sign == "%" else number.value


def written(problem: Problem, number: Number) -> str:
    """As a text writes it."""
    return problem.text[slice(*number.outer)].strip()


def _pairs(lost: Sequence[Number], things: _Things, new: Sequence[Number], others: _Things) -> dict[Number, Number]:
    """Lost numbers with the new ones that took their places: of the same thing, or the only ones left."""
    waiting: dict[str, deque[Number]] = defaultdict(deque)
    for number in new:
        if thing := others.of(number):
            waiting[thing].append(number)
    pairs = {}
    for number in lost:
        if (thing := things.of(number)) and waiting[thing]:
            pairs[number] = waiting[thing].popleft()
    taken = set(pairs.values())
    rest, left = [n for n in lost if n not in pairs], [n for n in new if n not in taken]
    return {**pairs, rest[0]: left[0]} if len(rest) == len(left) == 1 else pairs


def _goes_back(number: Number, by: Mapping[Fraction, list[Number]], things: _Things) -> bool:
    """Whether a number is mentioned again with an article: the second of "20 apples. The 20 apples"."""
    first = by[value_of(number)][0]
    return (
        first is not number
        and _NAMED_BEFORE.search(things.problem.text, max(0, number.start - 8), number.outer[0]) is not None
        and things.of(first) == things.of(number)
    )


def _not_otherwise(problem: Problem, numbers: Sequence[Number], other: Problem) -> list[Number]:
    """Those that the other text has neither as an article nor in a formula: "x = 3" is in "$x=3$"."""
    if not numbers:
        return []
    written = [digits for span in formula_spans(other.text) for digits in _DIGITS.findall(other.text, *span)]
    in_formulas = {Fraction(digits) for digits in written if len(digits) <= LONGEST}
    singled_out = {match[1].lower() for match in _ARTICLE.finditer(other.text)}
    return [
        number
        for number in numbers
        if abs(number.value) not in in_formulas and not _may_be_an_article(problem, number, singled_out)
    ]


def _may_be_an_article(problem: Problem, number: Number, singled_out: set[str]) -> bool:
    """Whether a 1 is "one", or the other text has "a", "each" or "per" in its place.

    Args:
        singled_out: The words of the other text that stand behind one of these.
    """
    if number.value != 1 or number.sign:
        return False
    word = _WORD_BEHIND.match(problem.text, number.end)
    return number.spelled or (word is not None and word[1].lower() in singled_out)
