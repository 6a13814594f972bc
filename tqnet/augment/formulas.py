r"""Replace a number or an operator in a question's formulas (QuesCo, "Formula Augmentation").

Operators are interchangeable if they are defined alike, obey similar laws and are taught together. Not so ``\times``
and ``\div`` (only one commutes; taught separately), ``\perp`` and ``\parallel`` (different theorems), ``\cdot`` and
``\times`` (two products of vectors), ``=`` and inequalities (solved differently), ``\int`` and ``\sum``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from tqnet.questions import Question
from tqnet.text.latex import (
    TERM_STARTS,
    Formula,
    Role,
    argument_end,
    call,
    group_end,
    is_part_of_number,
    parse_formulas,
    prose,
    text_at,
)

#: Letters that name a function before a parenthesis: f(x), P(A).
_FUNCTIONS = frozenset("fghFGHPED") | {r"\varphi", r"\phi", r"\psi"}
_SETS = frozenset("RNZQC")
_MEMBERSHIP = frozenset((r"\in", r"\notin", r"\subset", r"\subseteq", r"\to", r"\rightarrow"))
#: Numbers of choices: C_5^2, A_5^2.
_CHOICES = frozenset("CAP")
#: Angles with theorems of their own.
_SPECIAL_ANGLES = frozenset(("90", "180", "360"))
#: A quantity in prose: not part of a longer number, date, fraction or name, nor the label of a question or part.
_IN_PROSE = re.compile(
    r"(?<![\w.,/:(（第^-])(?!0)(?!(?:19|20)\d\d(?!\d))\d+(?:\.\d*[1-9])?(?![\w^)）/:]|[.,]\d|\s*[年月日题°])", re.ASCII
)

#: Interchangeable operators.
_GROUPS = (
    ("+", "-"),  # each undoes the other
    (r"\pm", r"\mp"),
    (r"\sin", r"\cos"),  # shifted by a right angle
    (r"\tan", r"\cot"),
    (r"\sec", r"\csc"),
    (r"\arcsin", r"\arccos"),
    (r"\sinh", r"\cosh"),
    (r"\ln", r"\lg", r"\log"),  # proportional to one another
    ("<", ">"),  # one order, read from either side
    (r"\lt", r"\gt"),
    (r"\leq", r"\geq"),
    (r"\le", r"\ge"),
    (r"\leqslant", r"\geqslant"),
    (r"\max", r"\min"),
    (r"\sup", r"\inf"),
    (r"\cup", r"\cap"),  # dual by complements
    (r"\bigcup", r"\bigcap"),
    (r"\subset", r"\supset"),
    (r"\subseteq", r"\supseteq"),
    (r"\vee", r"\wedge"),
    (r"\lor", r"\land"),
)

#: Operator -> its replacements.
SYNONYMS: dict[str, tuple[str, ...]] = {
    operator: tuple(other for other in group if other != operator) for group in _GROUPS for operator in group
}

_ORDERS = frozenset(("<", ">", r"\lt", r"\gt", r"\leq", r"\geq", r"\le", r"\ge", r"\leqslant", r"\geqslant"))


def texts_of(question: Question) -> list[str]:
    """Return the stem and the options."""
    return [question.stem, *question.options]


def with_texts(question: Question, texts: Sequence[str]) -> Question:
    """Replace the stem and the options."""
    return replace(question, stem=texts[0], options=tuple(texts[1:]))


def edit(text: str, changes: Mapping[tuple[int, int], str]) -> str:
    """Replace spans (start, end) of ``text``, with a space between a new command and a following letter."""
    pieces, position = [], 0
    for (start, end), new in sorted(changes.items()):
        pieces += [text[position:start], new]
        position = end
        if re.search(r"\\[A-Za-z]+$", new) and text[position : position + 1].isalpha():
            pieces.append(" ")
    return "".join((*pieces, text[position:]))


def replace_one(
    question: Question,
    rng: np.random.Generator,
    eligible: Callable[[Formula], Iterable[int]],
    other: Callable[[str, np.random.Generator], str],
) -> Question:
    """Replace one token at an ``eligible`` position of a formula by ``other`` of it."""
    texts = texts_of(question)
    candidates = [
        (number, formula[at])
        for number, text in enumerate(texts)
        for formula in parse_formulas(text)
        for at in eligible(formula)
    ]
    if not candidates:
        return question
    number, token = candidates[rng.integers(len(candidates))]
    texts[number] = edit(texts[number], {(token.start, token.end): other(token.text, rng)})
    return with_texts(question, texts)


def spared_names(parts: Iterable[Formula]) -> frozenset[str]:
    """Return letters that are not variables in these formulas: functions, number sets, transposes, binomials."""
    return frozenset(
        token.text
        for formula in parts
        for at, token in enumerate(formula)
        if token.role is Role.VARIABLE and _is_spared(formula, at)
    )


def function_names(parts: Iterable[Formula]) -> frozenset[str]:
    """Return letters that name a function in these formulas."""
    return frozenset(
        token.text for formula in parts for at, token in enumerate(formula) if _names_function(formula, at)
    )


def _is_spared(formula: Formula, at: int) -> bool:
    name = formula[at].text
    if _names_function(formula, at):
        return True
    if name in _SETS and text_at(formula, at - 1) in _MEMBERSHIP:
        return True
    if name in _CHOICES and text_at(formula, at + 1) in ("_", "^"):
        scripts = [token for token in formula[at + 2 : at + 9] if token.script]
        marks = {token.script for token in scripts}
        return marks == {"_", "^"} and all(token.role is Role.NUMBER or token.text in "{}" for token in scripts[:6])
    return name == "T" and text_at(formula, at - 1) == "^"


def _names_function(formula: Formula, at: int) -> bool:
    return formula[at].text in _FUNCTIONS and (call(formula, at) is not None or text_at(formula, at + 1) == "'")


def replace_number(question: Question, rng: np.random.Generator) -> Question:
    """Replace one number by another with as many digits and decimals, but no new zero.

    Spares 0, which is rarely a quantity, exponents, subscripts, root indices, powers of 10, and right or full angles.
    """
    return replace_one(question, rng, _replaceable_numbers, _other_number)


def replace_prose_number(question: Question, rng: np.random.Generator) -> Question:
    """Replace one number of the stem's prose by another of its kind; spares dates and labels of parts."""
    numbers = [match for span in prose(question.stem) for match in _IN_PROSE.finditer(question.stem, *span)]
    if not numbers:
        return question
    number = numbers[rng.integers(len(numbers))]
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
    """Draw a whole number of ``count`` digits, not 0 or 1."""
    first = int(rng.integers(2 if count == 1 else 1, 10))
    return str(first) + "".join(str(digit) for digit in rng.integers(0, 10, count - 1))


def _decimals(count: int, rng: np.random.Generator) -> str:
    """Draw ``count`` decimals, the last not 0."""
    return "".join(str(digit) for digit in rng.integers(0, 10, count - 1)) + str(rng.integers(1, 10))


def replace_operator(question: Question, rng: np.random.Generator, spared: Collection[str] = ()) -> Question:
    r"""Replace one operator by one with similar properties: \sin by \cos, + by -; never one of ``spared``."""

    def replaceable(formula: Formula) -> list[int]:
        return [at for at in _replaceable_operators(formula) if formula[at].text not in spared]

    return replace_one(question, rng, replaceable, _other_operator)


def _replaceable_operators(formula: Formula) -> list[int]:
    """Find operators to replace: signs between two terms, logarithms without a base, unchained order relations."""
    chained = sum(token.text in _ORDERS for token in formula) > 1  # 0 < x < 1 has one direction
    places = []
    for at, token in enumerate(formula):
        if token.text not in SYNONYMS or token.role is Role.WORD or text_at(formula, at - 1) in (r"\left", r"\right"):
            continue
        signs = token.text in ("+", "-") and (
            not at or text_at(formula, at - 1) in TERM_STARTS or at + 1 == len(formula)
        )
        based = token.text in (r"\ln", r"\lg", r"\log") and _has_base(formula, at)
        if not (signs or based or (chained and token.text in _ORDERS)):
            places.append(at)
    return places


def _has_base(formula: Formula, at: int) -> bool:
    r"""Return whether a logarithm has a base: \log_2, \log^3_2."""
    end = argument_end(formula, at + 2) if text_at(formula, at + 1) == "^" else at + 1
    return text_at(formula, end) == "_"


def _other_operator(operator: str, rng: np.random.Generator) -> str:
    others = SYNONYMS[operator]
    return others[rng.integers(len(others))]
