"""Entities that a paraphrase lost or renamed: names, and the things that numbers count ("20 apples").

A name that is another one wherever it stands is the same question. What two names do is not looked at: "Ann gave Ben"
and "Ben gave Ann" are alike here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from spacy.tokens import Token

from tqnet.paraphrase.check.counted import counted_noun
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.lemmas import lemma, lemmas
from tqnet.paraphrase.check.nouns import may_be_the_same
from tqnet.paraphrase.check.values import by_value
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import Covered
from tqnet.paraphrase.units import spellings

#: Labels of one kind: the model takes one for another, and names of one kind stand for each other.
_PLACES = frozenset(("GPE", "LOC", "FAC"))
_TIMES = frozenset(("WEEKDAY", "MONTH", "EVENT"))

#: Letters that stand for each other in names: "Tanya", "Tanja"; "Erik", "Eric".
_SPELLINGS = (("ph", "f"), ("ie", "i"), ("ck", "k"), ("y", "i"), ("j", "i"), ("c", "k"), ("z", "s"))
#: Before a name that is told besides, of somebody who had none.
_INTRODUCES = r"\b(?:(?:[Hh]is|[Hh]er|[Tt]heir|['’]s)\s+[a-z]+,?|named|called)\s+"


def entity_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Lost, new and renamed entities, and those of which one mention has another name than the rest."""
    return [*_of_names(original, paraphrase), *_of_things(original, paraphrase)]


def _of_names(original: Problem, paraphrase: Problem) -> list[Difference]:
    before, after = _names(original), _names(paraphrase)
    gone = [name for name in before if not _mentions(name, paraphrase.text)]
    fresh = [name for name in after if not _mentions(name, original.text)]
    found = []
    for name in list(gone):
        other = next((own for own in fresh if _kind(after[own]) == _kind(before[name])), None)
        if other is not None:
            found.append(Difference(Part.ENTITY, Change.RENAMED, name, other))
            gone.remove(name)
            fresh.remove(other)
    settled = {one.before for one in found} | set(gone)
    for name in (name for name in before if name not in settled):
        others = [own for own in fresh if _kind(after[own]) == _kind(before[name])]
        if others and _take_places(others, name, original.text, paraphrase.text):
            found.append(Difference(Part.ENTITY, Change.INCONSISTENT, name, others[0]))
            fresh = [own for own in fresh if own not in others]
    for stranger in (name for name in fresh if not gone and _is_only_asked_about(name, paraphrase)):
        known = next((name for name in before if "PERSON" == before[name] == after[stranger]), None)
        if known is not None and known in after and not _may_be_one_name(known.lower(), stranger.lower()):
            found.append(Difference(Part.ENTITY, Change.INCONSISTENT, known, stranger))
    fresh = [name for name in fresh if name not in {one.after for one in found}]
    return [
        *found,
        *(Difference(Part.ENTITY, Change.LOST, before=name) for name in gone),
        *(Difference(Part.ENTITY, Change.NEW, after=name) for name in fresh),
    ]


def _is_only_asked_about(name: str, problem: Problem) -> bool:
    """Whether a question is about somebody of whom nothing was told."""
    if problem.question is None:
        return False
    start, end = problem.question
    places = [entity.start for entity in problem.entities if entity.name == name]
    tells = any(problem.text[:start].strip()) and any(number.start < start for number in problem.numbers)
    return tells and all(start < place < end for place in places)


def _names(problem: Problem) -> dict[str, str]:
    """Name -> label; what is a unit, "Rupees", is left to the units."""
    units = Covered((unit.start, unit.end) for unit in problem.units)
    return {
        entity.name: entity.label
        for entity in problem.entities
        if entity.start not in units and entity.name.lower() not in spellings()
    }


def _take_places(others: Sequence[str], name: str, original: str, paraphrase: str) -> bool:
    """Whether new names stand where an old one stood: there are fewer of the old, and no fewer of all together, as
    there would be if a pronoun had taken its place. "His friend Bo" is somebody who had no name before, and "Tanja" is
    but "Tanya".
    """
    left, had = _mentions(name, paraphrase), _mentions(name, original)
    introduced = (rf"{_INTRODUCES}(?={re.escape(other)}\b)" for other in others)
    if any(match[0] not in original for each in introduced for match in re.finditer(each, paraphrase)):
        return False
    if any(_may_be_one_name(name.lower(), other.lower()) for other in others):
        return False
    return left < had <= left + sum(_mentions(other, paraphrase) for other in others)


def _may_be_one_name(name: str, other: str) -> bool:
    """Whether one is short for the other, or written in another way: "Sam", "Samantha"; "Tanya", "Tanja"; not "Paula",
    who is not Paul.
    """
    short, long = sorted((name, other), key=len)
    return (long.startswith(short) and len(long) > len(short) + 1) or _sound(name) == _sound(other)


def _sound(name: str) -> str:
    for written, instead in _SPELLINGS:
        name = name.replace(written, instead)
    return re.sub(r"(.)\1+", r"\1", name)


def _mentions(name: str, text: str) -> int:
    """How often a text has the name or a part of it, "Ann" of "Ann Lee", in whatever case."""
    parts = [part for part in name.split() if len(part) > 2 and part.lower() != "the"] or [name]
    return max(len(re.findall(rf"(?<!\w){re.escape(part)}(?:s?(?!\w))", text, re.IGNORECASE)) for part in parts)


def _kind(label: str) -> str:
    return "place" if label in _PLACES else "time" if label in _TIMES else "somebody"


def _of_things(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Nouns that one number counts in the original and another one counts in the paraphrase."""
    before, after = counted_things(original), counted_things(paraphrase)
    mentions, others = Counter(lemmas(original.doc)), Counter(lemmas(paraphrase.doc))
    found: dict[tuple[str, str], Difference] = {}
    for value in (value for value in before if value in after):
        old = [noun for lemma, noun in before[value].items() if lemma not in after[value]]
        new = [noun for lemma, noun in after[value].items() if lemma not in before[value]]
        if len(old) != 1 or len(new) != 1:
            continue
        (one,), (other,) = old, new
        if one.lower_ == other.lower_:
            continue
        left, had = others[lemma(one)], mentions[lemma(one)]
        # "15 pieces of chalk" and "15 chalks", "5 red pens and 2 blue ones"
        known = lemma(other) in mentions or may_be_the_same(lemma(one), lemma(other))
        if known or (left and lemma(one) in lemmas(other.subtree)):
            continue
        if left < had:
            change = Change.INCONSISTENT if left else Change.RENAMED
            found[lemma(one), lemma(other)] = Difference(Part.ENTITY, change, one.text, other.text)
    return list(found.values())


def counted_things(problem: Problem) -> dict[Fraction, dict[str, Token]]:
    """Value -> what it counts, by lemma; a unit is no thing, and a percentage counts none ("a 20 % acid solution")."""
    measured = {unit.number for unit in problem.units}
    found: dict[Fraction, dict[str, Token]] = {}
    for value, numbers in by_value(problem).items():
        counting = (number for number in numbers if number not in measured and number.sign != "%")
        nouns = filter(None, (counted_noun(problem, number) for number in counting))
        words = (noun for noun in nouns if noun.pos_ == "NOUN" and noun.text[0].isalpha())  # no "°"
        found[value] = {lemma(noun): noun for noun in words}
    return found
