"""ParaQD's operators by name: f1 to f10 for training, f_a to f_e for test sets.

Rules need nothing. What needs a model or weights takes part where they are given, as callables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from tqnet.paraphrase.negatives import delete_last_sentence, make_numbers_vague, replace_entities, replace_units
from tqnet.paraphrase.positives import expand_units, numbers_to_words, same_sentence
from tqnet.paraphrase.problem import TOO_LONG, NotApplicable, Problem
from tqnet.paraphrase.test_operators import WordWeights, active_to_passive, corrupt, delete_words, replace_heavy_words

#: Problem and generator -> another text; raises NotApplicable where there is nothing to do.
Rewrite = Callable[[Problem, np.random.Generator], str]
#: Whether what comes out asks the same.
Label = Literal["positive", "negative"]


@dataclass(frozen=True, slots=True)
class Operator:
    """A way to write a question anew.

    Attributes:
        symbol: ParaQD's.
        label: What ParaQD takes its results for.
    """

    name: str
    symbol: str
    label: Label
    rewrite: Rewrite

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        """The new text, never the old one, but for the same sentence.

        Raises:
            NotApplicable: There is nothing to do, or nothing would change or be left; or the text is too long.
        """
        if problem.parsed is None:
            raise NotApplicable(TOO_LONG)
        text = self.rewrite(problem, rng)
        if not any(map(str.isalnum, text)):
            raise NotApplicable("nothing would be left")
        if text == problem.text and self.rewrite is not same_sentence:
            raise NotApplicable("nothing would change")
        return text


def training_operators(
    shorten: Rewrite | None = None, translate: Rewrite | None = None, lose: Rewrite | None = None
) -> list[Operator]:
    """f1 to f10, in this order, without those that lack what they need.

    Args:
        shorten: Leaves out the most important phrase (f5), which an encoder has found for all questions beforehand
            (`tqnet.paraphrase.negatives.delete_important_phrases`).
        translate: Back-translation (f1).
        lose: A model that paraphrases and loses information (f9).
    """
    return _given(
        ("back-translation", "f1", "positive", translate),
        ("same-sentence", "f2", "positive", same_sentence),
        ("numbers-to-words", "f3", "positive", numbers_to_words),
        ("unit-expansion", "f4", "positive", expand_units),
        ("phrase-deletion", "f5", "negative", shorten),
        ("last-sentence-deletion", "f6", "negative", delete_last_sentence),
        ("entity-replacement", "f7", "negative", replace_entities),
        ("number-deletion", "f8", "negative", make_numbers_vague),
        ("lossy-paraphrase", "f9", "negative", lose),
        ("unit-replacement", "f10", "negative", replace_units),
    )


def evaluation_operators(
    weights: WordWeights | None = None,
    reconstruct: Callable[[str], str] | None = None,
    paraphrase: Rewrite | None = None,
) -> list[Operator]:
    """f_a to f_e, in this order, without those that lack what they need.

    Args:
        weights: Of the words of a corpus (f_c).
        reconstruct: A corrupted text -> the model's guess at what it was (f_b).
        paraphrase: A model that paraphrases and loses information (f_e).
    """
    restored = partial(_reconstructed, reconstruct=reconstruct) if reconstruct else None
    heavy = partial(replace_heavy_words, weights=weights) if weights else None
    return _given(
        ("active-to-passive", "f_a", "positive", active_to_passive),
        ("reconstruction", "f_b", "positive", restored),
        ("tf-idf-replacement", "f_c", "negative", heavy),
        ("random-deletion", "f_d", "negative", delete_words),
        ("paraphrase", "f_e", "negative", paraphrase),
    )


def _given(*rows: tuple[str, str, Label, Rewrite | None]) -> list[Operator]:
    return [Operator(name, symbol, label, rewrite) for name, symbol, label, rewrite in rows if rewrite]


def _reconstructed(problem: Problem, rng: np.random.Generator, reconstruct: Callable[[str], str]) -> str:
    return reconstruct(corrupt(problem, rng))


def select(operators: Sequence[Operator], label: Label) -> list[Operator]:
    """Those of one label."""
    return [operator for operator in operators if operator.label == label]


# Triplets of a question, a positive and a negative, each by an operator that is drawn (ParaQD, Section 3).


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
