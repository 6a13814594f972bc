"""Of whom and with which verb a text tells a number, by its parse: "she removed 9 games", "an apple costs 30 cents"."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction

from spacy.tokens import Token

from tqnet.paraphrase.check.asked import beginning_in
from tqnet.paraphrase.check.counted import counted_noun
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.lemmas import lemma, lemmas
from tqnet.paraphrase.check.values import by_value, written
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

#: Verbs that tell anything of anybody.
LIGHT = frozenset(("be", "have", "do"))
#: Verbs whose subject is never told by another word for it, as a girl is by her name.
_OF_THINGS = frozenset(("cost", "weigh", "measure"))


@dataclass(frozen=True, slots=True)
class Role:
    """Where one number of a text stands.

    Attributes:
        verb, subject: Lemmas; nobody is the subject of a passive, or of "there are".
        number: The one that is told so.
    """

    verb: str
    subject: str
    number: Number


def roles(problem: Problem) -> dict[Fraction, Role]:
    """Value of which there is one number -> where it stands."""
    found = {}
    for value, numbers in by_value(problem).items():
        verb = verb_of(problem, numbers[0]) if len(numbers) == 1 else None
        if verb is not None:
            subject = subject_of(verb)
            is_named = subject is not None and subject.pos_ in ("NOUN", "PROPN") and len(subject) > 1
            name = lemma(subject) if subject is not None and is_named else ""
            found[value] = Role(lemma(verb), name, numbers[0])
    return found


def other_subjects(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each number that a verb tells of another one of the problem: "a banana costs 30 cents", "an apple costs 30"."""
    known, told = (set(lemmas(problem.doc)) for problem in (original, paraphrase))
    if _OF_THINGS.isdisjoint(known & told):
        return []
    before, after = roles(original), roles(paraphrase)
    found = []
    for was, became in ((before[value], after[value]) for value in before if value in after):
        subjects = {was.subject, became.subject}
        if was.verb != became.verb or was.verb not in _OF_THINGS or len(subjects) < 2 or not subjects <= known & told:
            continue
        if {was.subject, became.subject} & {_counted(original, was), _counted(paraphrase, became)}:
            continue  # "five notebooks cost as much as three folders"
        if was.subject in _before(paraphrase, became.number) or became.subject in _before(original, was.number):
            continue  # "a can of oil" for "an oil can"
        one, other = written(original, was.number), written(paraphrase, became.number)
        found.append(Difference(Part.NUMBER, Change.CHANGED, f"{was.subject} {one}", f"{became.subject} {other}"))
    return found


def _counted(problem: Problem, role: Role) -> str | None:
    noun = counted_noun(problem, role.number)
    return lemma(noun) if noun is not None else None


def _before(problem: Problem, number: Number) -> frozenset[str]:
    """Lemmas of a number's sentence up to it."""
    at = bisect_right(problem.sentences, number.start, key=lambda span: span[0]) - 1
    start = problem.sentences[at][0] if at >= 0 else 0
    return frozenset(
        lemma(token) for token in beginning_in((start, number.start), problem.doc, lambda token: token.idx)
    )


def verb_of(problem: Problem, number: Number) -> Token | None:
    """The nearest one above a number in the parse."""
    span = problem.doc.char_span(*number.span, alignment_mode="expand")
    token = span.root if span is not None else None
    while token is not None and token.pos_ not in ("VERB", "AUX"):
        token = token.head if token.head != token else None
    return token


def subject_of(verb: Token) -> Token | None:
    """Of a verb, or of the one that it is joined to by "and"."""
    while True:
        for child in verb.children:
            if child.dep_ == "nsubj":
                return child
            if child.dep_ in ("nsubjpass", "expl"):
                return None
        if verb.dep_ != "conj" or verb.head == verb:
            return None
        verb = verb.head
