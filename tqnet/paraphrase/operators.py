"""ParaQD's operators by symbol: f1 to f10 for training, f_a to f_e for test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tqnet.paraphrase import TEST, TRAINING, Label
from tqnet.paraphrase.negatives import delete_last_sentence, make_numbers_vague, replace_entities, replace_units
from tqnet.paraphrase.positives import active_to_passive, expand_units, numbers_to_words, same_sentence
from tqnet.paraphrase.problem import TOO_LONG, NotApplicable, Problem
from tqnet.paraphrase.tokens import delete_words

#: (problem, generator) -> rewritten text; raises NotApplicable if there is nothing to do.
Rewrite = Callable[[Problem, np.random.Generator], str]

_LABELS = TRAINING | TEST
#: Operators that need neither a model nor a corpus.
_RULES: dict[str, Rewrite] = {
    "f2": same_sentence,
    "f3": numbers_to_words,
    "f4": expand_units,
    "f6": delete_last_sentence,
    "f7": replace_entities,
    "f8": make_numbers_vague,
    "f10": replace_units,
    "f_a": active_to_passive,
    "f_d": delete_words,
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A way to rewrite a question; calling it returns a text that differs from the question, except for f2.

    Raises:
        NotApplicable: There is nothing to do, nothing would change or be left, or the text is too long.
    """

    symbol: str
    label: Label
    rewrite: Rewrite

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        if problem.parsed is None:
            raise NotApplicable(TOO_LONG)
        text = self.rewrite(problem, rng)
        if not any(map(str.isalnum, text)):
            raise NotApplicable("nothing would be left")
        if text == problem.text and self.rewrite is not same_sentence:
            raise NotApplicable("nothing would change")
        return text


def operators(symbols: Iterable[str] = tuple(_LABELS), given: Mapping[str, Rewrite] | None = None) -> list[Operator]:
    """Return operators in the order of ``symbols``: the rules, and those of the others that are ``given``.

    The others are models (f1, f9, f_b, f_e), deletion of the phrase that an encoder finds most important (f5,
    `tqnet.paraphrase.negatives.without_important_phrases`) and replacement of words by their weight in a corpus (f_c,
    `tqnet.paraphrase.tokens.replace_heavy_words`).
    """
    rewrites = _RULES | dict(given or {})
    return [Operator(symbol, _LABELS[symbol], rewrites[symbol]) for symbol in symbols if symbol in rewrites]


def select(operators: Sequence[Operator], label: Label) -> list[Operator]:
    """Return the operators of one label."""
    return [operator for operator in operators if operator.label == label]


def first_that_applies(problem: Problem, operators: Sequence[Operator], rng: np.random.Generator) -> tuple[str, str]:
    """Rewrite a problem by an operator drawn among those that apply; return the text and the operator's symbol.

    Raises:
        NotApplicable: No operator applies; the message gives each one's reason.
    """
    reasons = []
    for at in rng.permutation(len(operators)):
        operator = operators[at]
        try:
            return operator(problem, rng), operator.symbol
        except NotApplicable as reason:
            reasons.append(f"{operator.symbol}: {reason}")
    raise NotApplicable("; ".join(sorted(reasons)) or "there are no operators")
