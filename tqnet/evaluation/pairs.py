"""How well the relations of pairs of questions are classified: precision and recall of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray, Interval, macro_f1, percentiles, resampled_ratio
from tqnet.evaluation.table import Table
from tqnet.questions.differences import says_the_same
from tqnet.questions.pairs import RELATIONS, LabelledPair
from tqnet.questions.traits import same_figures


@dataclass(frozen=True)
class PairScores:
    """True relations of pairs, and predicted probabilities.

    Attributes:
        truth: int64 ``[p]``, indices into RELATIONS.
        probabilities: ``[p, 4]``.
        groups: int64 ``[p]``, for the bootstrap: pairs linked by shared questions are one group.
    """

    truth: IntArray
    probabilities: FloatArray
    groups: IntArray

    @classmethod
    def from_pairs(cls, pairs: Sequence[LabelledPair], probabilities: FloatArray) -> PairScores:
        truth = np.array([RELATIONS.index(pair.relation) for pair in pairs], dtype=np.int64)
        return cls(truth, probabilities, _groups(pairs))

    @classmethod
    def of_rule(cls, pairs: Sequence[LabelledPair]) -> PairScores:
        """Score the rule of `tqnet duplicates` for near texts, which tells duplicates from all else: "variant"."""
        same = [says_the_same(pair.a, pair.b) and same_figures(pair.a.images, pair.b.images) for pair in pairs]
        places = [RELATIONS.index("duplicate" if duplicate else "variant") for duplicate in same]
        return cls.from_pairs(pairs, np.eye(len(RELATIONS))[places])

    @cached_property
    def predicted(self) -> IntArray:
        """int64 ``[p]``, the most probable relation of each pair."""
        return self.probabilities.argmax(1)

    @cached_property
    def confusion(self) -> IntArray:
        """int64 ``[4, 4]``: pairs by true (row) and predicted relation (column)."""
        counts = np.zeros((len(RELATIONS), len(RELATIONS)), dtype=np.int64)
        np.add.at(counts, (self.truth, self.predicted), 1)
        return counts

    @property
    def accuracy(self) -> float:
        """Share of the pairs that are classified correctly."""
        return float((self.truth == self.predicted).mean())

    @property
    def f1(self) -> list[float]:
        """F1 of each relation; 0 for one that neither occurs nor is predicted."""
        right, sizes = np.diag(self.confusion), self.confusion.sum(0) + self.confusion.sum(1)
        return (2 * right / np.maximum(sizes, 1)).tolist()

    @property
    def macro_f1(self) -> float:
        """The mean of F1 over the relations that occur."""
        truth, predicted = (np.eye(len(RELATIONS), dtype=bool)[rows] for rows in (self.truth, self.predicted))
        return macro_f1(truth, predicted)

    def precision(self, relation: int) -> tuple[float, Interval]:
        """Share of the pairs predicted as ``relation`` that are it, with its 95 % interval."""
        return self._share(self.predicted == relation, self.truth == relation)

    def recall(self, relation: int) -> tuple[float, Interval]:
        """Share of the pairs of ``relation`` that are predicted as it, with its 95 % interval."""
        return self._share(self.truth == relation, self.predicted == relation)

    def _share(self, base: BoolArray, hit: BoolArray) -> tuple[float, Interval]:
        if not base.any():
            return np.nan, Interval(np.nan, np.nan)
        draws = resampled_ratio((base & hit).astype(float), base.astype(float), self.groups)
        return float(hit[base].mean()), percentiles(draws)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        numbers: dict[str, Any] = {"pairs": len(self.truth), "accuracy": self.accuracy, "macro_f1": self.macro_f1}
        for at, relation in enumerate(RELATIONS):
            shares: dict[str, Any] = {}
            for name, (share, interval) in {"precision": self.precision(at), "recall": self.recall(at)}.items():
                shares[name] = None if np.isnan(share) else share
                shares[f"{name}_interval"] = interval.to_json()
            taken_for = dict(zip(RELATIONS, self.confusion[at].tolist(), strict=True))
            pairs = int((self.truth == at).sum())
            numbers[relation] = {**shares, "f1": self.f1[at], "pairs": pairs, "taken_for": taken_for}
        return numbers


def pairs_table(scores: PairScores, title: str = "") -> Table:
    """Make a row for each relation: precision and recall with their intervals, F1, and the predictions of its pairs."""
    rows = []
    for at, relation in enumerate(RELATIONS):
        cells = [_cell(*scores.precision(at)), _cell(*scores.recall(at)), f"{scores.f1[at]:.3f}"]
        rows.append((f"{relation} ({(scores.truth == at).sum()})", *cells, *map(str, scores.confusion[at])))
    header = ("relation (pairs)", "precision", "recall", "F1", *(f"as {relation}" for relation in RELATIONS))
    note = (
        f"Accuracy {scores.accuracy:.3f}, macro F1 {scores.macro_f1:.3f} of {len(scores.truth):,} pairs; 95 % "
        "intervals in brackets, pairs that share a question drawn together."
    )
    return Table(title, header, tuple(rows), (note,))


def _groups(pairs: Sequence[LabelledPair]) -> IntArray:
    """Number the connected component of questions that each pair belongs to."""
    places: dict[tuple[object, ...], int] = {}
    ends = np.array(
        [[places.setdefault((end.content, end.images), len(places)) for end in (pair.a, pair.b)] for pair in pairs]
    ).reshape(-1, 2)
    links = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(places), len(places)))
    return connected_components(links, directed=False)[1].astype(np.int64)[ends[:, 0]]


def _cell(share: float, interval: Interval) -> str:
    return "–" if np.isnan(share) else f"{share:.3f} ({interval})"
