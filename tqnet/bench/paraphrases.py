"""What a row scores on labelled paraphrases, and how much one row is above another there (ParaQD, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tqnet.bench.spread import Gain, Spread
from tqnet.evaluation.metrics import BoolArray, percentiles
from tqnet.paraphrase.check import UNLIKE
from tqnet.paraphrase.evaluation import ParaphraseMetrics

#: What rows are compared by: the paper's primary metric, and how it stands at the threshold.
COMPARED = {"separation": "separation", "macro F1": "macro_f1", "weighted F1": "weighted_f1"}


@dataclass(frozen=True)
class ParaphraseTerms:
    """The pairs of a file with their scores, for comparing rows pair by pair.

    Attributes:
        labels: Of each pair, 1 for a valid paraphrase and 0 for an invalid one.
        scores: Of each pair, -1 to 1.
        groups: Of each pair, a number by which the bootstrap draws: its original's.
    """

    labels: list[int]
    scores: list[float]
    groups: list[int]

    @classmethod
    def of(cls, found: ParaphraseMetrics) -> ParaphraseTerms:
        """From pairs that were measured; rounded, so that a file stays small."""
        scores = np.round(found.scores, 6).tolist()
        return cls(found.valid.astype(int).tolist(), scores, found.groups.tolist())

    def checked(self, otherwise: BoolArray) -> ParaphraseTerms:
        """With -1 for pairs that certainly ask otherwise (:func:`tqnet.paraphrase.check.compare.asks_otherwise`)."""
        return replace(self, scores=np.where(otherwise, UNLIKE, self.scores).tolist())

    @cached_property
    def metrics(self) -> ParaphraseMetrics:
        """All that is made of them, with the draws of the bootstrap, which take a moment."""
        return ParaphraseMetrics(np.array(self.labels) == 1, np.array(self.scores), np.array(self.groups))


def paraphrase_spread(row: Sequence[ParaphraseTerms], metric: str) -> Spread | None:
    """One of `tqnet.paraphrase.evaluation.METRICS` over the seeds of a row."""
    return Spread.of([terms.metrics.values[metric] for terms in row])


def paraphrase_gain(first: Sequence[ParaphraseTerms], second: Sequence[ParaphraseTerms], metric: str) -> Gain | None:
    """How much a metric of the second row is above the first's, resampled by original; means over seeds.

    Both rows score the same pairs of each draw. None where one was not measured, or on other pairs.
    """
    asked = [{(tuple(terms.labels), tuple(terms.groups)) for terms in row} for row in (first, second)]
    if asked[0] != asked[1] or len(asked[0]) != 1:
        return None
    means = [np.mean([terms.metrics.values[metric] for terms in row]) for row in (first, second)]
    draws = [np.mean([terms.metrics.draws[metric] for terms in row], axis=0) for row in (first, second)]
    return float(means[1] - means[0]), percentiles(draws[1] - draws[0])
