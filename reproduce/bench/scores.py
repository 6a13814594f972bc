"""Scores of a row over its seeds, and gains of one row over another with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from reproduce.bench.terms import ParaphraseTerms, ProbeTerms, RowScores, SolvedTerms
from tqnet.evaluation.metrics import FloatArray, Interval, bootstrap_interval, percentiles, resampled_ratio

#: How much one row is above another, and the 95 % interval of that.
Gain = tuple[float, Interval]

Terms = TypeVar("Terms")


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, and their standard deviation (0 for one seed)."""

    mean: float
    deviation: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """Return None where there are no values."""
        values = list(values)
        if not values:
            return None
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0, len(values))


def precision(row: Sequence[RowScores], cell: str = "overall") -> Spread | None:
    """P@5 of a row."""
    return Spread.of(float(np.mean(scores.similar[cell].precision)) for scores in row if cell in scores.similar)


def recall(row: Sequence[RowScores]) -> Spread | None:
    """R@n of a row."""
    return Spread.of(float(np.mean(scores.recall.recall)) for scores in row if scores.recall)


def concepts(row: Sequence[RowScores], level: int, score: str = "f1") -> Spread | None:
    """``f1``, ``accuracy`` or ``macro_f1`` of a row's probe at a level."""
    return Spread.of(getattr(terms, score) for terms in _probes(row, level))


def difficulty(row: Sequence[RowScores], score: str) -> Spread | None:
    """``mae``, ``rmse``, ``pcc`` or ``doa`` of a row."""
    return Spread.of(getattr(scores.difficulty.scores, score) for scores in row if scores.difficulty)


def paraphrase_spread(row: Sequence[ParaphraseTerms], metric: str) -> Spread | None:
    """One of `tqnet.paraphrase.evaluation.METRICS` over the seeds of a row."""
    return Spread.of(terms.metrics.values[metric] for terms in row)


def solved_spread(row: Sequence[SolvedTerms], measure: str, part: str = "") -> Spread | None:
    """The share of a part's problems that is solved."""
    return Spread.of(float(np.mean(right)) for terms in row if (right := terms.right(measure, part)))


def index_spread(row: Sequence[SolvedTerms]) -> Spread | None:
    """The Calinski-Harabasz index of a row."""
    return Spread.of(terms.index for terms in row if terms.index is not None)


def _probes(row: Sequence[RowScores], level: int) -> list[ProbeTerms]:
    return [terms for scores in row for terms in scores.probe if terms.level == level]


# Gains of the second row over the first, resampled by group. All of them are None where one row was not measured, or
# was measured on other questions.

#: Fold, queries, groups, and the score of each query.
_Queries = tuple[int | None, list[int], list[int], list[float]]


def precision_gain(first: Sequence[RowScores], second: Sequence[RowScores], cell: str = "overall") -> Gain | None:
    """Gain in P@5, query by query, each by its mean over seeds."""

    def queries(row: Sequence[RowScores]) -> list[_Queries]:
        return [(s.fold, t.queries, t.groups, t.precision) for s in row if (t := s.similar.get(cell))]

    return _query_gain(queries(first), queries(second))


def recall_gain(first: Sequence[RowScores], second: Sequence[RowScores]) -> Gain | None:
    """Gain in R@n, as :func:`precision_gain`."""

    def queries(row: Sequence[RowScores]) -> list[_Queries]:
        return [(s.fold, t.queries, t.groups, t.recall) for s in row if (t := s.recall)]

    return _query_gain(queries(first), queries(second))


def solved_gain(first: Sequence[RowScores], second: Sequence[RowScores], measure: str, part: str = "") -> Gain | None:
    """Gain in the share of a part's problems (`SolvedTerms.rows`) that is solved, problem by problem."""

    def problems(row: Sequence[RowScores]) -> list[_Queries]:
        terms = [(s.fold, t, t.rows(part)) for s in row if (t := s.solved)]
        return [
            (
                fold,
                [t.problems[at] for at in rows],
                [t.groups[at] for at in rows],
                [*map(float, t.right(measure, part))],
            )
            for fold, t, rows in terms
            if rows
        ]

    return _query_gain(problems(first), problems(second))


def _query_gain(first: Sequence[_Queries], second: Sequence[_Queries]) -> Gain | None:
    queries = [{fold: places for fold, places, _, _ in row} for row in (first, second)]
    if not all(queries) or queries[0] != queries[1]:
        return None
    low, high = (_by_fold([(fold, values) for fold, _, _, values in row], np.mean) for row in (first, second))
    by_fold = [after - before for before, after in zip(low, high, strict=True)]
    interval = bootstrap_interval(np.concatenate(by_fold), _groups([(fold, groups) for fold, _, groups, _ in first]))
    return float(np.mean([difference.mean() for difference in by_fold])), interval


def f1_gain(first: Sequence[RowScores], second: Sequence[RowScores], level: int) -> Gain | None:
    """Gain in probe F1: the difference of the means over seeds.

    For the interval, both rows answer the same questions of each draw, the answers of all seeds pooled.
    """
    rows = [[(s.fold, terms) for s in row for terms in _probes([s], level)] for row in (first, second)]
    questions = [{fold: terms.groups for fold, terms in row} for row in rows]
    if not all(rows) or questions[0] != questions[1]:
        return None
    groups = _groups([(fold, terms.groups) for fold, terms in rows[0]])
    draws = []
    for row in rows:
        above, below = (
            np.concatenate(_by_fold([(fold, getattr(terms, term)) for fold, terms in row], np.sum))
            for term in ("above", "below")
        )
        draws.append(resampled_ratio(above, below, groups))
    means = [np.mean([terms.f1 for _, terms in row]) for row in rows]
    return float(means[1] - means[0]), percentiles(draws[1] - draws[0])


def difficulty_gain(first: Sequence[RowScores], second: Sequence[RowScores], score: str) -> Gain | None:
    """Gain in a score of difficulty; means over seeds."""
    truths = [{s.fold: s.difficulty.truth for s in row if s.difficulty} for row in (first, second)]
    if not all(truths) or truths[0] != truths[1]:
        return None
    rows = [[s.difficulty for s in row if s.difficulty] for row in (first, second)]
    return _mean_gain(rows, lambda terms: getattr(terms.scores, score), lambda terms: terms.draws[score])


def paraphrase_gain(first: Sequence[ParaphraseTerms], second: Sequence[ParaphraseTerms], metric: str) -> Gain | None:
    """Gain in a metric of labelled paraphrases, resampled by original, both rows on the same draws."""
    pairs = [{(tuple(terms.labels), tuple(terms.groups)) for terms in row} for row in (first, second)]
    if pairs[0] != pairs[1] or len(pairs[0]) != 1:
        return None
    rows = [first, second]
    return _mean_gain(rows, lambda terms: terms.metrics.values[metric], lambda terms: terms.metrics.draws[metric])


def _mean_gain(
    rows: Sequence[Sequence[Terms]], value: Callable[[Terms], float], draws: Callable[[Terms], FloatArray]
) -> Gain:
    """The difference of the means over seeds, and of their draws."""
    means = [np.mean([value(terms) for terms in row]) for row in rows]
    low, high = (np.mean([draws(terms) for terms in row], axis=0) for row in rows)
    return float(means[1] - means[0]), percentiles(high - low)


def _by_fold(values: Sequence[tuple[int | None, Sequence[float]]], reduce: Callable[..., Any]) -> list[FloatArray]:
    """Reduce over the seeds of each fold, question by question."""
    folds = dict.fromkeys(fold for fold, _ in values)
    return [reduce([scores for other, scores in values if other == fold], axis=0) for fold in folds]


def _groups(groups: Sequence[tuple[int | None, Sequence[int]]]) -> list[int]:
    """Number the groups of all folds so that no two folds share one."""
    numbered: list[int] = []
    for fold_groups in dict(groups).values():
        first = max(numbered, default=-1) + 1
        numbered += [first + group for group in fold_groups]
    return numbered
