"""Edits of a question's texts by the places of their tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tqnet.questions import Question
from tqnet.text.latex import Formula, parse_formulas


def texts_of(question: Question) -> list[str]:
    """The stem and the options."""
    return [question.stem, *question.options]


def with_texts(question: Question, texts: Sequence[str]) -> Question:
    """``question`` with another stem and other options."""
    return replace(question, stem=texts[0], options=tuple(texts[1:]))


def edit(text: str, changes: Mapping[tuple[int, int], str]) -> str:
    """``text`` with each span (start, end) replaced; a command stays apart from a letter that comes to follow it."""
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
    """``question`` with one token, at a place that is ``eligible`` in its formula, made an ``other``."""
    texts = texts_of(question)
    found = [
        (number, formula[at])
        for number, text in enumerate(texts)
        for formula in parse_formulas(text)
        for at in eligible(formula)
    ]
    if not found:
        return question
    number, token = found[rng.integers(len(found))]
    texts[number] = edit(texts[number], {(token.start, token.end): other(token.text, rng)})
    return with_texts(question, texts)
