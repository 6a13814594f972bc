r"""Rename or scale a variable of a question (QuesCo, "Formula Augmentation")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np

from tqnet.augment.formulas import edit, function_names, spared_names, texts_of, with_texts
from tqnet.questions import Question
from tqnet.text.latex import (
    ACCENTS,
    GREEK,
    TERM_STARTS,
    Formula,
    Role,
    Token,
    argument_end,
    bare_arguments,
    call,
    is_part_of_number,
    parse_formulas,
    prose,
    text_at,
)

#: Names used for the same kind of thing; new names come from the same row if one is free.
_KINDS = (
    "xyzuvwstr",
    "abcpq",
    "kmnjl",
    "ABCDMNPQRSTEFGHKLXYZUVW",
    (r"\alpha", r"\beta", r"\gamma", r"\theta", r"\varphi", r"\delta", r"\phi"),
    (r"\lambda", r"\mu", r"\nu", r"\rho", r"\sigma", r"\tau", r"\omega", r"\xi", r"\eta"),
)
_LETTER_IN_PROSE = re.compile(r"(?<![A-Za-z0-9\\'’<&/.-])[A-Za-z](?![A-Za-z0-9'’>;-]|\.[A-Za-z])")
#: Adjacent letters that are names: "triangle ABC", "the xy-plane".
_RUN_IN_PROSE = re.compile(r"(?<![A-Za-z\\<&/.-])(?:[A-Z]{2,4}|[xyz]{2,3})(?![A-Za-z>;])")
_FIGURE_BEFORE = re.compile(
    r"(?:angle|segment|line|side|arc|chord|ray|diameter|radius|diagonal|square|parallelogram|trapezoid|rhombus|lateral)s?"
    r"\s+$|[△∠⊙\u3400-\u9fff]\s*$"  # "angle" ends triangle and rectangle too
)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
#: One-letter words.
_ARTICLES = frozenset("aAI")

#: After these, a number before a variable is ambiguous: 1/2x.
_DIVIDES = frozenset(("/", r"\div"))
#: Form one name with the next letter: a difference, a differential.
_PREFIXES = frozenset((r"\Delta", r"\partial", r"\delta", r"\nabla", "d"))


def rename_variable(question: Question, rng: np.random.Generator) -> Question:
    r"""Give one variable an unused name throughout: f(x) = \cos 2x becomes f(u) = \cos 2u.

    Spares names that are not variables (`spared_names`), e, i and \pi, and in a question with a figure capitals, which
    label it.
    """
    texts = texts_of(question)
    parsed = [parse_formulas(text) for text in texts]
    tokens = [token for parts in parsed for formula in parts for token in formula]
    letters = frozenset(token.text for token in tokens if token.role is Role.VARIABLE)
    words = {match[0] for text in texts for start, end in prose(text) for match in _in_prose(text, start, end)}
    chinese = any(_CHINESE.search(text) for text in texts)
    spared = spared_names(formula for parts in parsed for formula in parts)
    if not chinese:  # "a" in the prose may be the variable or an article
        spared |= words & _ARTICLES
    names = sorted(name for name in letters - spared if not (question.images and name.isupper()))
    if not names:
        return question
    old = names[rng.integers(len(names))]
    taken = {token.text for token in tokens} | ({*"".join(words)} if old not in GREEK else set())
    if not (free := _free_names(old, taken)):
        return question
    points = letters | {point for text in texts for point in points_of_figures(text)}
    for new in rng.permutation(free).tolist():
        renamed = [
            edit(text, _renamed(parts, old, new) | _renamed_in_prose(text, old, new, points))
            for text, parts in zip(texts, parsed, strict=True)
        ]
        if _roles(renamed) == _roles(texts):  # else the new name forms a word, unit or function with its neighbours
            return with_texts(question, renamed)
    return question


def scale_variable(question: Question, rng: np.random.Generator) -> Question:
    r"""Multiply one variable by k from 2 to 5: with x to 2x, 2x becomes 4x, x^2 (2x)^2, and \sin x \sin (2x).

    Lower-case Latin letters only; spares names and mentions: an index, the x of f(x), "find $x$".
    """
    texts = texts_of(question)
    parsed = [parse_formulas(text) for text in texts]
    functions = function_names(formula for parts in parsed for formula in parts)
    places = [[_scalable(formula, functions) for formula in parts] for parts in parsed]
    names = sorted({token.text for parts in places for scalable in parts for token in scalable.values()})
    if not names:
        return question
    name, factor = names[rng.integers(len(names))], int(rng.integers(2, 6))
    scaled = []
    for text, parts, scalable in zip(texts, parsed, places, strict=True):
        changes: dict[tuple[int, int], str] = {}
        for formula, tokens in zip(parts, scalable, strict=True):
            bare = bare_arguments(formula)
            for at, token in tokens.items():
                if token.text == name:
                    changes |= _scaled(text, formula, at, factor, bare)
        scaled.append(edit(text, changes))
    return with_texts(question, scaled)


def _in_prose(text: str, start: int, end: int) -> list[re.Match[str]]:
    return [*_LETTER_IN_PROSE.finditer(text, start, end), *_RUN_IN_PROSE.finditer(text, start, end)]


def _free_names(old: str, taken: Iterable[str]) -> list[str]:
    """Return free names of the same kind as ``old``, or else of its alphabet."""
    row = next((row for row in _KINDS if old in row), ())
    alphabet = [name for kind in _KINDS for name in kind if _alphabet(name) == _alphabet(old)]
    return [name for name in row if name not in taken] or [name for name in alphabet if name not in taken]


def _alphabet(name: str) -> str:
    return "greek" if name in GREEK else "upper" if name.isupper() else "lower"


def _renamed(parts: Sequence[Formula], old: str, new: str) -> dict[tuple[int, int], str]:
    return {
        (token.start, token.end): new
        for formula in parts
        for token in formula
        if token.role is Role.VARIABLE and token.text == old
    }


def _renamed_in_prose(text: str, old: str, new: str, points: frozenset[str]) -> dict[tuple[int, int], str]:
    """Rename a variable outside formulas: "point A", or "triangle ABC" if two of its letters are points."""
    if old in GREEK:
        return {}
    return {
        match.span(): match[0].replace(old, new)
        for start, end in prose(text)
        for match in _in_prose(text, start, end)
        if old in match[0] and (len(match[0]) == 1 or len(points.intersection(match[0])) > 1)
    }


def points_of_figures(text: str) -> str:
    """Return the points of figures named in the prose as one string: "ABC" from "triangle ABC"."""
    return "".join(
        match[0]
        for start, end in prose(text)
        for match in _RUN_IN_PROSE.finditer(text, start, end)
        if _FIGURE_BEFORE.search(text[: match.start()][-16:])
    )


def _roles(texts: Sequence[str]) -> list[list[Role]]:
    return [[token.role for formula in parse_formulas(text) for token in formula] for text in texts]


def _scalable(formula: Formula, functions: frozenset[str]) -> dict[int, Token]:
    """Map positions to variables of a formula that stand for numbers."""
    if all(token.role is Role.VARIABLE or token.text in ",()" for token in formula) and _is_list(formula):
        return {}  # only mentioned
    names = _function_notation(formula, functions) | _accented(formula)
    return {
        at: token
        for at, token in enumerate(formula)
        if token.role is Role.VARIABLE
        and _alphabet(token.text) == "lower"
        and token.text not in functions
        and token.script != "_"
        and at not in names
        and not _is_name(formula, at)
    }


def _is_list(formula: Formula) -> bool:
    """Return whether no two letters are adjacent: "x, y" is a list, "xy" a product."""
    return all(text_at(formula, at + 1) in ("", ",", "(", ")") for at in range(len(formula)) if formula[at].text != ",")


def _is_name(formula: Formula, at: int) -> bool:
    r"""Return whether the letter is part of a longer name: x', x^\prime, \Delta x, dx."""
    after = text_at(formula, at + 1) + text_at(formula, at + 2)
    before = formula[at - 1] if at else None
    prefixed = before is not None and (
        before.text in _PREFIXES - {"d"} or (before.text, before.role) == ("d", Role.WORD)
    )
    # The lexer keeps \mathrm{d} as one token.
    upright = re.fullmatch(r"\\(?:mathrm|text|rm)\s*\{\s*d\s*\}", text_at(formula, at - 1)) is not None
    return after[:1] == "'" or after == r"^\prime" or prefixed or upright


def _function_notation(formula: Formula, functions: frozenset[str]) -> set[int]:
    """Find positions of f(x+h) for functions f, and of y(t) and the like: a letter and only letters in parentheses."""
    places: set[int] = set()
    for at, name in enumerate(formula):
        if name.role is not Role.VARIABLE or (arguments := call(formula, at)) is None:
            continue
        inside = [token for token in formula[slice(*arguments)] if not token.text.startswith((r"\left", r"\right"))]
        alone = all(token.role is Role.VARIABLE or token.text == "," for token in inside)
        if name.text in functions or (alone and _is_list(tuple(inside))):
            places.update((at, *range(*arguments)))
    return places


def _accented(formula: Formula) -> set[int]:
    accents = (at for at, token in enumerate(formula) if token.text in ACCENTS)
    return {place for at in accents for place in range(at, argument_end(formula, at + 1))}


def _scaled(text: str, formula: Formula, at: int, factor: int, bare: set[int]) -> dict[tuple[int, int], str]:
    """Return the edits that multiply the variable at ``at`` by ``factor``."""
    token = formula[at]
    if at in bare:  # \frac xy, e^x
        return {(token.start, token.end): f"{{{factor}{token.text}}}"}
    end = argument_end(formula, at + 2) if text_at(formula, at + 1) == "_" else at + 1
    powered = text_at(formula, end) in ("^", "!")
    if not powered and _has_coefficient(formula, at, bare):
        number = formula[at - 1]
        return {(number.start, number.end): format(Decimal(number.text) * factor, "f")}
    if not powered and (not at or text_at(formula, at - 1) in TERM_STARTS):
        return {(token.start, token.start): str(factor)}
    return {(token.start, formula[end - 1].end): f"({factor}{text[token.start : formula[end - 1].end]})"}


def _has_coefficient(formula: Formula, at: int, bare: set[int]) -> bool:
    """Return whether the number before the variable multiplies it: no exponent, no denominator."""
    number = formula[at - 1] if at else None
    return (
        number is not None
        and number.role is Role.NUMBER
        and number.script == formula[at].script
        and at - 1 not in bare
        and not is_part_of_number(formula, at - 1)
        and text_at(formula, at - 2) not in _DIVIDES
    )
