"""Numbers that changed places: "3 apples and 4 pears" for "4 apples and 3 pears".

That numbers come in another order says nothing yet: a clause moves, and its number with it. Looked at are sentences
that are the same but for their numbers, things that other numbers count, and what goes up or down by a number.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from tqnet.paraphrase.check.asked import beginning_in, words_of
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.directions import directions
from tqnet.paraphrase.check.entities import counted_things
from tqnet.paraphrase.check.lemmas import lemmas
from tqnet.paraphrase.check.order import turned_rows
from tqnet.paraphrase.check.prices import prices, rates_of
from tqnet.paraphrase.check.roles import LIGHT, Role, roles
from tqnet.paraphrase.check.values import value_of, written
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

#: Verbs of which another one tells the same from its other side.
_DEALS = frozenset(
    ("buy", "sell", "lend", "borrow", "win", "lose", "pay", "receive", "give", "get", "take", "earn", "owe", "cost")
)


def exchanged_numbers(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each number with the one that has its place; or else with the thing that it counted, and the one that it counts.

    The terms of a sum are not told from others: "5 + 3" is another order than "3 + 5".
    """
    return (
        _within_sentences(original, paraphrase)
        or _among(_things(original), _things(paraphrase))
        or _among(directions(original), directions(paraphrase))
        or _exchanged_verbs(original, paraphrase)
        or _among(rates_of(original), rates_of(paraphrase))
        or _among(prices(original), prices(paraphrase))
        or _exchanged_subjects(original, paraphrase)
        or turned_rows(original, paraphrase)
    )


def _within_sentences(original: Problem, paraphrase: Problem) -> list[Difference]:
    before, after = _by_words(original), _by_words(paraphrase)
    places = [place for words in before if words in after for place in zip(before[words], after[words], strict=True)]
    moved = [(own, other) for own, other in places if value_of(own) != value_of(other)]
    if Counter(value_of(own) for own, _ in moved) != Counter(value_of(other) for _, other in moved):
        return []
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, written(original, own), written(paraphrase, other))
        for own, other in moved
    ]


def _by_words(problem: Problem) -> dict[tuple[str, ...], list[Number]]:
    """Words of a sentence, a gap for each number -> its numbers; without sentences that stand there several times."""
    found: dict[tuple[str, ...], list[list[Number]]] = {}
    for start, end in problem.sentences:
        numbers = beginning_in((start, end), problem.numbers, lambda number: number.start)
        pieces, at = [], start
        for number in numbers:
            pieces.append(problem.text[at : number.outer[0]])
            at = number.outer[1]
        words = " 0 ".join([*pieces, problem.text[at:end]]).casefold().split()
        found.setdefault(tuple(words), []).append(numbers)
    return {words: of[0] for words, of in found.items() if len(of) == 1}


def _among(before: dict[Fraction, str], after: dict[Fraction, str]) -> list[Difference]:
    moved = [value for value, thing in before.items() if after.get(value, thing) != thing]
    if Counter(before[value] for value in moved) != Counter(after[value] for value in moved):
        return []
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, f"{value} {before[value]}", f"{value} {after[value]}")
        for value in moved
    ]


def _things(problem: Problem) -> dict[Fraction, str]:
    """Value -> the one thing that it counts, as a lemma."""
    return {value: next(iter(things)) for value, things in counted_things(problem).items() if len(things) == 1}


def _exchanged_verbs(original: Problem, paraphrase: Problem) -> list[Difference]:
    """By the verbs that tell numbers; "is" and "has" tell everything, and what one buys another one sells."""
    before, after = roles(original), roles(paraphrase)
    told = [value for value in before if value in after and not _is_a_deal(before[value], after[value])]
    return _among(
        *({value: of[value].verb for value in told if of[value].verb not in LIGHT} for of in (before, after)),
    )


def _is_a_deal(was: Role, became: Role) -> bool:
    """Whether two verbs may tell the same from the sides of two parties."""
    return {was.verb, became.verb} <= _DEALS and "" != was.subject != became.subject != ""


def _exchanged_subjects(original: Problem, paraphrase: Problem) -> list[Difference]:
    """By who has them: "Iris put $4,000 and Jonas $10,000" for "Jonas $4,000 and Iris $10,000", where both texts ask
    about one of them.
    """
    before, after = roles(original), roles(paraphrase)
    told = [value for value in before if value in after and not _is_a_deal(before[value], after[value])]
    subjects = [{value: of[value].subject for value in told if of[value].subject} for of in (before, after)]
    found = _among(*subjects)
    asked = set.intersection(*(set(lemmas(words_of(problem, problem.question))) for problem in (original, paraphrase)))
    return found if asked & {who for value, who in subjects[0].items() if subjects[1].get(value) != who} else []
