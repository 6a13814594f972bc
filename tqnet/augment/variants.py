"""Changes that make a variant of a question: another degree, operator, quantity or condition (FSE, Table 3, E2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tqnet.augment.clauses import conditions
from tqnet.augment.edits import edit, replace_one
from tqnet.augment.operators import replace_operator
from tqnet.questions import Question
from tqnet.text.latex import Formula, Role, parse_formulas, text_at
from tqnet.text.replacements import OTHERS, as_written

#: Question and generator -> another question about the same; the same one where nothing applies.
VariantChange = Callable[[Question, np.random.Generator], Question]

#: Letters that stand for an unknown rather than for a point or an index.
_UNKNOWNS = frozenset("abcpqstuvwxyz")
_POWER = re.compile(r"\^\s*(?:\{\s*([23])\s*\}|([23])(?![\d}]))")


def change_degree(question: Question, rng: np.random.Generator) -> Question:
    """A variable is squared, or a square or cube becomes another power: x to x^2, x^2 to x^3 or x."""
    powers = [match for match in _POWER.finditer(question.stem) if _in_formula(question.stem, match.start())]
    if powers and rng.random() < 0.6:
        power = powers[rng.integers(len(powers))]
        others = [degree for degree in ("", "^{2}", "^{3}", "^{4}") if degree != f"^{{{power[1] or power[2]}}}"]
        return replace(question, stem=edit(question.stem, {power.span(): others[rng.integers(len(others))]}))
    return _in_stem(
        question,
        lambda stem: replace_one(stem, rng, _without_power, lambda name, rng: f"{name}^{{{rng.integers(2, 4)}}}"),
    )


def _in_stem(question: Question, change: Callable[[Question], Question]) -> Question:
    """``question`` with its stem changed and its options as they are."""
    return replace(change(replace(question, options=())), options=question.options)


def _in_formula(text: str, place: int) -> bool:
    return any(formula and formula[0].start <= place < formula[-1].end for formula in parse_formulas(text))


def _without_power(formula: Formula) -> list[int]:
    """Unknowns in a formula that says something, not those with a power, an index or arguments."""
    if len(formula) < 3:
        return []
    return [
        at
        for at, token in enumerate(formula)
        if token.role is Role.VARIABLE
        and token.text in _UNKNOWNS
        and not token.script
        and text_at(formula, at + 1) not in ("^", "_", "'", "(")
        and text_at(formula, at - 1) not in ("\\", "d", r"\angle", r"\triangle")
    ]


def change_operator(question: Question, rng: np.random.Generator) -> Question:
    r"""\sin to \cos, < to >, \cup to \cap; not + to -, which but changes the sign of a number."""
    return _in_stem(question, lambda stem: replace_operator(stem, rng, spared=("+", "-")))


def ask_otherwise(question: Question, rng: np.random.Generator) -> Question:
    """A phrase of the stem gives way to one of another sense: perimeter to area, at least to at most, 周长 to 面积."""
    found = OTHERS.find(question.stem)
    if not found:
        return question
    chosen = found[rng.integers(len(found))]
    old, senses = question.stem[chosen.start : chosen.end], OTHERS.lines[chosen.line]
    other = senses[rng.choice([sense for sense in range(len(senses)) if sense != chosen.sense])]
    # Senses of one line list their phrases in one order, as far as they correspond.
    place = senses[chosen.sense].index(old.lower()) if old.lower() in senses[chosen.sense] else 0
    new = other[place] if place < len(other) else other[0]
    return replace(question, stem=edit(question.stem, {(chosen.start, chosen.end): as_written(new, old)}))


def drop_condition(question: Question, rng: np.random.Generator) -> Question:
    """One of several parallel conditions is left out."""
    groups = [group for group in conditions(question.stem) if len(group) > 1]
    if not groups:
        return question
    group = groups[rng.integers(len(groups))]
    at = int(rng.integers(len(group)))
    # With what parts it from its neighbour: behind it, or before the last one.
    gone = (group[at].start, group[at + 1].start) if at + 1 < len(group) else (group[at - 1].end, group[at].end)
    return replace(question, stem=edit(question.stem, {gone: ""}))


def swap_known_and_asked(question: Question, rng: np.random.Generator) -> Question:
    """Of "$x=3$ ... find $y$", the known and the asked change places: "$y=3$ ... find $x$"."""
    formulas = parse_formulas(question.stem)
    known = [formula[0] for formula in formulas if len(formula) == 3 and _is_assignment(formula)]
    asked = [formula[0] for formula in formulas if len(formula) == 1 and formula[0].role is Role.VARIABLE]
    pairs = [(one, other) for one in known for other in asked if one.text != other.text]
    if not pairs:
        return question
    one, other = pairs[rng.integers(len(pairs))]
    changes = {(one.start, one.end): other.text, (other.start, other.end): one.text}
    return replace(question, stem=edit(question.stem, changes))


def _is_assignment(formula: Formula) -> bool:
    return formula[0].role is Role.VARIABLE and formula[1].text == "=" and formula[2].role is Role.NUMBER


#: By name.
VARIANT_CHANGES: dict[str, VariantChange] = {
    "degree": change_degree,
    "operator": change_operator,
    "asked": ask_otherwise,
    "condition": drop_condition,
    "swap": swap_known_and_asked,
}


def make_variant(question: Question, rng: np.random.Generator) -> Question:
    """``question`` after the first of VARIANT_CHANGES, in a random order, that changes its stem, if any does."""
    for name in rng.permutation(list(VARIANT_CHANGES)).tolist():
        changed = VARIANT_CHANGES[name](question, rng)
        if changed.stem != question.stem:
            return changed
    return question
