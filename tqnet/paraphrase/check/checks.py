"""Pairs that certainly ask otherwise, by numbers, units, names and words, whatever a model makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tqnet.evaluation.metrics import BoolArray
from tqnet.paraphrase.check.explain import Explainer
from tqnet.paraphrase.vectors import PairTexts
from tqnet.questions.paraphrase_pairs import ParaphrasePair


def asks_otherwise(pairs: Sequence[ParaphrasePair]) -> BoolArray:
    """bool ``[pairs]``, where a number or a unit was lost, is new or changed, a name is another one in places, words
    changed places, became others or were left out, a number says something else, or nothing is asked
    (:attr:`tqnet.paraphrase.Difference.asks_otherwise`).

    Raises:
        OSError: There is no spaCy model of English.
    """
    read = PairTexts.read(text for pair in pairs for text in (pair.original, pair.paraphrase))
    found = Explainer().explain([(read.plain(pair.original), read.plain(pair.paraphrase)) for pair in pairs])
    return np.array([any(one.asks_otherwise for one in of.differences) for of in found], dtype=bool)
