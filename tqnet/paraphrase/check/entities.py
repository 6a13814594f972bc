"""The entities of a question: names, and the things that numbers count ("20 apples")."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from spacy.tokens import Token

from tqnet.paraphrase.check import Change, Difference, Part
from tqnet.paraphrase.check.numbers import counted_things
from tqnet.paraphrase.check.text import AlikeSentences, lemma, lemmas, may_be_called, may_be_the_same, question_of
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import Covered
from tqnet.paraphrase.units import spellings

#: Labels that the model confuses.
_PLACES = frozenset(("GPE", "LOC", "FAC"))
_TIMES = frozenset(("WEEKDAY", "MONTH", "EVENT"))
#: Interchangeable letters in names: "Tanya", "Tanja"; "Erik", "Eric".
_SPELLINGS = (("ph", "f"), ("ie", "i"), ("ck", "k"), ("y", "i"), ("j", "i"), ("c", "k"), ("z", "s"))
#: Before the name of somebody unnamed so far: "his friend Bo".
_INTRODUCES = r"\b(?:(?:[Hh]is|[Hh]er|[Tt]heir|['’]s)\s+[a-z]+,?|named|called)\s+"
#: A person or thing named by a letter; "I" is the narrator, and the B of "x = B" is not a name.
_LETTER = re.compile(r"\b[A-HJ-Z]\b(?!['’]?\s*[=<>+*/^])")


def entity_differences(original: Problem, paraphrase: Problem, alike: Sequence[AlikeSentences]) -> list[Difference]:
    """Return lost, new and renamed entities, and those renamed in some places only.

    A name replaced everywhere leaves the question the same.
    """
    entities = [*_names_differ(original, paraphrase), *_things_differ(original, paraphrase)]
    return [*entities, *(item for item in _stand_ins(original, paraphrase, alike) if item not in entities)]


def _names_differ(original: Problem, paraphrase: Problem) -> list[Difference]:
    before, after = _names(original), _names(paraphrase)
    gone = [name for name in before if not _mentions(name, paraphrase.text)]
    fresh = [name for name in after if not _mentions(name, original.text)]
    differences = []
    for name in list(gone):
        other = next((other for other in fresh if _kind(after[other]) == _kind(before[name])), None)
        if other is not None:
            differences.append(Difference(Part.ENTITY, Change.RENAMED, name, other))
            gone.remove(name)
            fresh.remove(other)
    settled = {item.before for item in differences} | set(gone)
    for name in (name for name in before if name not in settled):
        others = [other for other in fresh if _kind(after[other]) == _kind(before[name])]
        if others and _take_places(others, name, original.text, paraphrase.text):
            differences.append(Difference(Part.ENTITY, Change.INCONSISTENT, name, others[0]))
            fresh = [other for other in fresh if other not in others]
    return [
        *differences,
        *(Difference(Part.ENTITY, Change.LOST, before=name) for name in gone),
        *(Difference(Part.ENTITY, Change.NEW, after=name) for name in fresh),
    ]


def _names(problem: Problem) -> dict[str, str]:
    """Return name -> label, without units such as "Rupees"."""
    units = Covered((unit.start, unit.end) for unit in problem.units)
    return {
        entity.name: entity.label
        for entity in problem.entities
        if entity.start not in units and entity.name.lower() not in spellings()
    }


def _take_places(others: Sequence[str], name: str, original: str, paraphrase: str) -> bool:
    """Return True if new names replace an old one: the old one is mentioned less often, but all together no less often,
    as they would be if a pronoun had replaced it.
    """
    left, had = _mentions(name, paraphrase), _mentions(name, original)
    introduced = (rf"{_INTRODUCES}(?={re.escape(other)}\b)" for other in others)
    if any(match[0] not in original for each in introduced for match in re.finditer(each, paraphrase)):
        return False
    if any(_may_be_one_name(name.lower(), other.lower()) for other in others):
        return False
    return left < had <= left + sum(_mentions(other, paraphrase) for other in others)


def _may_be_one_name(name: str, other: str) -> bool:
    """Return True for "Sam" and "Samantha", "Tanya" and "Tanja"; not for "Paul" and "Paula"."""
    short, long = sorted((name, other), key=len)
    return (long.startswith(short) and len(long) > len(short) + 1) or _sound(name) == _sound(other)


def _sound(name: str) -> str:
    for letters, instead in _SPELLINGS:
        name = name.replace(letters, instead)
    return re.sub(r"(.)\1+", r"\1", name)


def _mentions(name: str, text: str) -> int:
    """Count the mentions of a name or a part of it ("Ann" for "Ann Lee"), ignoring case."""
    parts = [part for part in name.split() if len(part) > 2 and part.lower() != "the"] or [name]
    return max(len(re.findall(rf"(?<!\w){re.escape(part)}(?:s?(?!\w))", text, re.IGNORECASE)) for part in parts)


def _kind(label: str) -> str:
    return "place" if label in _PLACES else "time" if label in _TIMES else "somebody"


def _things_differ(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return counted nouns that were replaced: their number counts another noun."""
    before, after = counted_things(original), counted_things(paraphrase)
    mentions, left = Counter(map(lemma, original.doc)), Counter(map(lemma, paraphrase.doc))
    differences: dict[tuple[str, str], Difference] = {}
    for value in (value for value in before if value in after):
        old = [name for name in before[value] if name not in after[value]]
        new = [name for name in after[value] if name not in before[value]]
        if len(old) != 1 or len(new) != 1 or left[old[0]] >= mentions[old[0]]:
            continue
        (name,), (other,) = old, new
        noun, instead = before[value][name], after[value][other]
        # "15 pieces of chalk" and "15 chalks", "5 red pens and 2 blue ones"
        is_known = noun.lower_ == instead.lower_ or other in mentions or may_be_the_same(name, other)
        if not is_known and not (left[name] and name in lemmas(instead.subtree)):
            change = Change.INCONSISTENT if left[name] else Change.RENAMED
            differences[name, other] = Difference(Part.ENTITY, change, noun.text, instead.text)
    return list(differences.values())


def _stand_ins(original: Problem, paraphrase: Problem, alike: Sequence[AlikeSentences]) -> list[Difference]:
    """Return nouns replaced by an unknown one in an alike sentence while other sentences keep the old one."""
    words = [pair for sentence in alike if len(sentence.moved) == 1 for pair in sentence.pairs]
    if not words:
        return []
    before, after = _nouns(original), _nouns(paraphrase)
    mentions, left = Counter(map(lemma, original.doc)), Counter(map(lemma, paraphrase.doc))
    known = {token.lower_ for token in original.doc} | set(mentions)
    differences = []
    for old, new in ((before.get(old.lower()), after.get(new.lower())) for old, new in words):
        if old is None or new is None or {new.lower_, lemma(new)} & known:
            continue
        if 0 < left[lemma(old)] < mentions[lemma(old)] and not may_be_called(lemma(old), lemma(new)):
            differences.append(Difference(Part.ENTITY, Change.INCONSISTENT, old.text, new.text))
    return differences


def _nouns(problem: Problem) -> dict[str, Token]:
    """Return the nouns of a text as written, without units."""
    return {
        token.lower_: token
        for token in problem.doc
        if token.pos_ == "NOUN" and token.is_alpha and token.lower_ not in spellings()
    }


def other_subject(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return the one name that each question asks about, if they differ: "How old is Peter?", "How old is John?"."""
    if original.question is None or paraphrase.question is None:
        return []
    names = _people(original) & _people(paraphrase)
    subject, instead = (
        {name for name in names if re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", question_of(problem))}
        for problem in (original, paraphrase)
    )
    if len(subject) == len(instead) == 1 and subject != instead:
        return [Difference(Part.WORD, Change.CHANGED, subject.pop(), instead.pop())]
    return []


def _people(problem: Problem) -> set[str]:
    people = {entity.name for entity in problem.entities if entity.label == "PERSON"}
    letters = set(_LETTER.findall(problem.text))
    return people | (letters if letters > {"A"} else letters - {"A"})  # alone, "A" is an article
