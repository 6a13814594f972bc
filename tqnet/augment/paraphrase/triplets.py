"""Triplets of a question, a positive and a negative, each by an operator that is drawn (ParaQD, Section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tqnet.augment.paraphrase.operators import Operator
from tqnet.augment.paraphrase.problem import NotApplicable, Problem


@dataclass(frozen=True, slots=True)
class Triplet:
    """A question, a text that asks the same and one that does not, and the symbols of what made them."""

    anchor: str
    positive: str
    negative: str
    positive_by: str
    negative_by: str


def draw_triplet(
    problem: Problem, positives: Sequence[Operator], negatives: Sequence[Operator], rng: np.random.Generator
) -> Triplet:
    """A triplet by one operator of each kind, drawn among those that apply.

    Raises:
        NotApplicable: None does; the message gives each one's reason.
    """
    positive, positive_by = first_that_applies(problem, positives, rng)
    negative, negative_by = first_that_applies(problem, negatives, rng)
    return Triplet(problem.text, positive, negative, positive_by, negative_by)


def first_that_applies(problem: Problem, operators: Sequence[Operator], rng: np.random.Generator) -> tuple[str, str]:
    """The text that an operator gives, drawn among those that apply, and its symbol.

    Raises:
        NotApplicable: None does; the message gives each one's reason.
    """
    reasons = []
    for at in rng.permutation(len(operators)):
        operator = operators[at]
        try:
            return operator(problem, rng), operator.symbol
        except NotApplicable as reason:
            reasons.append(f"{operator.symbol}: {reason}")
    raise NotApplicable("; ".join(sorted(reasons)) or "there are no operators")
