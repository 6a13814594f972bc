"""What words say regardless of context: relations of a number, senses, qualifiers, and what is asked for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spacy.lang.en.stop_words import STOP_WORDS

from tqnet.paraphrase.check import Change, Difference, Part
from tqnet.paraphrase.check.text import (
    AlikeSentences,
    lemma,
    lemmas,
    may_be_the_same,
    nouns,
    question_of,
    with_macros,
    words_of,
)
from tqnet.paraphrase.check.units import Measured, value_of
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import data
from tqnet.paraphrase.units import spellings
from tqnet.text.numbers import CARDINALS, Kind
from tqnet.text.replacements import OTHERS, Phrases

_RELATIONS, _WORDING = data("relations"), data("wording")
#: Comparative -> its dimension, and its side of it.
_SIDES = {
    word: (dimension, side)
    for dimension, line in enumerate(_RELATIONS["dimensions"].splitlines())
    for side, words in enumerate(line.split("|"))
    for word in words.split()
}
_MACROS = _RELATIONS["macros"] | {
    "more": "|".join(word for word in _SIDES if word.isascii()),
    "更": "|".join(word for word in _SIDES if not word.isascii()),
    "cardinal": "|".join(CARDINALS[1:]),
}


def _relation(pattern: str) -> re.Pattern[str]:
    return re.compile(with_macros(pattern, _MACROS), re.IGNORECASE)


#: Pairs of patterns that contradict each other.
_SENSES = [list(map(_relation, senses)) for senses in _RELATIONS["senses"]]
#: Patterns of what something is compared with.
_THAN = list(map(_relation, _RELATIONS["than"]))
_COMPARISON, _COMPARES = _relation(_RELATIONS["comparison"]), _relation(_RELATIONS["compares"])
#: Numbers of characters before and after a number that count as its context.
_BEFORE, _AFTER = 60, 48


@dataclass(frozen=True, slots=True)
class _Place:
    """A number as written, and the text around it, with # for the number."""

    number: str
    around: str

    def quote(self, match: re.Match[str]) -> str:
        return match[0].replace("#th", "#").replace("#", self.number).strip()


def other_relations(original: Measured, paraphrase: Measured) -> list[Difference]:
    """Return the numbers in another relation: "3 more" for "3 times", "6 fewer than Al" for "6 fewer than Bo"."""
    before, after = _places(original), _places(paraphrase)
    texts = original.text.lower(), paraphrase.text.lower()
    differences = []
    for value in (value for value in before if value in after):
        both = before[value], after[value]
        changes = [*_contradictions(*both), *_other_sides(*both, texts)]
        differences += [Difference(Part.NUMBER, Change.CHANGED, *change) for change in changes[:1]]
    return differences


def _places(measured: Measured) -> dict[Fraction, list[_Place]]:
    text = measured.text
    places: dict[Fraction, list[_Place]] = defaultdict(list)
    for number in measured.numbers:
        start, end = number.span
        mark = "#th" if number.kind is Kind.ORDINAL else "#"
        around = f"{text[max(0, start - _BEFORE) : start]}{mark}{text[end : end + _AFTER]}"
        places[value_of(number)].append(_Place(text[start:end], around))
    return places


def _contradictions(before: Sequence[_Place], after: Sequence[_Place]) -> Iterator[tuple[str, str]]:
    for senses in _SENSES:
        old, new = ([_quote(sense, places) for sense in senses] for places in (before, after))
        for sense in (0, 1):
            if old[sense] and not old[1 - sense] and new[1 - sense] and not new[sense]:
                yield old[sense], new[1 - sense]


def _quote(sense: re.Pattern[str], places: Sequence[_Place]) -> str:
    return next((place.quote(match) for place in places if (match := sense.search(place.around))), "")


def _other_sides(
    before: Sequence[_Place], after: Sequence[_Place], texts: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    for than in _THAN:
        old, new = (
            [(place, match) for place in places if (match := than.search(place.around))] for places in (before, after)
        )
        if len(old) == len(new) == 1 and _is_turned(old[0][1], new[0][1], texts):
            yield old[0][0].quote(old[0][1]), new[0][0].quote(new[0][1])


def _is_turned(match: re.Match[str], other: re.Match[str], texts: tuple[str, str]) -> bool:
    """Return True if "more" became "less" than the same one, or if the side is the same but the other one is not."""
    whom, instead = match["whom"].lower(), other["whom"].lower()
    if {whom, instead} & nouns("pronouns"):
        return False
    (dimension, side), (other_dimension, other_side) = (
        _SIDES[comparison["how"].lower()] for comparison in (match, other)
    )
    if dimension != other_dimension:
        return False  # "3 minutes earlier" and "3 minutes faster"
    if whom == instead:
        return side != other_side
    # 20% more than 75 is 90, of which 75 is not 20% less
    stays = side == other_side or ("%" in match[0] and "%" in other[0])
    return stays and all(name in text for name in (whom, instead) for text in texts)


def lone_comparisons(original: str, paraphrase: str) -> list[Difference]:
    """Return the first comparison of one text, if the other compares nothing: "costs $20 more than the ball"."""
    before, after = _COMPARISON.search(original), _COMPARISON.search(paraphrase)
    if before and not _COMPARES.search(paraphrase):
        return [Difference(Part.WORD, Change.LOST, before[0])]
    if after and not _COMPARES.search(original):
        return [Difference(Part.WORD, Change.NEW, after=after[0])]
    return []


_TABLES = (OTHERS, Phrases(_WORDING["senses"]))


def other_senses(original: str, paraphrase: str) -> list[Difference]:
    """Return the phrases that have a different sense in each text, and only one in either: "upstream", "downstream".

    Comparisons are left out: "Ann is older than Ben" and "Ben is younger than Ann" exchange their words, too.
    """
    differences = []
    for table in _TABLES:
        before, after = _senses(table, original), _senses(table, paraphrase)
        for line in before.keys() & after.keys():
            old, new = before[line], after[line]
            is_ambiguous = table.reasons[line] in _WORDING["ambiguous"]
            if not is_ambiguous and len(old) == len(new) == 1 and old.keys() != new.keys():
                (before_words,), (after_words,) = old.values(), new.values()
                differences.append(Difference(Part.WORD, Change.CHANGED, before_words, after_words))
    return list(dict.fromkeys(differences))


def _senses(table: Phrases, text: str) -> dict[int, dict[int, str]]:
    """Return line of the table -> its senses in a text, each with its first phrase."""
    lines: dict[int, dict[int, str]] = defaultdict(dict)
    for phrase in table.find(text):
        lines[phrase.line].setdefault(phrase.sense, text[phrase.start : phrase.end])
    return lines


def _whole_words(words: str) -> re.Pattern[str]:
    words = with_macros(words, _WORDING["macros"] | {"several": rf"(?:\d+|{'|'.join(CARDINALS[2:])})"})
    # Chinese does not separate words.
    return re.compile(rf"\b(?:{words})\b" if words.isascii() else words, re.IGNORECASE)


_QUALIFIERS = [
    (_whole_words(word), _whole_words(f"{word}|{others}")) for word, others in _WORDING["qualifiers"].items()
]


def lost_qualifiers(original: str, paraphrase: str) -> list[Difference]:
    """Return the qualifiers that the paraphrase lost: "consecutive", "isosceles", half of the "rest"."""
    lost = []
    for word, others in _QUALIFIERS:
        match = word.search(original)
        if match and not others.search(paraphrase):
            lost.append(Difference(Part.WORD, Change.LOST, next(filter(None, match.groups()), match[0])))
    return lost


_OPPOSITES = [[sense.split() for sense in line.split("|")] for line in _WORDING["opposites"].splitlines()]
#: Word -> lines of the tables that have it -> its sense there.
_SENSE_OF: dict[str, dict[int, int]] = defaultdict(dict)
for _line, _words in enumerate([*OTHERS.lines, *_OPPOSITES]):
    for _sense, _phrases in enumerate(_words):
        for _phrase in _phrases:
            _SENSE_OF[_phrase][_line] = _sense


def exchanged_words(original: Problem, paraphrase: Problem, alike: Sequence[AlikeSentences]) -> list[Difference]:
    """Return the words of alike sentences that were replaced by another word of the original, or by an opposite.

    Names that swapped places in all sentences leave the question the same, so one of the two must also have stayed.
    """
    in_both = {token.lower_ for token in original.doc} & {token.lower_ for token in paraphrase.doc}
    stayed = {word for sentence in alike for word in sentence.stayed}
    differences = []
    for sentence in (sentence for sentence in alike if not sentence.is_turned_round):
        if all(_are_opposites(*pair) for pair in sentence.pairs):
            differences += [Difference(Part.WORD, Change.CHANGED, *pair) for pair in sentence.pairs]
        elif all(_are_exchanged(*pair, in_both, stayed) for pair in sentence.pairs):
            differences += [Difference(Part.WORD, Change.EXCHANGED, *pair) for pair in sentence.pairs]
    return differences


def _are_exchanged(old: str, new: str, in_both: set[str], stayed: set[str]) -> bool:
    units = [spellings().get(word) for word in (old, new)]
    if units[0] and units[1] and units[0].name == units[1].name:
        return False
    pair = {old.lower(), new.lower()}
    return pair <= in_both and bool(pair & stayed) and all(word.isalpha() and word not in STOP_WORDS for word in pair)


def _are_opposites(old: str, new: str) -> bool:
    """Return True if two words are in different senses on one line of a table."""
    senses, others = _SENSE_OF.get(old.lower(), {}), _SENSE_OF.get(new.lower(), {})
    lines = senses.keys() & others.keys()
    return bool(lines) and all(senses[line] != others[line] for line in lines)


_NEGATIVE = re.compile(_WORDING["negative"], re.IGNORECASE)
#: Words that negate the word after them: not the "no" of "no more than".
_DENIES = frozenset(("not", "n't", "n’t", "never", "neither", "nor", "without"))
#: Verbs that say nothing without what is drawn.
_DRAWS = frozenset(("draw", "pick", "choose", "select", "get", "take", "roll", "pull"))
_THE = r"(?:(?:the|his|her|their|my)\s+)?"
_AGES = re.compile(
    rf"\bhow\s+old\s+(?:is|was|are|were|will|would)\s+{_THE}(?P<who>[a-z]+)(?!['’])"
    rf"|\b{_THE}(?P<whose>[a-z]+)['’]s\s+(?:[a-z]+\s+){{0,2}}?age\b|\bage\s+of\s+{_THE}(?P<of>[a-z]+)(?!['’])"
)
#: Nouns that do not name counted things.
_NO_THINGS = frozenset(("time", "way", "total", "number", "kind", "type", "sort"))


def other_target(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return what each question asks for, if it differs: "how many vans" for "how many cars"."""
    if original.question is None or paraphrase.question is None:
        return []
    for differ in (_counted_things, _ages, _negations):
        if targets := differ(original, paraphrase):
            return [Difference(Part.QUESTION, Change.CHANGED, *targets)]
    return []


def _counted_things(original: Problem, paraphrase: Problem) -> tuple[str, str] | None:
    """Return two counted things that both texts name, and each question only one of them."""
    target, instead = (list(dict.fromkeys(_counted(problem))) for problem in (original, paraphrase))
    if not target or not instead or not {target[0], instead[0]} <= lemmas(original.doc) & lemmas(paraphrase.doc):
        return None
    if not _question_nouns(original).isdisjoint(instead) or not _question_nouns(paraphrase).isdisjoint(target):
        return None
    if any(may_be_the_same(noun, other) for noun in target for other in instead):
        return None
    return f"how many: {target[0]}", f"how many: {instead[0]}"


def _counted(problem: Problem) -> Iterator[str]:
    """Yield the "cars" of "how many cars", and both nouns of "how many vehicles are cars"."""
    for word in words_of(problem, problem.question):
        if word.lower_ == "many" and word.i and word.nbor(-1).lower_ == "how":
            noun = word.head
            if word.dep_ in ("amod", "nummod") and noun.pos_ == "NOUN" and lemma(noun) not in _NO_THINGS:
                yield lemma(noun)
                verb = noun.head
                if verb.lemma_ == "be":
                    yield from (lemma(child) for child in verb.children if child.dep_ in ("nsubj", "attr", "acomp"))


def _ages(original: Problem, paraphrase: Problem) -> tuple[str, str] | None:
    target, instead = (
        {match["who"] or match["whose"] or match["of"] for match in _AGES.finditer(question_of(problem))}
        for problem in (original, paraphrase)
    )
    if not len(target) == len(instead) == 1 or (target | instead) & nouns("pronouns"):
        return None
    known = lemmas(original.doc) & _question_nouns(paraphrase)
    if not (instead <= known and target <= _question_nouns(original)):
        return None
    (name,), (other,) = target, instead
    if name == other or may_be_the_same(name, other):
        return None
    for first, second in ((name, other), (other, name)):  # "his son Tim", "Tim, his son"
        pattern = re.compile(rf"\b{first}\b(?:\s*,)?\s+{_THE}{second}\b", re.IGNORECASE)
        if pattern.search(original.text) or pattern.search(paraphrase.text):
            return None
    return f"the age of {name}", f"the age of {other}"


def _negations(original: Problem, paraphrase: Problem) -> tuple[str, str] | None:
    """Return what one question negates and the other does not."""
    for negated, plain in ((original, paraphrase), (paraphrase, original)):
        if _NEGATIVE.search(question_of(plain)):
            continue
        words = lemmas(words_of(plain, plain.question))
        for denied in _denied(negated):
            if words.issuperset(denied):
                both = f"not {denied[0]}", denied[0]
                return both if negated is original else both[::-1]
    return None


def _denied(problem: Problem) -> Iterator[list[str]]:
    """Yield the first content word after each "not", "neither" or "without"; two for "not drawing red"."""
    words = words_of(problem, problem.question)
    for at, word in enumerate(words):
        if word.lower_ in _DENIES:
            denied = [lemma(other) for other in words[at + 1 : at + 5] if other.is_alpha and not other.is_stop]
            if denied:
                yield denied[: 2 if denied[0] in _DRAWS else 1]


def _question_nouns(problem: Problem) -> set[str]:
    """Return the lemmas of a question's nouns, without the "car" of "car park"."""
    return {
        lemma(token)
        for token in words_of(problem, problem.question)
        if token.pos_ in ("NOUN", "PROPN") and token.dep_ != "compound"
    }
