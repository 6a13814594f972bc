"""Of whom and with which verb a text tells a number, by its parse: "she removed 9 games", "an apple costs 30 cents"."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from spacy.tokens import Token

from tqnet.augment.paraphrase.problem import Problem
from tqnet.paraphrase.asked import beginning_in
from tqnet.paraphrase.difference import Change, Difference, Part
from tqnet.paraphrase.values import by_value, value_of, written
from tqnet.text.numbers import Number

#: Behind what an amount is sold or mixed at.
_AT = re.compile(
    r"[^\d.?!,;]{0,40}?\b(?:at|for|costing|worth|priced\s+at)\s+(?:a\s+price\s+of\s+)?[$£€]?\s*", re.IGNORECASE
)


#: Verbs that tell anything of anybody.
LIGHT = frozenset(("be", "have", "do"))
#: Verbs whose subject is never told by another word for it, as a girl is by her name.
_OF_THINGS = frozenset(("cost", "weigh", "measure"))


@dataclass(frozen=True, slots=True)
class Role:
    """Where one number of a text stands.

    Attributes:
        verb, subject: Lemmas; nobody is the subject of a passive, or of "there are".
        before: Lemmas of the sentence up to the number.
        said: The number, as the text has it.
    """

    verb: str
    subject: str
    before: frozenset[str]
    said: str


def roles(problem: Problem) -> dict[Fraction, Role]:
    """Value of which there is one number -> where it stands."""
    found = {}
    for value, numbers in by_value(problem).items():
        verb = _verb(problem, numbers[0]) if len(numbers) == 1 else None
        if verb is not None:
            subject = _subject(verb)
            is_named = subject is not None and subject.pos_ in ("NOUN", "PROPN") and len(subject) > 1
            name = subject.lemma_.lower() if subject is not None and is_named else ""
            found[value] = Role(verb.lemma_.lower(), name, _before(problem, numbers[0]), written(problem, numbers[0]))
    return found


def partners(problem: Problem) -> dict[Fraction, str]:
    """Value of which there is one number -> that at which so much is sold: 1.2 of 30 in "30 kg of rice at $1.20"."""
    single = {value for value, numbers in by_value(problem).items() if len(numbers) == 1}
    return {
        value_of(one): f"at {value_of(other)}"
        for one, other in pairwise(problem.numbers)
        if value_of(one) in single and _AT.fullmatch(problem.text, one.outer[1], other.start)
    }


def other_subjects(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each number that a verb tells of another one of the problem: "a banana costs 30 cents", "an apple costs 30"."""
    known, told = ({token.lemma_.lower() for token in problem.doc} for problem in (original, paraphrase))
    if _OF_THINGS.isdisjoint(known & told):
        return []
    before, after = roles(original), roles(paraphrase)
    return [
        Difference(Part.NUMBER, Change.CHANGED, f"{was.subject} {was.said}", f"{became.subject} {became.said}")
        for was, became in ((before[value], after[value]) for value in before if value in after)
        if was.verb == became.verb in _OF_THINGS
        and was.subject not in became.before
        and became.subject not in was.before
        and was.subject != became.subject
        and {was.subject, became.subject} <= known & told
    ]


def _before(problem: Problem, number: Number) -> frozenset[str]:
    at = bisect_right(problem.sentences, number.start, key=lambda span: span[0]) - 1
    start = problem.sentences[at][0] if at >= 0 else 0
    return frozenset(
        token.lemma_.lower() for token in beginning_in((start, number.start), problem.doc, lambda token: token.idx)
    )


def _verb(problem: Problem, number: Number) -> Token | None:
    """The nearest one above a number in the parse."""
    span = problem.doc.char_span(*number.span, alignment_mode="expand")
    token = span.root if span is not None else None
    while token is not None and token.pos_ not in ("VERB", "AUX"):
        token = token.head if token.head != token else None
    return token


def _subject(verb: Token) -> Token | None:
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
