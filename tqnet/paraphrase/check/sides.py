"""Who has so much more, and than whom: "Ida has 18 more than Tom" for "Ida has 18 fewer than Tom"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from spacy.tokens import Token

from tqnet.paraphrase.check.asked import beginning_in
from tqnet.paraphrase.check.contradictions import contradictions
from tqnet.paraphrase.check.difference import Difference
from tqnet.paraphrase.check.lemmas import lemma
from tqnet.paraphrase.check.relations import COMPARATIVE, SIDES
from tqnet.paraphrase.check.roles import subject_of, verb_of
from tqnet.paraphrase.check.values import by_value
from tqnet.paraphrase.problem import Problem

#: "18 more than he did".
_THAN = re.compile(
    rf"\s+(?:[a-z/]+\s+){{0,2}}?(?P<how>{COMPARATIVE})\b[^.?!]{{0,20}}?\bthan\b(?P<behind>[^.?!]{{0,60}})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """ "Ida collected 18 more than he did".

    Attributes:
        side: Of which dimension, and on which side.
        who, whom: Nouns of the subject, and of what stands behind "than", as lemmas.
        said: As the text has it.
    """

    side: tuple[int, int]
    who: frozenset[str]
    whom: frozenset[str]
    said: str

    def contradicts(self, other: _Comparison) -> bool:
        """Whether the same one is on the other side, of nobody who was the first; or two changed places on one side."""
        (dimension, side), (other_dimension, other_side) = self.side, other.side
        if dimension != other_dimension:
            return False
        if side == other_side:
            first, second = self.who - self.whom, self.whom - self.who
            return bool(first & (other.whom - other.who)) and bool(second & (other.who - other.whom))
        turned = (other.who - self.who) & self.whom or (self.who - other.who) & other.whom
        return bool(self.who & other.who) and not turned


def turned_sides(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Each number by which somebody has more in one text, and less in the other one, or of which two changed places.

    Where the side is another one and they changed places as well, that is the same.
    """
    return contradictions(_comparisons(original), _comparisons(paraphrase))


def _comparisons(problem: Problem) -> dict[Fraction, _Comparison]:
    """Value of which there is one number -> what is so much more."""
    found = {}
    for value, numbers in by_value(problem).items():
        match = _THAN.match(problem.text, numbers[0].end) if len(numbers) == 1 else None
        verb = verb_of(problem, numbers[0]) if match else None
        subject = subject_of(verb) if verb is not None else None
        if match and subject is not None:
            behind = beginning_in(match.span("behind"), problem.doc, lambda token: token.idx)
            said = problem.text[numbers[0].outer[0] : match.end("how")]
            side = SIDES[match["how"].lower()]
            found[value] = _Comparison(side, _names(subject.subtree), _names(behind), said)
    return found


def _names(tokens: Iterable[Token]) -> frozenset[str]:
    """Nouns, and what tells two of a kind apart: a "local" train."""
    return frozenset(lemma(token) for token in tokens if token.pos_ in ("NOUN", "PROPN", "ADJ"))
