"""Numbers that who rewords a question has worked out: "12 bulbs, of which 3 are defective" for 3 and 9."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from tqnet.augment.paraphrase.problem import Problem
from tqnet.paraphrase.values import value_of
from tqnet.text.numbers import Number

#: What a text says that has a whole and one part of it.
_REST = re.compile(r"\b(?:others?|rest|remaining|remainder|total|altogether|in all|together|combined)\b", re.IGNORECASE)
#: Behind or before a number by which something has changed.
_MORE = r"(?:more|fewer|less|higher|lower|extra|additional)\b"
_BEHIND = re.compile(rf"\s+(?:[a-z]+\s+)?{_MORE}", re.IGNORECASE)
_BEFORE = re.compile(
    r"\b(?:increase|decrease|r[io]se|gr[eo]w|f[ae]ll|drop|gain|reduc|rais|lower|lost)[a-z]*\s+(?:by|of)\s+$",
    re.IGNORECASE,
)
_NEAR = 30
_SMALL = 10


def is_worked_out(lost: Number, new: Number, kept: Collection[Fraction], texts: tuple[Problem, Problem]) -> bool:
    """Whether one of two numbers comes of the other one and a number that both texts have.

    A product or a share needs no words, "35 pages and twice as many" is "35 pages and 70"; a sum does, as small numbers
    are often the sums of others.

    Args:
        lost, new: Of the original and of the paraphrase.
        kept: Values that both texts have.
        texts: The original and the paraphrase.
    """
    return _is_a_product(value_of(lost), value_of(new), kept) or _is_a_sum(lost, new, kept, texts)


def _is_a_product(lost: Fraction, new: Fraction, kept: Collection[Fraction]) -> bool:
    """Whether one of two numbers is so many times the other one as a third says; one that is 1 says nothing.

    Small numbers are the products of others by chance too.
    """
    if not lost or not new or max(lost, new) <= _SMALL:
        return False
    return not {new / lost, lost / new}.isdisjoint(set(kept) - {1})


def _is_a_sum(lost: Number, new: Number, kept: Collection[Fraction], texts: tuple[Problem, Problem]) -> bool:
    values = value_of(lost), value_of(new)
    if abs(values[1] - values[0]) not in kept or lost.sign != new.sign:
        return False
    smaller = min(range(2), key=values.__getitem__)
    part, of_part, of_whole = (lost, new)[smaller], texts[smaller], texts[1 - smaller]
    start, end = part.outer
    changes = _BEHIND.match(of_part.text, end) or _BEFORE.search(of_part.text, max(0, start - _NEAR), start)
    return changes is not None or _REST.search(of_whole.text) is not None
