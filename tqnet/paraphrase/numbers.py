"""Numbers that a paraphrase lost or changed; in words or digits, they are the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from spacy.tokens import Token

from tqnet.augment.paraphrase.numbers import Number
from tqnet.augment.paraphrase.problem import Problem
from tqnet.augment.paraphrase.spans import formula_spans
from tqnet.paraphrase.difference import Change, Difference, Part

_NAMED_BEFORE = re.compile(r"\b(?:the|these|those|this|that|all|his|her|its|their|same|both)\s+$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_WORD_BEHIND = re.compile(r"[\s-]*([a-z]+)", re.IGNORECASE)


def number_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Numbers by their values, as often as they are mentioned; a lost and a new one of the same thing are one change.

    Not looked at are "one", which may be an article, the second mention of a number that the text goes back to, "the
    20 apples" after "20 apples", and numbers that the other text has in a formula. A number that is mentioned more
    often than before is not new.
    """
    before, after = by_value(original), by_value(paraphrase)
    lost = [number for own in before.values() for number in own[len(after.get(_value(own[0]), ())) :]]
    lost = [n for n in lost if not (_goes_back(original, n, before) or _is_otherwise(original, n, paraphrase))]
    new = [own[0] for value, own in after.items() if value not in before]
    new = [number for number in new if not _is_otherwise(paraphrase, number, original)]
    found = []
    for number, other in _pairs(original, lost, paraphrase, new):
        found.append(Difference(Part.NUMBER, Change.CHANGED, _written(original, number), _written(paraphrase, other)))
        lost.remove(number)
        new.remove(other)
    gone: dict[Fraction, Number] = {}
    for number in lost:
        gone.setdefault(_value(number), number)
    for value, number in gone.items():
        counts = len(before[value]), len(after.get(value, ()))
        mentions = counts if counts[1] else None
        found.append(Difference(Part.NUMBER, Change.LOST, _written(original, number), mentions=mentions))
    return found + [Difference(Part.NUMBER, Change.NEW, after=_written(paraphrase, number)) for number in new]


def by_value(problem: Problem) -> dict[Fraction, list[Number]]:
    """Value -> the numbers that have it, in their order; 25% is a quarter."""
    found: dict[Fraction, list[Number]] = defaultdict(list)
    for number in problem.numbers:
        found[_value(number)].append(number)
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


def _value(number: Number) -> Fraction:
    return number.value / 100 if number.sign == "%" else number.value


def _written(problem: Problem, number: Number) -> str:
    return problem.text[slice(*number.outer)].strip()


def _pairs(
    original: Problem, lost: list[Number], paraphrase: Problem, new: list[Number]
) -> list[tuple[Number, Number]]:
    """Lost numbers with the new ones that took their places: of the same thing, or the only ones left."""
    left, pairs = list(new), []
    for number in lost:
        thing = _thing(original, number)
        same = next((other for other in left if thing and _thing(paraphrase, other) == thing), None)
        if same:
            pairs.append((number, same))
            left.remove(same)
    rest = [number for number in lost if number not in {own for own, _ in pairs}]
    return [*pairs, (rest[0], left[0])] if len(rest) == len(left) == 1 else pairs


def _thing(problem: Problem, number: Number) -> str | None:
    """What a number measures or counts."""
    unit = next((unit.name for unit in problem.units if unit.number == number), None)
    noun = counted_noun(problem, number)
    return unit or (noun.lemma_.lower() if noun is not None else None)


def _goes_back(problem: Problem, number: Number, by: Mapping[Fraction, list[Number]]) -> bool:
    """Whether a number is mentioned again with an article: the second of "20 apples. The 20 apples"."""
    first = by[_value(number)][0]
    return (
        first is not number
        and _NAMED_BEFORE.search(problem.text, max(0, number.start - 8), number.outer[0]) is not None
        and _thing(problem, first) == _thing(problem, number)
    )


def _is_otherwise(problem: Problem, number: Number, other: Problem) -> bool:
    """Whether the other text has a number as an article, or in a formula: "x = 3" is in "$x=3$"."""
    in_formulas = {
        Fraction(digits) for span in formula_spans(other.text) for digits in _DIGITS.findall(other.text, *span)
    }
    return _may_be_an_article(problem, number, other) or abs(number.value) in in_formulas


def _may_be_an_article(problem: Problem, number: Number, other: Problem) -> bool:
    """Whether a 1 is "one", or the other text has "a", "each" or "per" in its place."""
    if number.value != 1 or number.sign:
        return False
    word = _WORD_BEHIND.match(problem.text, number.end)
    articles = rf"\b(?:an?|each|every|per|single|the)\s+{word[1]}\b" if word else None
    return number.spelled or (articles is not None and re.search(articles, other.text, re.IGNORECASE) is not None)
