"""Numbers that a paraphrase lost, changed, added or exchanged; words and digits are equal.

Everything here takes linear time: a table of numbers, or a whole exercise sheet, has thousands.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from spacy.tokens import Token

from tqnet.paraphrase.check import Change, Difference, Part
from tqnet.paraphrase.check.readings import DEFINITE_BEFORE, ImplicitNumbers
from tqnet.paraphrase.check.text import lemma, lemmas, may_be_the_same, within
from tqnet.paraphrase.check.units import by_value, value_of
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number

#: Value -> the numbers of a text with that value.
_ByValue = Mapping[Fraction, Sequence[Number]]

#: Words that make one number refer to several things.
_REFERS = re.compile(
    r"\b(?:same|both|each|every|either|also|too|as (?:many|much|well|long|far)|equal(?:ly)?|likewise|apiece|again|"
    r"others?|another|remaining|rest|respectively|twice|times|"
    r"(?:rises?|rose|falls?|fell|grows?|grew|drops?|dropped|increase[sd]?|decrease[sd]?) and (?:then )?[a-z]+ by)\b",
    re.IGNORECASE,
)
#: Ordinals up to this may merely be labels: "the second".
_LABELS = 3
#: Maximum number of new numbers that may be sums of others.
_FEW = 3
_WORD_BEHIND = re.compile(r"[\s-]*([a-z]+)", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:an?|each|every|per|single|the)(?=\s+([a-z]+)\b)", re.IGNORECASE)


def number_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Compare numbers by value and number of mentions; a lost and a new one of the same thing are one change.

    Ignored are "one", which may be an article, later mentions of a number ("the 20 apples"), and numbers that the other
    text says in other words or units.
    """
    before, after = by_value(original), by_value(paraphrase)
    implicit_before, implicit_after = ImplicitNumbers(original), ImplicitNumbers(paraphrase)
    things, others = _Things(original), _Things(paraphrase)
    refers = len(_REFERS.findall(paraphrase.text)) > len(_REFERS.findall(original.text))
    lost = [
        number
        for value, numbers in before.items()
        if not (refers and value in after)
        for number in numbers[len(after.get(value, ())) :]
        if number is numbers[0] or not _goes_back(original, number)
    ]
    lost = _not_said(lost, implicit_before, implicit_after)
    new = _not_said(
        [numbers[0] for value, numbers in after.items() if value not in before], implicit_after, implicit_before
    )
    lost, new = _without_labels(lost, new), _without_labels(new, lost)
    if not lost and len(new) <= _FEW:
        new = [number for number in new if not _is_a_sum(number, others, before, after, things)]
    new += _not_said(_of_new_things(others, before, after, original), implicit_after, implicit_before)
    pairs = _pairs(lost, things, new, others)
    gone: dict[Fraction, Number] = {}
    for number in (number for number in lost if number not in pairs):
        gone.setdefault(value_of(number), number)
    mentions = {value: (len(before[value]), len(after[value])) for value in gone if value in after}
    taken = set(pairs.values())
    return [
        *(
            Difference(Part.NUMBER, Change.CHANGED, _written(original, number), _written(paraphrase, other))
            for number, other in pairs.items()
        ),
        *(
            Difference(Part.NUMBER, Change.LOST, _written(original, number), mentions=mentions.get(value))
            for value, number in gone.items()
        ),
        *(
            Difference(Part.NUMBER, Change.NEW, after=_written(paraphrase, other))
            for other in new
            if other not in taken
        ),
        *_coefficients(implicit_before, implicit_after),
    ]


def _of_new_things(others: _Things, before: _ByValue, after: _ByValue, original: Problem) -> list[Number]:
    """Return numbers that occur more often than before and count something that is not in the original."""
    known = lemmas(original.doc) | {unit.name for unit in original.units}
    more = (numbers for value, numbers in after.items() if 0 < len(before.get(value, ())) < len(numbers))
    things = ((number, others.of(number)) for numbers in more for number in numbers)
    return [
        number
        for number, thing in things
        if thing
        and thing not in known
        and not _goes_back(others.problem, number)
        and not any(may_be_the_same(thing, noun) for noun in known)
    ]


def _pairs(lost: Sequence[Number], things: _Things, new: Sequence[Number], others: _Things) -> dict[Number, Number]:
    """Pair lost numbers with the new ones that replace them: those of the same thing, or the only ones left."""
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


def _not_said(numbers: Sequence[Number], implicit: ImplicitNumbers, other: ImplicitNumbers) -> list[Number]:
    """Return the numbers that the other text says neither as an article nor in other words."""
    singular = {match[1].lower() for match in _ARTICLE.finditer(other.problem.text)} if numbers else set()

    def may_be_an_article(number: Number) -> bool:
        """Return True for "one", or a 1 for which the other text has "a", "each" or "per" before the word."""
        if number.value != 1 or number.sign:
            return False
        word = _WORD_BEHIND.match(implicit.problem.text, number.end)
        return number.spelled or (word is not None and word[1].lower() in singular)

    return [number for number in numbers if not may_be_an_article(number) and not other.has(number, implicit)]


def _without_labels(numbers: Sequence[Number], others: Sequence[Number]) -> list[Number]:
    """Return numbers without a "second" that may be "the other", unless another ordinal is in its place."""
    if any(number.kind is Kind.ORDINAL for number in others):
        return list(numbers)
    return [number for number in numbers if number.kind is not Kind.ORDINAL or number.value > _LABELS]


def _is_a_sum(number: Number, things: _Things, before: _ByValue, after: _ByValue, others: _Things) -> bool:
    """Return True for the 8 balls of "5 red and 3 blue balls", and for the complement of a percentage to 100%."""
    if number.sign == "%":
        neighbours = (pair for pair in pairwise(things.problem.numbers) if number in pair)
        return any(pair[0].sign == pair[1].sign and sum(map(value_of, pair)) == 1 for pair in neighbours)
    thing = things.of(number)
    same = {
        value
        for value, numbers in before.items()
        if thing and thing in {*map(others.of, numbers), *map(things.of, after.get(value, ()))}
    }
    return any(value_of(number) - value in same for value in same)


def _coefficients(implicit_before: ImplicitNumbers, implicit_after: ImplicitNumbers) -> list[Difference]:
    """Return digits that are part of a name ("3x", "x2"), if some are gone and others are new."""
    gone = (digits for value, digits in implicit_before.coefficients.items() if not implicit_after.reads(value))
    fresh = (digits for value, digits in implicit_after.coefficients.items() if not implicit_before.reads(value))
    return [Difference(Part.NUMBER, Change.CHANGED, old, new) for old, new in zip(gone, fresh, strict=False)]


class _Things:
    """What the numbers of a text measure or count."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self._units = {unit.number: unit.name for unit in reversed(problem.units)}  # the first of each number

    def of(self, number: Number) -> str | None:
        """Return a unit, or else the lemma of a noun."""
        noun = counted_noun(self.problem, number) if number not in self._units else None
        return lemma(noun) if noun is not None else self._units.get(number)


def _goes_back(problem: Problem, number: Number) -> bool:
    """Return True for "the 20 apples" and "all three"."""
    return DEFINITE_BEFORE.search(problem.text, max(0, number.start - 8), number.outer[0]) is not None


def counted_noun(problem: Problem, number: Number) -> Token | None:
    """Return the "apples" of "20 red apples"; None if the number stands alone."""
    span = problem.doc.char_span(*number.outer, alignment_mode="expand")
    if span is None:
        return None
    for token in span:
        if token.dep_ == "nummod" and token.head not in span:
            return token.head
    following = problem.doc[span.end] if span.end < len(problem.doc) else None
    return following if following is not None and following.pos_ == "NOUN" else None


def counted_things(problem: Problem) -> dict[Fraction, dict[str, Token]]:
    """Return value -> the nouns it counts, by lemma; units are not things, and percentages count nothing."""
    measured = {unit.number for unit in problem.units}
    things = {}
    for value, numbers in by_value(problem).items():
        counting = (number for number in numbers if number not in measured and number.sign != "%")
        nouns = filter(None, (counted_noun(problem, number) for number in counting))
        things[value] = {lemma(noun): noun for noun in nouns if noun.pos_ == "NOUN" and noun.text[0].isalpha()}
    return things


def _written(problem: Problem, number: Number) -> str:
    """Return a number with its sign, as written."""
    return problem.text[slice(*number.outer)].strip()


#: Between an amount and its rate: "30 kg of rice at $1.20".
_AT = re.compile(
    r"[^\d.?!,;]{0,40}?\b(?:at|for|costing|worth|priced\s+at|of\s+an?|of)\s+(?:a\s+price\s+of\s+)?[$£€]?\s*",
    re.IGNORECASE,
)
_FROM, _TO = re.compile(r"\bfrom\s+$", re.IGNORECASE), re.compile(r"\s+(?:[a-z]+\s+)?to\s+", re.IGNORECASE)
_THEN = re.compile(
    r"[^.?!;]{0,60}?\b(?:then|afterwards?|after\s+that|next)\b[^.?!;]{0,60}|"
    r"[^.?!]{0,60}[.;]\s+(?:then|afterwards|after\s+that|next)\b[^.?!]{0,60}",
    re.IGNORECASE,
)
#: Between two numbers, words that put the second first: "5 next, after 3", "5, then adds it to 12".
_TURNS = re.compile(r"\b(?:after|before|first|having|to\s+(?:the|his|her|their|my|its))\b(?!\s+that\b)", re.IGNORECASE)
_TERM = r"(?:(?:the|its|their|his|her)\s+)?(?:[a-z]+\s+of\s+)?([a-z]+)(?:['’]s(?:\s+[a-z]+)?)?"
_RATIO_VALUE = r"(\d{1,9}(?:\.\d{1,9})?)\s?(?::|\b(?:is\s+)?to\b)\s?(\d{1,9}(?:\.\d{1,9})?)(?![\d:]|\s?:)"
_RATIOS = [
    re.compile(rf"\b{terms}[^\d.?!]{{0,60}}?\b{ratio}{_RATIO_VALUE}", re.IGNORECASE)
    for terms, ratio in (
        (rf"(?:ratio|proportion)\s+of\s+{_TERM}\s+(?:to|and)\s+{_TERM}\b", ""),
        (r"([a-z]+)\s+(?:to|and)\s+(?:the\s+)?([a-z]+)\b", r"(?:ratio|proportion)(?:\s+of)?\s+"),
    )
]


def exchanged_numbers(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return numbers that changed places: "3 apples and 4 pears" for "4 apples and 3 pears".

    A new order alone proves nothing: a clause moves, and its number with it. Alike sentences, counted nouns, rates, the
    terms of ratios and the order of steps are compared.
    """
    return (
        _within_sentences(original, paraphrase)
        or _exchanged(_things(original), _things(paraphrase))
        or _exchanged(_rates(original), _rates(paraphrase))
        or _turned_rows(original, paraphrase)
        or _turned_ratios(original.text, paraphrase.text)
    )


def _within_sentences(original: Problem, paraphrase: Problem) -> list[Difference]:
    before, after = _by_words(original), _by_words(paraphrase)
    places = [place for words in before if words in after for place in zip(before[words], after[words], strict=True)]
    moved = [(number, other) for number, other in places if value_of(number) != value_of(other)]
    if Counter(value_of(number) for number, _ in moved) != Counter(value_of(other) for _, other in moved):
        return []
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, _written(original, number), _written(paraphrase, other))
        for number, other in moved
    ]


def _by_words(problem: Problem) -> dict[tuple[str, ...], list[Number]]:
    """Return the words of each sentence, with gaps for numbers -> its numbers; repeated sentences are dropped."""
    sentences: dict[tuple[str, ...], list[list[Number]]] = defaultdict(list)
    for start, end in problem.sentences:
        numbers = within((start, end), problem.numbers, lambda number: number.start)
        places = [start, *(place for number in numbers for place in number.outer), end]
        pieces = (problem.text[first:last] for first, last in zip(places[::2], places[1::2], strict=True))
        sentences[tuple(" 0 ".join(pieces).casefold().split())].append(numbers)
    return {words: numbers[0] for words, numbers in sentences.items() if len(numbers) == 1}


def _exchanged(before: dict[Fraction, str], after: dict[Fraction, str]) -> list[Difference]:
    """Return the values whose labels changed, if both texts have the same labels."""
    moved = [value for value, label in before.items() if after.get(value, label) != label]
    if Counter(before[value] for value in moved) != Counter(after[value] for value in moved):
        return []
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, f"{value} {before[value]}", f"{value} {after[value]}")
        for value in moved
    ]


def _things(problem: Problem) -> dict[Fraction, str]:
    return {value: next(iter(things)) for value, things in counted_things(problem).items() if len(things) == 1}


def _rates(problem: Problem) -> dict[Fraction, str]:
    """Return value that occurs once -> its rate: 30 -> "at 6/5" in "30 kg of rice at $1.20"."""
    single = {value for value, numbers in by_value(problem).items() if len(numbers) == 1}
    return {
        value_of(number): f"at {value_of(rate)}"
        for number, rate in pairwise(problem.numbers)
        if value_of(number) in single and _AT.fullmatch(problem.text, number.outer[1], rate.start)
    }


def _turned_rows(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return the numbers of "from $80 to $92" and of "adds 6 and then doubles", if they are reversed."""
    before, after = _rows(original), _rows(paraphrase)
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, f"{how} {first}, {last}", f"{how} {last}, {first}")
        for how, first, last in before
        if (how, last, first) in after and (how, first, last) not in after and (how, last, first) not in before
    ]


def _rows(problem: Problem) -> set[tuple[str, Fraction, Fraction]]:
    text, rows = problem.text, set()
    for number, other in pairwise(problem.numbers):
        between = number.outer[1], other.outer[0]
        if _TO.fullmatch(text, *between) and _FROM.search(text, max(0, number.outer[0] - 10), number.outer[0]):
            rows.add(("from", value_of(number), value_of(other)))
        elif _THEN.fullmatch(text, *between) and not _TURNS.search(text, *between):
            rows.add(("first", value_of(number), value_of(other)))
    return rows


def _turned_ratios(original: str, paraphrase: str) -> list[Difference]:
    """Return reversed ratios of the same terms: "boys to girls is 3:4" for "girls to boys is 3:4"."""
    before, after = _ratios(original), _ratios(paraphrase)
    return [
        Difference(Part.NUMBER, Change.EXCHANGED, before[terms][1], after[terms][1])
        for terms in before.keys() & after.keys()
        if before[terms][0] != after[terms][0] and before[terms][0] == 1 - after[terms][0]
    ]


def _ratios(text: str) -> dict[tuple[str, ...], tuple[Fraction, str]]:
    """Return sorted terms -> share of the first, and the ratio as text."""
    ratios: dict[tuple[str, ...], tuple[Fraction, str]] = {}
    for first, second, amount, other in (groups for pattern in _RATIOS for groups in pattern.findall(text)):
        values = {first.lower(): Fraction(amount), second.lower(): Fraction(other)}
        terms = tuple(sorted(values))
        if len(terms) == 2 and any(values.values()):
            share = values[terms[0]] / sum(values.values())
            ratios[terms] = share, ", ".join(f"{values[term]} {term}" for term in terms)
    return ratios


def other_kinds(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return numbers that count in one text and measure in the other: "12 days" for "12 men", if both have both."""
    before, after = _kinds(original), _kinds(paraphrase)
    known, others = ({unit.name for unit in text.units} | lemmas(text.doc) for text in (original, paraphrase))
    differences = []
    for value in (value for value in before if value in after):
        (was, measured), (became, measures) = before[value], after[value]
        if measured != measures and was != became and {was, became} <= known & others:
            differences.append(Difference(Part.NUMBER, Change.CHANGED, f"{value} {was}", f"{value} {became}"))
    return differences


def _kinds(problem: Problem) -> dict[Fraction, tuple[str, bool]]:
    """Return value that occurs once -> what it counts or measures, and whether that is a unit."""
    units = {unit.number: unit.name for unit in problem.units}
    kinds = {}
    for value, (number, *others) in by_value(problem).items():
        if not others and number.kind is Kind.WHOLE and not number.sign:
            noun = counted_noun(problem, number)
            if number in units:
                kinds[value] = units[number], True
            elif noun is not None and noun.tag_ == "NNS":
                kinds[value] = lemma(noun), False
    return kinds
