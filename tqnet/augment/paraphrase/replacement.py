"""Names and units that give way to others of their kind (ParaQD, f7 and f10)."""

from __future__ import annotations

import re

import numpy as np

from tqnet.augment.paraphrase.agreement import is_plural
from tqnet.augment.paraphrase.entities import Entity
from tqnet.augment.paraphrase.gazetteer import NAMES, SURNAMES
from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.augment.paraphrase.rewording import is_american, written
from tqnet.augment.paraphrase.spans import rewrite, with_article
from tqnet.augment.paraphrase.units import REPLACEABLE, Form, Unit, abbreviation, in_words, similar_units
from tqnet.text.spans import Span

#: How many names or units at most.
_MOST = 3
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\b\.?\s*$")
_POSSESSIVE = re.compile(r"\s?['’]\s?s?\b|['’](?=\s)")
_THE = re.compile(r"\bthe\s+$", re.IGNORECASE)


def replace_entities(problem: Problem, rng: np.random.Generator) -> str:
    """One to three names are left out or replaced by others of their category (f7).

    A name that stands but once is left out: with another name in its place everywhere, a question asks the same.
    """
    if not problem.entities:
        raise NotApplicable("there are no named entities")
    count = int(rng.integers(1, min(_MOST, len(problem.entities)) + 1))
    changes: dict[Span, str] = {}
    taken = problem.text
    for at in sorted(rng.choice(len(problem.entities), count, replace=False)):
        entity = problem.entities[at]
        names = [name for name in _others(problem.text, entity) if name not in taken]
        if entity.count > 1 and names and rng.random() < 0.5:
            name = names[rng.integers(len(names))]
            taken += f" {name}"
            span, new = with_article(problem.text, entity.start, entity.end, name)
            changes[span] = new
        else:
            changes[_whole(problem.text, entity)] = ""
    return rewrite(problem.text, changes)


def _others(text: str, entity: Entity) -> list[str]:
    if entity.label == "PERSON" and _TITLE.search(text, 0, entity.start):
        return list(SURNAMES)
    has_article = _THE.search(text, 0, entity.start) is not None
    return [name.removeprefix("the ") if has_article else name for name in NAMES[entity.label]]


def _whole(text: str, entity: Entity) -> Span:
    """A name with its title and its 's."""
    title, possessive = _TITLE.search(text, 0, entity.start), _POSSESSIVE.match(text, entity.end)
    return title.start() if title else entity.start, possessive.end() if possessive else entity.end


def replace_units(problem: Problem, rng: np.random.Generator) -> str:
    """One to three units give way to others of their dimension, one for each unit: "hours" to "days" (f10)."""
    units = [unit for unit in problem.units if unit.dimension in REPLACEABLE and unit.form is not Form.AMOUNT]
    if not units:
        dimensions = ", ".join(REPLACEABLE)
        raise NotApplicable(f"there are no units of {dimensions}" if problem.units else "there are no units")
    count = int(rng.integers(1, min(_MOST, len(units)) + 1))
    drawn: dict[str, str] = {}
    changes: dict[Span, str] = {}
    for at in sorted(rng.choice(len(units), count, replace=False)):
        unit = units[at]
        if unit.name not in drawn:
            others = similar_units(unit.name, unit.dimension)
            drawn[unit.name] = others[rng.integers(len(others))]
        changes |= _replaced(problem, unit, drawn[unit.name])
    return rewrite(problem.text, changes)


def _replaced(problem: Problem, unit: Unit, name: str) -> dict[Span, str]:
    """A unit's place, or that of a sign and behind its number, with ``name`` written in the same form if it has one."""
    text, sign = problem.text, abbreviation(name)
    american = is_american(text)
    if unit.form is Form.WORD:
        span, new = with_article(text, unit.start, unit.end, in_words(name, unit.plural, american))
        return {span: new}
    words = in_words(name, is_plural(problem, unit), american)
    if unit.form is Form.SIGN and unit.number and unit.start < unit.number.start:
        if sign and sign != "¢":
            return {(unit.start, unit.end): sign}
        return {(unit.start, unit.number.end): f"{written(text, unit.number)} {words}"}
    glued = text[unit.start - 1 : unit.start].isdigit()
    if unit.form is Form.SIGN or not sign:
        return {(unit.start, unit.end): f" {words}" if glued else words}
    return {(unit.start, unit.end): sign}
