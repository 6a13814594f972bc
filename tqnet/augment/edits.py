"""Edits of a question's texts by the places of their tokens, and names in formulas that are no variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tqnet.questions import Question
from tqnet.text.latex import Formula, Role, call, parse_formulas, text_at


def texts_of(question: Question) -> list[str]:
    """The stem and the options."""
    return [question.stem, *question.options]


def with_texts(question: Question, texts: Sequence[str]) -> Question:
    """``question`` with another stem and other options."""
    return replace(question, stem=texts[0], options=tuple(texts[1:]))


def edit(text: str, changes: Mapping[tuple[int, int], str]) -> str:
    """Replace each span (start, end) of ``text``; a space keeps a new command apart from a letter that follows."""
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
    """Replace one token, at a place that is ``eligible`` in its formula, by an ``other``."""
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


#: Letters that name a function where a parenthesis follows them: f(x), P(A).
_FUNCTIONS = frozenset("fghFGHPED") | {r"\varphi", r"\phi", r"\psi"}
_SETS = frozenset("RNZQC")
_MEMBERSHIP = frozenset((r"\in", r"\notin", r"\subset", r"\subseteq", r"\to", r"\rightarrow"))
#: Numbers of choices: C_5^2, A_5^2.
_CHOICES = frozenset("CAP")


def spared_names(parts: Iterable[Formula]) -> frozenset[str]:
    """Letters that are no variables in these formulas: of functions, sets of numbers, transposes, binomials."""
    return frozenset(
        token.text
        for formula in parts
        for at, token in enumerate(formula)
        if token.role is Role.VARIABLE and _is_spared(formula, at)
    )


def function_names(parts: Iterable[Formula]) -> frozenset[str]:
    """Letters that name a function in one of these formulas."""
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
