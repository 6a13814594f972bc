"""Operators after which a question asks the same: same sentence, numbers in words, units in full (ParaQD, f2 to f4)."""

from __future__ import annotations

import re

import numpy as np

from tqnet.augment.paraphrase.agreement import capital_of, is_attributive, is_calculated, is_plural
from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.augment.paraphrase.spans import rewrite
from tqnet.augment.paraphrase.spelling import dollars_and_cents, spelled_out
from tqnet.augment.paraphrase.units import Form, Unit, in_words
from tqnet.augment.paraphrase.units.names import money_name
from tqnet.text.numbers import Number
from tqnet.text.spans import Span

_AMERICAN = re.compile(r"(?:met|lit)er")


def same_sentence(problem: Problem, rng: np.random.Generator) -> str:
    """The text itself: dropout makes of it another view (f2)."""
    if not problem.text.strip():
        raise NotApplicable("there is no text")
    return problem.text


def numbers_to_words(problem: Problem, rng: np.random.Generator) -> str:
    """Every number in words, with its percent or currency (f3); dates, times of day and calculations stay."""
    changes: dict[Span, str] = {}
    for number in problem.numbers:
        if not is_calculated(problem.text, number):
            changes |= _spelled(problem, number)
    if not changes:
        raise NotApplicable("there are no numbers in digits" if problem.numbers else "there are no numbers")
    return rewrite(problem.text, changes)


def _spelled(problem: Problem, number: Number) -> dict[Span, str]:
    text, (start, end) = problem.text, number.outer
    words = spelled_out(text, number)
    if words is None:
        return {}
    if number.sign == "%":
        words += " percent"
    elif number.sign and not is_named(problem, number):
        words = _money(problem, number, words)
    if text[end : end + 1].isalpha():  # 5km
        words += " "
    return {(start, end): capital_of(problem, start, words)}


def _money(problem: Problem, number: Number, words: str) -> str:
    name = money_name(number.sign)
    one, many = in_words(name, plural=False), in_words(name, plural=True)
    attributive = is_attributive(problem, number, number.outer[1])
    amount = None if attributive or name not in ("dollar", "euro") else dollars_and_cents(number.value, one, many)
    return amount or f"{words} {one if attributive or number.value == 1 else many}"


def expand_units(problem: Problem, rng: np.random.Generator) -> str:
    """Every abbreviated unit in full, and money by its name: "20 km/h" to "20 kilometres per hour" (f4)."""
    changes: dict[Span, str] = {}
    for unit in problem.units:
        changes |= _expanded(problem, unit)
    if not changes:
        raise NotApplicable("there are no abbreviated units" if problem.units else "there are no units")
    return rewrite(problem.text, changes)


def _expanded(problem: Problem, unit: Unit) -> dict[Span, str]:
    if unit.form not in (Form.ABBREVIATED, Form.SIGN):
        return {}
    words = in_words(unit.name, is_plural(problem, unit), is_american(problem.text))
    if unit.form is Form.SIGN and unit.number and is_named(problem, unit.number):
        return {}
    if unit.number is None or unit.start >= unit.number.end:
        glued = problem.text[unit.start - 1 : unit.start].isdigit()
        return {(unit.start, unit.end): f" {words}" if glued else words}
    return {(unit.start, unit.number.end): f"{written(problem.text, unit.number)} {words}"}


def written(text: str, number: Number) -> str:
    """A number as it stands there, put together where it was taken apart: "1 , 036.70"."""
    return text[number.start : number.end].replace(" , ", ",")


def is_named(problem: Problem, number: Number) -> bool:
    """Whether money has its name behind it beside its sign: "$5 dollars"."""
    place = number.outer[1]
    return any(
        unit.dimension == "Currency" and unit.form is Form.WORD and place < unit.start <= place + 2
        for unit in problem.units
    )


def is_american(text: str) -> bool:
    """Whether a text writes "meter" and "liter"."""
    return _AMERICAN.search(text) is not None
