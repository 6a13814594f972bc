"""What a row of a table scores, seed by seed, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tqnet.bench.paraphrases import ParaphraseTerms
from tqnet.bench.solved import SolvedTerms
from tqnet.bench.spread import Gain, Spread
from tqnet.evaluation.agreement import AgreementResult
from tqnet.evaluation.difficulty import DifficultyResult, DifficultyScores, resampled_scores
from tqnet.evaluation.metrics import FloatArray, bootstrap_interval, percentiles, resampled_ratio
from tqnet.evaluation.probe import LevelResult
from tqnet.evaluation.similar import RankingScores, RecallResult
from tqnet.evaluation.table import StageResult


@dataclass(frozen=True)
class QueryScores:
    """P@5 of each query that counts, for comparing rows query by query.

    Attributes:
        queries: Places in the bank that is measured, which has no doubles.
        groups: Of each query, numbers by which the bootstrap draws.
        precision: Of each query, 0 to 1.
    """

    queries: list[int]
    groups: list[int]
    precision: list[float]

    @classmethod
    def of(cls, scores: RankingScores) -> QueryScores:
        """From a search that was measured."""
        return cls(scores.queries.tolist(), scores.groups.tolist(), scores.precision.tolist())


@dataclass(frozen=True)
class RecallTerms:
    """R@n of each query that has a similar question, for comparing rows query by query.

    Attributes:
        queries, groups: As of :class:`QueryScores`.
        recall: Of each query, 0 to 1.
    """

    n: int
    queries: list[int]
    groups: list[int]
    recall: list[float]

    @classmethod
    def of(cls, result: RecallResult) -> RecallTerms:
        """From a search that was measured; rounded, so that a file stays small."""
        return cls(result.n, result.queries.tolist(), result.groups.tolist(), np.round(result.recall, 5).tolist())


@dataclass(frozen=True)
class ProbeTerms:
    """Micro F1 of one level as a ratio of sums over the questions (`tqnet.evaluation.metrics.f1_terms`).

    Attributes:
        level: Of the hierarchy, 1 is the coarsest.
        above, below, groups: Of each question of ``test``.
        accuracy, macro_f1: None where an earlier version did not keep them.
    """

    level: int
    above: list[int]
    below: list[int]
    groups: list[int]
    accuracy: float | None = None
    macro_f1: float | None = None

    @classmethod
    def of(cls, level: LevelResult) -> ProbeTerms:
        """From a probe that was measured."""
        above, below = level.f1_terms.tolist()
        return cls(level.level, above, below, level.groups.tolist(), level.scores.accuracy, level.scores.macro_f1)

    @property
    def f1(self) -> float:
        """Micro F1, 0 to 1."""
        return sum(self.above) / max(1, sum(self.below))


@dataclass(frozen=True)
class DifficultyTerms:
    """Difficulties of the questions of ``test``, as they are and as predicted, for comparing question by question."""

    truth: list[float]
    predicted: list[float]
    groups: list[int]

    @classmethod
    def of(cls, result: DifficultyResult) -> DifficultyTerms:
        """From a regression that was measured; rounded, so that a file stays small."""
        truth, predicted = (np.round(values, 5).tolist() for values in (result.truth, result.predicted))
        return cls(truth, predicted, result.groups.tolist())

    @property
    def scores(self) -> DifficultyScores:
        """MAE, RMSE, PCC, DOA."""
        return DifficultyScores.measure(np.array(self.truth), np.array(self.predicted))

    def draws(self, score: str) -> FloatArray:
        """Of one of them, by the bootstrap."""
        return self._draws[score]

    @cached_property
    def _draws(self) -> dict[str, FloatArray]:
        # Slow, and asked for by every difference that the row is part of.
        return resampled_scores(np.array(self.truth), np.array(self.predicted), np.array(self.groups))


@dataclass(frozen=True)
class AgreementScores:
    """Correlation of similarities with groups and KH-distances, and the mean cosine by rank."""

    spearman: float
    pearson: float
    ranks: dict[str, float]

    @classmethod
    def of(cls, result: AgreementResult) -> AgreementScores:
        """From what was measured."""
        return cls(result.spearman, result.pearson, {str(rank.rank): rank.mean for rank in result.ranks})


@dataclass(frozen=True)
class RowScores:
    """One row with one seed, or on one fold of a cross-validation.

    Attributes:
        similar: ``overall``, and pair structures by name (TQ-Net, Table 6); those without a query are left out.
        probe: Of each level of the hierarchy that can be probed.
        difficulty, agreement, recall: Where the suite asks for them.
        fold: Which part was the test, the first being 1; None where the bank's own splits say it.
        paraphrases: By file, where the suite names any; then there is nothing else.
        solved: Where the suite measures solvers; likewise.
    """

    similar: dict[str, QueryScores]
    probe: list[ProbeTerms]
    difficulty: DifficultyTerms | None = None
    agreement: AgreementScores | None = None
    fold: int | None = None
    recall: RecallTerms | None = None
    paraphrases: dict[str, ParaphraseTerms] = field(default_factory=dict)
    solved: SolvedTerms | None = None

    @classmethod
    def of(cls, result: StageResult, fold: int | None = None) -> RowScores:
        """From all tasks; one that was not measured has no scores."""
        cells = {"overall": result.similar.overall, **result.similar.structures} if result.similar else {}
        return cls(
            similar={name: QueryScores.of(scores) for name, scores in cells.items() if len(scores)},
            probe=[ProbeTerms.of(level) for level in result.probe.levels] if result.probe else [],
            difficulty=DifficultyTerms.of(result.difficulty) if result.difficulty else None,
            agreement=AgreementScores.of(result.agreement) if result.agreement else None,
            fold=fold,
            recall=RecallTerms.of(result.recall) if result.recall else None,
        )

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> RowScores:
        """What ``dataclasses.asdict`` made of one."""
        return cls(
            similar={name: QueryScores(**scores) for name, scores in kept["similar"].items()},
            probe=[ProbeTerms(**level) for level in kept["probe"]],
            difficulty=DifficultyTerms(**kept["difficulty"]) if kept.get("difficulty") else None,
            agreement=AgreementScores(**kept["agreement"]) if kept.get("agreement") else None,
            fold=kept.get("fold"),
            recall=RecallTerms(**kept["recall"]) if kept.get("recall") else None,
            paraphrases={name: ParaphraseTerms(**terms) for name, terms in kept.get("paraphrases", {}).items()},
            solved=SolvedTerms(**kept["solved"]) if kept.get("solved") else None,
        )


def precision(row: Sequence[RowScores], cell: str = "overall") -> Spread | None:
    """P@5 of a row."""
    return Spread.of([float(np.mean(scores.similar[cell].precision)) for scores in row if cell in scores.similar])


def recall(row: Sequence[RowScores]) -> Spread | None:
    """R@n of a row."""
    return Spread.of([float(np.mean(scores.recall.recall)) for scores in row if scores.recall])


def f1(row: Sequence[RowScores], level: int) -> Spread | None:
    """Probe F1 of a row."""
    return Spread.of([terms.f1 for terms in _terms(row, level)])


def concepts(row: Sequence[RowScores], level: int, score: str) -> Spread | None:
    """``accuracy`` or ``macro_f1`` of a row at a level."""
    return Spread.of([value for terms in _terms(row, level) if (value := getattr(terms, score)) is not None])


def _terms(row: Sequence[RowScores], level: int) -> list[ProbeTerms]:
    return [terms for scores in row for terms in scores.probe if terms.level == level]


def precision_gain(first: Sequence[RowScores], second: Sequence[RowScores], cell: str = "overall") -> Gain | None:
    """How much P@5 of the second row is above the first's, resampled by group.

    Queries are compared one by one, each by its mean over seeds. None where one was not measured, or on others.
    """
    rows = [
        [(scores.fold, of.queries, of.groups, of.precision) for scores in row if (of := scores.similar.get(cell))]
        for row in (first, second)
    ]
    return _query_gain(*rows)


def recall_gain(first: Sequence[RowScores], second: Sequence[RowScores]) -> Gain | None:
    """How much R@n of the second row is above the first's, as :func:`precision_gain`."""
    rows = [
        [(scores.fold, of.queries, of.groups, of.recall) for scores in row if (of := scores.recall)]
        for row in (first, second)
    ]
    return _query_gain(*rows)


#: Fold, queries, groups, and the score of each query.
_Asked = tuple[int | None, list[int], list[int], list[float]]


def _query_gain(first: Sequence[_Asked], second: Sequence[_Asked]) -> Gain | None:
    asked = [{fold: queries for fold, queries, _, _ in row} for row in (first, second)]
    if not all(asked) or asked[0] != asked[1]:
        return None
    low, high = (_by_fold([(fold, values) for fold, _, _, values in row], np.mean) for row in (first, second))
    by_fold = [after - before for before, after in zip(low, high, strict=True)]
    interval = bootstrap_interval(np.concatenate(by_fold), _groups([(fold, groups) for fold, _, groups, _ in first]))
    return float(np.mean([difference.mean() for difference in by_fold])), interval


def solved_gain(first: Sequence[RowScores], second: Sequence[RowScores], measure: str, part: str = "") -> Gain | None:
    """How many more problems of a part (`SolvedTerms.rows`) the second row has right, as a share, resampled by group.

    Problems are compared one by one, each by its mean over seeds. None where one was not measured, or on others.
    """

    def asked(row: Sequence[RowScores]) -> list[_Asked]:
        terms = [(scores.fold, of, of.rows(part)) for scores in row if (of := scores.solved)]
        return [
            (
                fold,
                [of.problems[at] for at in rows],
                of.groups_of(rows),
                [float(right) for right in of.right(measure, part)],
            )
            for fold, of, rows in terms
            if rows
        ]

    return _query_gain(asked(first), asked(second))


def f1_gain(first: Sequence[RowScores], second: Sequence[RowScores], level: int) -> Gain | None:
    """How much probe F1 of the second row is above the first's, resampled by group.

    The difference is that of the means over seeds. For the interval, both rows answer the same questions of each draw,
    the answers of all seeds pooled. None where one has no probe of that level, or on other questions.
    """
    rows = [[(s.fold, terms) for s in row for terms in _terms([s], level)] for row in (first, second)]
    asked = [{fold: terms.groups for fold, terms in row} for row in rows]
    if not all(rows) or asked[0] != asked[1]:
        return None
    groups = _groups([(fold, terms.groups) for fold, terms in rows[0]])
    draws = [
        resampled_ratio(
            np.concatenate(_by_fold([(fold, terms.above) for fold, terms in row], np.sum)),
            np.concatenate(_by_fold([(fold, terms.below) for fold, terms in row], np.sum)),
            groups,
        )
        for row in rows
    ]
    means = [np.mean([terms.f1 for _, terms in row]) for row in rows]
    return float(means[1] - means[0]), percentiles(draws[1] - draws[0])


def _by_fold(values: Sequence[tuple[int | None, Sequence[float]]], over: Callable[..., Any]) -> list[FloatArray]:
    """Of each fold, or of the whole, the mean or the sum over its seeds, question by question."""
    folds = dict.fromkeys(fold for fold, _ in values)
    return [over([of for other, of in values if other == fold], axis=0) for fold in folds]


def _groups(groups: Sequence[tuple[int | None, Sequence[int]]]) -> list[int]:
    """Of all folds together, numbered so that two folds have none in common."""
    numbered: list[int] = []
    for of in dict(groups).values():
        first = max(numbered, default=-1) + 1
        numbered += [first + group for group in of]
    return numbered


def difficulty(row: Sequence[RowScores], score: str) -> Spread | None:
    """MAE, RMSE, PCC or DOA of a row."""
    return Spread.of([getattr(scores.difficulty.scores, score) for scores in row if scores.difficulty])


def difficulty_gain(first: Sequence[RowScores], second: Sequence[RowScores], score: str) -> Gain | None:
    """How much a score of the second row is above the first's, resampled by group; means over seeds.

    None where one was not measured, or on other questions.
    """
    asked = [{scores.fold: scores.difficulty.truth for scores in row if scores.difficulty} for row in (first, second)]
    if not all(asked) or asked[0] != asked[1]:
        return None
    rows = [[scores.difficulty for scores in row if scores.difficulty] for row in (first, second)]
    means = [np.mean([getattr(terms.scores, score) for terms in row]) for row in rows]
    draws = [np.mean([terms.draws(score) for terms in row], axis=0) for row in rows]
    return float(means[1] - means[0]), percentiles(draws[1] - draws[0])
