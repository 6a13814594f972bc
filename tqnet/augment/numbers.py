r"""Replacing a number of a question (QuesCo, "Formula Augmentation")."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import numpy as np

from tqnet.augment.edits import edit, replace_one
from tqnet.questions import Question
from tqnet.text.latex import Formula, Role, argument_end, group_end, is_part_of_number, prose, text_at

#: Angles that are theorems: another number makes another figure.
_SPECIAL_ANGLES = frozenset(("90", "180", "360"))
#: A quantity of the prose: no part of a longer number, date, fraction or name, no label of a question or a part of it.
_IN_PROSE = re.compile(
    r"(?<![\w.,/:(（第^-])(?!0)(?!(?:19|20)\d\d(?!\d))\d+(?:\.\d*[1-9])?(?![\w^)）/:]|[.,]\d|\s*[年月日题°])", re.ASCII
)


def replace_number(question: Question, rng: np.random.Generator) -> Question:
    """One number becomes another of its kind: as many digits, as many decimals, no zero that was none.

    Not 0, which is rarely a quantity, nor exponents, subscripts, indices of roots, powers of 10, or right angles.
    """
    return replace_one(question, rng, _replaceable_numbers, _other_number)


def replace_prose_number(question: Question, rng: np.random.Generator) -> Question:
    """One number of the stem's prose becomes another of its kind; not a date, nor the label of a part."""
    found = [match for span in prose(question.stem) for match in _IN_PROSE.finditer(question.stem, *span)]
    if not found:
        return question
    number = found[rng.integers(len(found))]
    return replace(question, stem=edit(question.stem, {number.span(): _other_number(number[0], rng)}))


def _replaceable_numbers(formula: Formula) -> list[int]:
    indices = {
        place
        for at, token in enumerate(formula)
        if token.text == r"\sqrt" and text_at(formula, at + 1) == "["
        for place in range(at + 1, group_end(formula, at + 1))
    }
    return [
        at
        for at, token in enumerate(formula)
        if token.role is Role.NUMBER
        and not token.script
        and at not in indices
        and Decimal(token.text) != 0
        and not is_part_of_number(formula, at)
        and not (token.text == "10" and text_at(formula, at + 1) == "^")
        and not (token.text in _SPECIAL_ANGLES and _is_angle(formula, at))
    ]


def _is_angle(formula: Formula, at: int) -> bool:
    return any(token.text in (r"\circ", r"\degree", "°") for token in formula[at + 1 : argument_end(formula, at + 2)])


def _other_number(number: str, rng: np.random.Generator) -> str:
    whole, point, decimals = number.partition(".")
    while True:
        drawn = whole if whole in ("", "0") else _digits(len(whole), rng)
        drawn += point + (_decimals(len(decimals), rng) if decimals else "")
        if drawn != number:
            return drawn


def _digits(count: int, rng: np.random.Generator) -> str:
    """A whole number of ``count`` digits, not 0 or 1."""
    first = int(rng.integers(2 if count == 1 else 1, 10))
    return str(first) + "".join(str(digit) for digit in rng.integers(0, 10, count - 1))


def _decimals(count: int, rng: np.random.Generator) -> str:
    """``count`` decimals, the last no zero."""
    return "".join(str(digit) for digit in rng.integers(0, 10, count - 1)) + str(rng.integers(1, 10))
