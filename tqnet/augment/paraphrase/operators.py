"""ParaQD's operators by name: f1 to f10 for training, f_a to f_e for test sets.

Rules need nothing. What needs a model or weights takes part where they are given, as callables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from tqnet.augment.paraphrase.corruption import corrupt, delete_words
from tqnet.augment.paraphrase.deletion import delete_last_sentence
from tqnet.augment.paraphrase.passive import active_to_passive
from tqnet.augment.paraphrase.problem import TOO_LONG, NotApplicable, Problem
from tqnet.augment.paraphrase.replacement import replace_entities, replace_units
from tqnet.augment.paraphrase.rewording import expand_units, numbers_to_words, same_sentence
from tqnet.augment.paraphrase.vagueness import make_numbers_vague
from tqnet.augment.paraphrase.weights import WordWeights, replace_heavy_words

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
            (`tqnet.augment.paraphrase.deletion.delete_important_phrases`).
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
