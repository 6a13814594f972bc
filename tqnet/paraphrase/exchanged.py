"""Numbers that changed places: "3 apples and 4 pears" for "4 apples and 3 pears".

That numbers come in another order says nothing yet: a clause moves, and its number with it. Looked at are sentences
that are the same but for their numbers, things that other numbers count, and what goes up or down by a number.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise

from spacy.tokens import Token

from tqnet.augment.paraphrase.problem import Problem
from tqnet.paraphrase.asked import beginning_in, words_of
from tqnet.paraphrase.counted import counted_noun, packed_in
from tqnet.paraphrase.difference import Change, Difference, Part
from tqnet.paraphrase.directions import directions
from tqnet.paraphrase.entities import counted_things
from tqnet.paraphrase.roles import LIGHT, Role, roles
from tqnet.paraphrase.values import by_value, value_of, written
from tqnet.text.numbers import Kind, Number

#: Behind what an amount is sold or mixed at.
_AT = re.compile(
    r"[^\d.?!,;]{0,40}?\b(?:at|for|costing|worth|priced\s+at|of\s+an?|of)\s+(?:a\s+price\s+of\s+)?[$£€]?\s*",
    re.IGNORECASE,
)
#: Before and behind a sum of money, what that is for.
_COSTS = re.compile(r"\b(?P<thing>[a-z]+)\s+(?:each\s+)?(?:costs?|at|for|sells?\s+for)\s+$", re.IGNORECASE)
_FOR = re.compile(r"\s+(?:for|per)\s+(?:an?\s+|each\s+|every\s+|one\s+)?(?P<thing>[a-z]+)\b", re.IGNORECASE)
_MONEY = tuple("$£€")
_FROM, _TO = re.compile(r"\bfrom\s+$", re.IGNORECASE), re.compile(r"\s+(?:[a-z]+\s+)?to\s+", re.IGNORECASE)
_THEN = re.compile(
    r"[^.?!;]{0,60}?\b(?:then|afterwards?|after\s+that|next)\b[^.?!;]{0,60}|"
    r"[^.?!]{0,60}[.;]\s+(?:then|afterwards|after\s+that|next)\b[^.?!]{0,60}",
    re.IGNORECASE,
)
#: Between them, what says that the second comes first, or is added to: "5 next, after 3", "5, then adds it to 12".
_TURNS = re.compile(r"\b(?:after|before|first|having|to\s+(?:the|his|her|their|my|its))\b(?!\s+that\b)", re.IGNORECASE)
#: Of characters before a number.
_NEAR, _THING = 10, 40
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
        or _among(_prices(original), _prices(paraphrase))
        or _among(_priced(original), _priced(paraphrase))
        or _exchanged_subjects(original, paraphrase)
        or _turned_rows(original, paraphrase)
    )


def other_kinds(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each number that counts something in one text and measures in the other one: "12 days" for "12 men", where both
    texts know days and men; or how many boxes there are, and how many things a box has: "6 boxes" for "boxes of 6".
    """
    before, after = _kinds(original), _kinds(paraphrase)
    known, told = (
        {*(unit.name for unit in problem.units), *(token.lemma_.lower() for token in problem.doc)}
        for problem in (original, paraphrase)
    )
    found = []
    for value in (value for value in before if value in after):
        (was, measured), (became, measures) = before[value], after[value]
        if measured != measures and was != became and {was, became} <= known & told:
            found.append(Difference(Part.NUMBER, Change.CHANGED, f"{value} {was}", f"{value} {became}"))
    return found + _other_packing(original, paraphrase)


def _other_packing(original: Problem, paraphrase: Problem) -> list[Difference]:
    before, after = _packing(original), _packing(paraphrase)
    places = [(before[value], after[value]) for value in before if value in after]
    return [
        Difference(Part.NUMBER, Change.CHANGED, said, instead)
        for (box, inside, said), (other, is_inside, instead) in places
        if box == other and inside != is_inside
    ]


def _packing(problem: Problem) -> dict[Fraction, tuple[str, bool, str]]:
    """Value of which there is one number -> a thing, whether so many are in it or of it, and how that is said."""
    found = {}
    for value, numbers in by_value(problem).items():
        if len(numbers) > 1:
            continue
        if box := packed_in(problem, numbers[0]):
            found[value] = box.lemma_.lower(), True, f"{box.lower_} of {value}"
        elif (noun := _several(problem, numbers[0])) is not None:
            found[value] = noun.lemma_.lower(), False, f"{value} {noun.lower_}"
    return found


def _several(problem: Problem, number: Number) -> Token | None:
    """What a number counts; the "pack" of "a 6-pack" or "an 8 pack" is but one."""
    noun = counted_noun(problem, number)
    is_one = noun is None or noun.tag_ != "NNS" or problem.text.startswith("-", number.outer[1])
    return None if is_one else noun


def _kinds(problem: Problem) -> dict[Fraction, tuple[str, bool]]:
    """Value of which there is one number -> what it counts or measures, and whether that is a unit."""
    units = {unit.number: unit.name for unit in problem.units}
    found = {}
    for value, numbers in by_value(problem).items():
        if len(numbers) == 1 and numbers[0].kind is Kind.WHOLE and not numbers[0].sign:
            noun = counted_noun(problem, numbers[0])
            if numbers[0] in units:
                found[value] = units[numbers[0]], True
            elif noun is not None and noun.tag_ == "NNS":
                found[value] = noun.lemma_.lower(), False
    return found


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


def _prices(problem: Problem) -> dict[Fraction, str]:
    """Value of which there is one number -> that at which so much is sold: 1.2 of 30 in "30 kg of rice at $1.20"."""
    single = {value for value, numbers in by_value(problem).items() if len(numbers) == 1}
    return {
        value_of(one): f"at {value_of(other)}"
        for one, other in pairwise(problem.numbers)
        if value_of(one) in single and _AT.fullmatch(problem.text, one.outer[1], other.start)
    }


def _priced(problem: Problem) -> dict[Fraction, str]:
    """Value of which there is one sum of money -> what costs so much, or who pays it: "$10 for an adult"."""
    text, found = problem.text, {}
    for value, numbers in by_value(problem).items():
        if len(numbers) > 1 or numbers[0].sign not in _MONEY:
            continue
        start, end = numbers[0].outer
        match = _FOR.match(text, end) or _COSTS.search(text, max(0, start - _THING), start)
        span = problem.doc.char_span(*match.span("thing")) if match else None
        if span is not None:
            found[value] = f"for {span.lemma_.lower()}"
    return found


def _exchanged_subjects(original: Problem, paraphrase: Problem) -> list[Difference]:
    """By who has them: "Iris put $4,000 and Jonas $10,000" for "Jonas $4,000 and Iris $10,000", where both texts ask
    about one of them.
    """
    before, after = roles(original), roles(paraphrase)
    told = [value for value in before if value in after and not _is_a_deal(before[value], after[value])]
    subjects = [{value: of[value].subject for value in told if of[value].subject} for of in (before, after)]
    found = _among(*subjects)
    asked = set.intersection(
        *({token.lemma_.lower() for token in words_of(problem, problem.question)} for problem in (original, paraphrase))
    )
    return found if asked & {who for value, who in subjects[0].items() if subjects[1].get(value) != who} else []


def _turned_rows(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Both numbers of "from $80 to $92" and of "adds 6 and then doubles" that come the other way round."""
    before, after = _rows(original), _rows(paraphrase)
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, f"{said} {first}, {last}", f"{said} {last}, {first}")
        for said, first, last in before
        if (said, last, first) in after and (said, first, last) not in after and (said, last, first) not in before
    ]


def _rows(problem: Problem) -> set[tuple[str, Fraction, Fraction]]:
    """Values of two numbers of which one comes first: what says so, and both."""
    text = problem.text
    found = set()
    for one, other in pairwise(problem.numbers):
        between = one.outer[1], other.outer[0]
        if _TO.fullmatch(text, *between) and _FROM.search(text, max(0, one.outer[0] - _NEAR), one.outer[0]):
            found.add(("from", value_of(one), value_of(other)))
        elif _THEN.fullmatch(text, *between) and not _TURNS.search(text, *between):
            found.add(("first", value_of(one), value_of(other)))
    return found
