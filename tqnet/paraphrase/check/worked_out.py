"""Numbers that who rewords a question has worked out: "12 bulbs, of which 3 are defective" for 3 and 9."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from tqnet.paraphrase.check.values import value_of
from tqnet.paraphrase.problem import Problem
from tqnet.text.numbers import Kind, Number

#: A number that is so many times another one.
_TIMES = re.compile(r"\s+times\b", re.IGNORECASE)
#: What a text says that has a whole and one part of it.
_REST = re.compile(r"\bthe\s+(?:others?|rest|remaining|remainder)\b", re.IGNORECASE)
#: Behind or before a number by which something has changed.
_BEHIND = re.compile(r"\s+(?:[a-z]+\s+)?(?:more|fewer|less|higher|lower|extra|additional)\b", re.IGNORECASE)
_BEFORE = re.compile(
    r"\b(?:increase|decrease|r[io]se|gr[eo]w|f[ae]ll|drop|gain|reduc|rais|lower|lost)[a-z]*\s+(?:by|of)\s+$",
    re.IGNORECASE,
)
_NEAR = 30


def is_worked_out(lost: Number, new: Number, kept: Collection[Fraction], texts: tuple[Problem, Problem]) -> bool:
    """Whether one of two numbers comes of the other one and a number that both texts have, and words of one say so:
    "twice as many" as 35 for 70, "1,200 more" than 8,000 for 9,200.

    Numbers alone say nothing: many are by chance the sums and products of others.

    Args:
        lost, new: Of the original and of the paraphrase.
        kept: Values that both texts have.
        texts: The original and the paraphrase.
    """
    return _is_a_product(lost, new, kept, texts) or _is_a_sum(lost, new, kept, texts)


def _is_a_product(lost: Number, new: Number, kept: Collection[Fraction], texts: tuple[Problem, Problem]) -> bool:
    """Whether one of two numbers is a multiple in words, and the other one what that is of a third."""
    multiples = [_is_a_multiple(one, of.text) for one, of in zip((lost, new), texts, strict=True)]
    if sum(multiples) != 1:
        return False
    multiple, product = (lost, new) if multiples[0] else (new, lost)
    return value_of(multiple) != 0 and value_of(product) / value_of(multiple) in kept


def _is_a_multiple(number: Number, text: str) -> bool:
    is_half = number.spelled and number.value == Fraction(1, 2)
    return is_half or number.kind is Kind.MULTIPLE or _TIMES.match(text, number.end) is not None


def _is_a_sum(lost: Number, new: Number, kept: Collection[Fraction], texts: tuple[Problem, Problem]) -> bool:
    """Whether one of two numbers is a change to a third, and the other one what came of it, or a part and the whole."""
    values = value_of(lost), value_of(new)
    if abs(values[1] - values[0]) not in kept or lost.sign != new.sign:
        return False
    smaller = min(range(2), key=values.__getitem__)
    part, whole = (lost, new)[smaller], (lost, new)[1 - smaller]
    of_part, of_whole = texts[smaller].text, texts[1 - smaller].text
    if _changes(part, of_part):
        return not _changes(whole, of_whole)
    return _REST.search(of_whole) is not None and _REST.search(of_part) is None


def _changes(number: Number, text: str) -> bool:
    start, end = number.outer
    return (_BEHIND.match(text, end) or _BEFORE.search(text, max(0, start - _NEAR), start)) is not None
