"""Metrics as pure functions on arrays; none of them knows a model or a bank.

A ranking enters as ``hits [queries, depth]`` (is the j-th neighbour of query i similar to it?), ``depth >= k``, with
``relevant [queries]`` (how many similar questions the corpus holds). A classification enters as two boolean indicator
matrices ``truth`` and ``predicted``, ``[questions, classes]``, which serve single-label and multi-label tasks alike.
``values`` and their ``groups`` are ``[n]``. A mean of nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
#: Group of each value: numbers or names.
Groups = Sequence[Any] | npt.NDArray[Any]


class Interval(NamedTuple):
    """A confidence interval, 95 %; NaN where fewer than two groups leave it unknown."""

    low: float
    high: float

    def __str__(self) -> str:
        return "–" if np.isnan(self.low) else f"{self.low:.3f}–{self.high:.3f}"

    @classmethod
    def from_json(cls, ends: Sequence[float | None]) -> Interval:
        """Read what :meth:`to_json` returned."""
        return cls(*(np.nan if end is None else end for end in ends))

    def to_json(self) -> tuple[float | None, float | None]:
        """Return both ends; None where they are unknown."""
        return (None, None) if np.isnan(self.low) else (self.low, self.high)


def gain_text(gain: float, interval: Interval) -> str:
    """Return a difference with its interval, as far as that is known: ``+0.012 [-0.008, +0.033]``."""
    return f"{gain:+.3f}" + ("" if np.isnan(interval.low) else f" [{interval.low:+.3f}, {interval.high:+.3f}]")


def check_vectors(vectors: npt.NDArray[np.floating], questions: int) -> None:
    """Raise a ValueError unless there is one finite vector per question."""
    if len(vectors) != questions:
        raise ValueError(f"{len(vectors)} vectors for {questions} questions")
    if bad := int((~np.isfinite(vectors)).any(axis=1).sum()):
        raise ValueError(f"{bad} of {len(vectors)} vectors hold NaN or infinity")


def precision_at_k(hits: BoolArray, relevant: IntArray, k: int) -> tuple[FloatArray, BoolArray]:
    """Precision of the first k neighbours (TQ-Net, Eq. 4)::

        P@k = 1/N  sum_i  card(S_gt_i  &  S_pred_i[:k]) / k

    The equation divides by ``card(S_gt_k)``, which is k, as every query of the paper has at least k similar
    questions. ``S_gt`` is the set of all similar questions, which have no order. Queries with fewer than k are left
    out, since a perfect ranking could not reach 1 on them.

    Returns:
        The precision of each query that counts, ``[kept]``, whose mean is P@k; and which these are, ``[queries]``.
    """
    _check_depth(hits, k)
    kept = relevant >= k
    return hits[kept, :k].sum(axis=1) / k, kept


def reciprocal_rank(hits: BoolArray) -> FloatArray:
    """One over the rank of the first similar neighbour, ``[queries]``; 0 where none is within the depth.

    The mean is MRR (Voorhees, TREC-8, 1999), cut at the depth.
    """
    if hits.shape[1] == 0:
        return np.zeros(len(hits))
    return np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1), 0.0)


def recall_at_k(hits: BoolArray, relevant: IntArray, k: int) -> FloatArray:
    """Share of a query's similar questions that are among its first k neighbours, ``[queries]``; 0 where it has none.

    A query with more than k similar questions cannot reach 1.
    """
    _check_depth(hits, k)
    return hits[:, :k].sum(axis=1) / np.maximum(relevant, 1)


def ndcg_at_k(hits: BoolArray, relevant: IntArray, k: int) -> FloatArray:
    """Normalised discounted cumulative gain with binary gains (Järvelin & Kekäläinen, TOIS 2002)::

        DCG@k  = sum_{j=1..k} hit_j / log2(j + 1)
        nDCG@k = DCG@k / (the DCG@k of a ranking that starts with min(relevant, k) hits)

    0 where a query has no similar question.
    """
    _check_depth(hits, k)
    discounts = 1.0 / np.log2(np.arange(k) + 2)
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(relevant, k)]
    return hits[:, :k] @ discounts / np.where(ideal > 0, ideal, 1.0)


def _check_depth(hits: BoolArray, k: int) -> None:
    if not 1 <= k <= hits.shape[1]:
        raise ValueError(f"k = {k} is outside the ranking's depth {hits.shape[1]}")


def mean_average_precision(queries: IntArray, relevant: BoolArray, scores: npt.NDArray[np.floating]) -> float:
    """Mean over queries of the average precision of their candidates by score (scikit-learn's, tied scores as one).

    Queries whose candidates are all relevant, or none of them, are left out: no order is better than another. 0 where
    no query is left.

    Shape:
        - queries, relevant, scores: ``[candidates]``, those of all queries
    """
    from sklearn.metrics import average_precision_score

    rankings = [(relevant[queries == query], scores[queries == query]) for query in np.unique(queries)]
    values = [average_precision_score(hits, rank) for hits, rank in rankings if hits.any() and not hits.all()]
    return float(np.mean(values)) if values else 0.0


def micro_f1(truth: BoolArray, predicted: BoolArray) -> float:
    """F1 of all (question, class) decisions pooled: ``2 TP / (2 TP + FP + FN)``.

    With exactly one class per question and one prediction, this equals accuracy.
    """
    hit, either = f1_terms(truth, predicted)
    return float(hit.sum() / either.sum()) if either.any() else 0.0


def f1_terms(truth: BoolArray, predicted: BoolArray) -> tuple[IntArray, IntArray]:
    """``2 TP`` and ``2 TP + FP + FN`` of each question, ``[questions]``; micro F1 is the ratio of their sums."""
    hit, wrong = (truth & predicted).sum(axis=1), (truth ^ predicted).sum(axis=1)
    return 2 * hit, 2 * hit + wrong


def macro_f1(truth: BoolArray, predicted: BoolArray) -> float:
    """Mean of the F1 of each class, over the classes that occur in the truth *or* in the predictions.

    A class that is only predicted counts as 0: otherwise guessing rare classes would cost nothing. This is what
    scikit-learn does without labels.
    """
    hit, either = f1_terms(truth.T, predicted.T)
    occurs = either > 0
    return float(np.mean(hit[occurs] / either[occurs])) if occurs.any() else 0.0


def exact_match(truth: BoolArray, predicted: BoolArray) -> float:
    """Accuracy: the share of questions whose whole set of classes is predicted, no more and no fewer."""
    return float((truth == predicted).all(axis=1).mean()) if len(truth) else float("nan")


def degree_of_agreement(truth: FloatArray, predicted: FloatArray) -> float:
    """Share of the pairs with different truths that the predictions order alike (DOA; Huang et al. 2017)::

        sum over i, j of [t_i > t_j] [p_i > p_j]  /  sum over i, j of [t_i > t_j]

    A pair that is predicted to be equal is not ordered alike. In O(n log n), from Kendall's tau and the ties.

    Shape:
        - truth, predicted: ``[n]``; NaN where all truths are equal
    """
    from scipy.stats import kendalltau

    def ties(values: npt.NDArray[Any]) -> int:
        counts = np.unique(values, return_counts=True)[1].astype(np.int64)
        return int((counts * (counts - 1) // 2).sum())

    pairs = len(truth) * (len(truth) - 1) // 2
    ordered, distinct = pairs - ties(truth), pairs - ties(predicted)
    if not ordered:
        return float("nan")
    tau = float(kendalltau(truth, predicted).statistic) if distinct else 0.0
    ranks = [np.unique(values, return_inverse=True)[1] for values in (truth, predicted)]
    ordered_by_both = ordered + distinct - pairs + ties(ranks[0] * len(truth) + ranks[1])
    surplus = tau * np.sqrt(float(ordered) * float(distinct))  # pairs ordered alike less those ordered otherwise
    return (ordered_by_both + round(surplus)) / 2 / ordered


def group_mean(values: FloatArray, groups: Groups) -> float:
    """Mean over groups of the mean within each: a group of a hundred questions weighs as one of six."""
    sums, counts = _group_sums(values, groups), _group_sums(np.ones(len(values)), groups)
    return float(np.mean(sums / counts)) if len(sums) else float("nan")


def bootstrap_interval(values: FloatArray, groups: Groups, *, repeats: int = 2000, seed: int = 0) -> Interval:
    """Percentile bootstrap interval of the mean of ``values``, resampled by group (see ``resampled_ratio``)."""
    return percentiles(resampled_ratio(values, np.ones(len(values)), groups, repeats=repeats, seed=seed))


def resampled_ratio(
    numerators: npt.NDArray[Any], denominators: npt.NDArray[Any], groups: Groups, *, repeats: int = 2000, seed: int = 0
) -> FloatArray:
    """``sum(numerators) / sum(denominators)`` of bootstrap draws by group; same seed and groups, same draws.

    Questions of one group share their similar questions, hence their hits, and are not independent. So whole groups
    are drawn with replacement (the cluster bootstrap; Davison & Hinkley 1997, section 3.8).

    Shape:
        - numerators, denominators, groups: ``[n]``
        - output: ``[repeats]``; empty when all are in one group, or there are none
    """
    sums = resampled_sums(np.stack([numerators, denominators], axis=1), groups, repeats=repeats, seed=seed)
    return sums[:, 0] / np.maximum(sums[:, 1], 1e-12)


def resampled_sums(values: npt.NDArray[Any], groups: Groups, *, repeats: int = 2000, seed: int = 0) -> FloatArray:
    """Column sums ``[repeats, k]`` of draws by group of ``values [n, k]``; ``[0, k]`` for fewer than two groups."""
    by_group = np.stack([_group_sums(column, groups) for column in values.T])
    sums = [by_group[:, drawn].sum(axis=1) for drawn in drawn_groups(by_group.shape[1], repeats, seed)]
    return np.array(sums).reshape(-1, values.shape[1])


def drawn_groups(count: int, repeats: int, seed: int = 0) -> Iterator[IntArray]:
    """Yield bootstrap draws of ``count`` groups, ``[count]``; none for fewer than two, which tell nothing about chance.

    One by one: of 20,000 groups, a matrix of all draws would take 320 MB.
    """
    rng = np.random.default_rng(seed)
    for _ in range(repeats if count > 1 else 0):
        yield rng.integers(count, size=count)


def _group_sums(values: FloatArray, groups: Groups) -> FloatArray:
    if len(values) != len(groups):
        raise ValueError(f"{len(values)} values but {len(groups)} groups")
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    return np.bincount(codes.astype(np.int64), weights=values).astype(np.float64)


def percentiles(draws: FloatArray) -> Interval:
    """The interval that holds the middle 95 % of bootstrap draws; a pair of NaN when there are none."""
    tail = (1 - 0.95) / 2
    return Interval(*np.quantile(draws, [tail, 1 - tail]).tolist()) if len(draws) else Interval(np.nan, np.nan)
