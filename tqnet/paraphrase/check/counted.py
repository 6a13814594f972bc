"""What the numbers of a text count or measure."""

from __future__ import annotations

import re
from itertools import pairwise

from spacy.tokens import Token

from tqnet.paraphrase.check.lemmas import lemma
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Number

#: Words that go back to something, before a number: "the 20 apples".
DEFINITE_BEFORE = re.compile(r"\b(?:the|these|those|this|that|all|his|her|its|their|same|both)\s+$", re.IGNORECASE)
#: Those of them by which a number counts what was told: "these three".
THESE_BEFORE = re.compile(r"\b(?:these|those)\s+$", re.IGNORECASE)
#: "boxes of 6", "packs of a dozen"; not "a total of 6".
_PACKED_BEFORE = re.compile(
    r"\b(?P<box>box(?:es)?|packs?|packets?|packages?|bags?|bunch(?:es)?|cartons?|crates?|cases?|groups?|teams?|rows?|sets?|"
    r"trays?|bundles?|batch(?:es)?|baskets?|jars?|tins?|cans?|rolls?|stacks?|piles?)\s+of\s+$",
    re.IGNORECASE,
)
_NEAR = 20


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


def packed_in(problem: Problem, number: Number) -> Token | None:
    """What has so many of something: the "boxes" of "boxes of 6 eggs"; None where the number says no such thing."""
    match = _PACKED_BEFORE.search(problem.text, max(0, number.outer[0] - _NEAR), number.outer[0])
    span = problem.doc.char_span(*match.span("box")) if match else None
    return span[0] if span is not None and len(span) == 1 and span[0].tag_ in ("NN", "NNS") else None


class Things:
    """What the numbers of a text measure or count."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self._units: dict[Number, str] = {}
        for unit in problem.units:
            if unit.number is not None:
                self._units.setdefault(unit.number, unit.name)

    def neighbours(self, number: Number) -> list[tuple[Number, Number]]:
        """A number with the one before it and the one behind it."""
        return [pair for pair in pairwise(self.problem.numbers) if number in pair]

    def of(self, number: Number) -> str | None:
        """A unit, or else the lemma of a noun."""
        if number in self._units:
            return self._units[number]
        noun = counted_noun(self.problem, number)
        return lemma(noun) if noun is not None else None
