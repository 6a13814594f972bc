r"""Replacing an operator of a question by one that is like it (QuesCo, "Formula Augmentation").

A group holds operators that are defined alike, obey the same kind of laws and are taught together. What is left out,
and why: ``\times`` and ``\div`` (one commutes, the other does not, and each is taught for itself), ``\perp`` and
``\parallel`` (other theorems), ``\cdot`` and ``\times`` (of vectors, two products), ``=`` and inequalities (an equation
is solved otherwise), ``\int`` and ``\sum``.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tqnet.augment.edits import replace_one
from tqnet.questions import Question
from tqnet.text.latex import TERM_STARTS, Formula, Role, argument_end, text_at

_GROUPS = (
    ("+", "-"),  # each undoes the other
    (r"\pm", r"\mp"),
    (r"\sin", r"\cos"),  # shifted by a right angle
    (r"\tan", r"\cot"),
    (r"\sec", r"\csc"),
    (r"\arcsin", r"\arccos"),
    (r"\sinh", r"\cosh"),
    (r"\ln", r"\lg", r"\log"),  # proportional to one another
    ("<", ">"),  # the same order, read from either side
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

#: Operator -> those that may stand in its place.
SYNONYMS: dict[str, tuple[str, ...]] = {
    operator: tuple(other for other in group if other != operator) for group in _GROUPS for operator in group
}

_ORDERS = frozenset(("<", ">", r"\lt", r"\gt", r"\leq", r"\geq", r"\le", r"\ge", r"\leqslant", r"\geqslant"))


def replace_operator(question: Question, rng: np.random.Generator, spared: Collection[str] = ()) -> Question:
    r"""One operator gives way to one with like properties (`tqnet.augment.operators`): \sin to \cos, + to -."""

    def replaceable(formula: Formula) -> list[int]:
        return [at for at in _replaceable_operators(formula) if formula[at].text not in spared]

    return replace_one(question, rng, replaceable, _other_operator)


def _replaceable_operators(formula: Formula) -> list[int]:
    """Operators with a synonym: signs between two terms, logarithms without a base, relations that stand alone."""
    chained = sum(token.text in _ORDERS for token in formula) > 1  # 0 < x < 1 has one direction
    found = []
    for at, token in enumerate(formula):
        if token.text not in SYNONYMS or token.role is Role.WORD or text_at(formula, at - 1) in (r"\left", r"\right"):
            continue
        signs = token.text in ("+", "-") and (
            not at or text_at(formula, at - 1) in TERM_STARTS or at + 1 == len(formula)
        )
        based = token.text in (r"\ln", r"\lg", r"\log") and _has_base(formula, at)
        if not (signs or based or (chained and token.text in _ORDERS)):
            found.append(at)
    return found


def _has_base(formula: Formula, at: int) -> bool:
    r"""Of \log_2 and of \log^3_2."""
    behind = argument_end(formula, at + 2) if text_at(formula, at + 1) == "^" else at + 1
    return text_at(formula, behind) == "_"


def _other_operator(operator: str, rng: np.random.Generator) -> str:
    others = SYNONYMS[operator]
    return others[rng.integers(len(others))]
