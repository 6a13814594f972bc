"""Numbers that a paraphrase lost or changed; in words or digits, they are the same.

All of it takes a time by the length of the texts: a table of numbers, or a whole exercise sheet, has thousands.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tqnet.paraphrase.check.counted import DEFINITE_BEFORE, THESE_BEFORE, Things
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.said import Said
from tqnet.paraphrase.check.values import by_value, value_of, written
from tqnet.paraphrase.check.worked_out import is_worked_out
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number

#: Words by which one number stands for several things.
_REFERS = re.compile(
    r"\b(?:same|both|each|every|either|also|too|as (?:many|much|well|long|far)|equal(?:ly)?|likewise|apiece|again|"
    r"others?|another|remaining|rest|respectively|twice|times|"
    r"(?:rises?|rose|falls?|fell|grows?|grew|drops?|dropped|increase[sd]?|decrease[sd]?) and (?:then )?[a-z]+ by)\b",
    re.IGNORECASE,
)
#: Before a number that a question goes back to, and behind one that says something of its own.
_AT_BEFORE = re.compile(r"\b(?:at|in|of|from|on|for)\s+(?:the\s+)?$", re.IGNORECASE)
_MORE_BEHIND = re.compile(r"\s+(?:[a-z]+\s+)?(?:more|fewer|less|plus|minus|times|than)\b", re.IGNORECASE)
#: Ordinals up to it may but tell things apart.
_LABELS = 3
#: More new numbers than that are no slip of somebody who adds up.
_FEW = 3
_WORD_BEHIND = re.compile(r"[\s-]*([a-z]+)", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:an?|each|every|per|single|the)(?=\s+([a-z]+)\b)", re.IGNORECASE)


def number_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Numbers by their values, as often as they are mentioned; a lost and a new one of the same thing are one change.

    Not looked at are "one", which may be an article, the second mention of a number that the text goes back to, "the
    20 apples" after "20 apples", and what the other text says in other words or units. A number that is mentioned more
    often than before is not new.
    """
    before, after = by_value(original), by_value(paraphrase)
    here, there = Said(original), Said(paraphrase)
    things, others = Things(original), Things(paraphrase)
    refers = _refers_more(original.text, paraphrase.text)
    lost = [
        number
        for value, own in before.items()
        if not (refers and value in after)
        for number in own[len(after.get(value, ())) :]
        if not (_goes_back(number, own[0], things) or (value in after and _is_asked_again(number, own[0], things)))
    ]
    lost = _not_otherwise(lost, here, there)
    new = _not_otherwise([own[0] for value, own in after.items() if value not in before], there, here)
    lost, new = _but_labels(lost, new), _but_labels(new, lost)
    if not lost and len(new) <= _FEW:
        new = [number for number in new if not _follows(number, others, before, after, things)]
    if len(lost) == len(new) == 1 and is_worked_out(lost[0], new[0], before.keys() & after, (original, paraphrase)):
        lost, new = [], []
    pairs = _pairs(lost, things, new, others)
    gone: dict[Fraction, Number] = {}
    for number in lost:
        if number not in pairs and not _counts_what_was_told(number, here):
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
    fresh = [number for number in new if number not in taken and not _counts_what_was_told(number, there)]
    return [
        *found,
        *(Difference(Part.NUMBER, Change.NEW, after=written(paraphrase, one)) for one in fresh),
        *_coefficients(here, there),
    ]


def _pairs(lost: Sequence[Number], things: Things, new: Sequence[Number], others: Things) -> dict[Number, Number]:
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


def _goes_back(number: Number, first: Number, things: Things) -> bool:
    """Whether a number is mentioned again with an article: the second of "20 apples. The 20 apples", or of "The 20"."""
    return (
        first is not number
        and DEFINITE_BEFORE.search(things.problem.text, max(0, number.start - 8), number.outer[0]) is not None
        and things.of(number) in (things.of(first), None)
    )


def _is_asked_again(number: Number, first: Number, things: Things) -> bool:
    """Whether the question goes back to a number that was told: "how much did he invest at 8%"."""
    start, end = things.problem.question or (0, 0)
    text = things.problem.text
    before = number.outer[0]
    if not _AT_BEFORE.search(text, max(0, before - 16), before) or _MORE_BEHIND.match(text, number.end):
        return False
    is_asked, is_told = (start <= one.start < end for one in (number, first))
    return is_asked and not is_told and number.sign == first.sign and things.of(number) == things.of(first)


def _counts_what_was_told(number: Number, said: Said) -> bool:
    """Whether a number only says how many things there were: "these three"."""
    if number.kind is not Kind.WHOLE or number.sign or said.amounts.measures(number):
        return False
    return THESE_BEFORE.search(said.problem.text, max(0, number.start - 8), number.start) is not None


def _refers_more(original: str, paraphrase: str) -> bool:
    """Whether the paraphrase may name a number once that the original has twice: "each", "the same number"."""
    return len(_REFERS.findall(paraphrase)) > len(_REFERS.findall(original))


def _not_otherwise(numbers: Sequence[Number], said: Said, other: Said) -> list[Number]:
    """Those that the other text has neither as an article nor in other words: "x = 3" is in "$x=3$"."""
    if not numbers:
        return []
    singled_out = {match[1].lower() for match in _ARTICLE.finditer(other.problem.text)}
    return [
        number
        for number in numbers
        if not _may_be_an_article(said.problem, number, singled_out) and not other.has(number, said)
    ]


def _but_labels(numbers: Sequence[Number], others: Sequence[Number]) -> list[Number]:
    """Without "the second" or "third" that may be "the other" or "the next", where no other one is in its place."""
    if any(number.kind is Kind.ORDINAL for number in others):
        return list(numbers)
    return [number for number in numbers if number.kind is not Kind.ORDINAL or number.value > _LABELS]


def _follows(
    number: Number,
    things: Things,
    before: Mapping[Fraction, Sequence[Number]],
    after: Mapping[Fraction, Sequence[Number]],
    others: Things,
) -> bool:
    """Whether a number is the sum of two of the original's that count the same in either text, as 8 balls are 5 red
    and 3 blue ones, or makes 100% with the one beside it.
    """
    if number.sign == "%" and any(_make_a_whole(pair) for pair in things.neighbours(number)):
        return True
    thing = things.of(number)
    if thing is None or number.sign == "%":
        return False
    same = {
        value
        for value, own in before.items()
        if any(others.of(one) == thing for one in own) or any(things.of(one) == thing for one in after.get(value, ()))
    }
    return any(value_of(number) - value in same for value in same)


def _make_a_whole(numbers: tuple[Number, Number]) -> bool:
    return all(number.sign == "%" for number in numbers) and sum(map(value_of, numbers)) == 1


def _coefficients(here: Said, there: Said) -> list[Difference]:
    """Digits that are part of a name, of "3x" or "x2", where some are gone and others have come."""
    gone = {value: digits for value, digits in here.coefficients.items() if not there.reads(value)}
    fresh = {value: digits for value, digits in there.coefficients.items() if not here.reads(value)}
    return [
        Difference(Part.NUMBER, Change.CHANGED, old, new)
        for old, new in zip(gone.values(), fresh.values(), strict=False)
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
