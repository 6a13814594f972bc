"""Scores of a row question by question, kept so that rows can be compared on the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tqnet.evaluation.agreement import AgreementResult
from tqnet.evaluation.difficulty import DifficultyResult, DifficultyScores, resampled_scores
from tqnet.evaluation.metrics import BoolArray, FloatArray
from tqnet.evaluation.probe import LevelResult
from tqnet.evaluation.similar import RankingScores, RecallResult
from tqnet.evaluation.table import StageResult
from tqnet.paraphrase.check import UNLIKE
from tqnet.paraphrase.evaluation import ParaphraseMetrics
from tqnet.solver.evaluation import GoldProblem, SolverScores


@dataclass(frozen=True)
class QueryScores:
    """P@5 of each query.

    Attributes:
        queries: Positions in the measured bank, near-duplicates of training questions left out.
        groups: Cluster of each query, the unit of the bootstrap.
        precision: P@5 of each query, 0 to 1.
    """

    queries: list[int]
    groups: list[int]
    precision: list[float]

    @classmethod
    def of(cls, scores: RankingScores) -> QueryScores:
        return cls(scores.queries.tolist(), scores.groups.tolist(), scores.precision.tolist())


@dataclass(frozen=True)
class RecallTerms:
    """R@n of each query, 0 to 1, with queries and groups as in :class:`QueryScores`."""

    n: int
    queries: list[int]
    groups: list[int]
    recall: list[float]

    @classmethod
    def of(cls, result: RecallResult) -> RecallTerms:
        return cls(result.n, result.queries.tolist(), result.groups.tolist(), np.round(result.recall, 5).tolist())


@dataclass(frozen=True)
class ProbeTerms:
    """Micro F1 of one level as a ratio of sums over the test questions (`tqnet.evaluation.metrics.f1_terms`).

    Attributes:
        level: Level of the hierarchy, 1 is the coarsest.
    """

    level: int
    above: list[int]
    below: list[int]
    groups: list[int]
    accuracy: float
    macro_f1: float

    @classmethod
    def of(cls, level: LevelResult) -> ProbeTerms:
        above, below = level.f1_terms.tolist()
        return cls(level.level, above, below, level.groups.tolist(), level.scores.accuracy, level.scores.macro_f1)

    @property
    def f1(self) -> float:
        return sum(self.above) / max(1, sum(self.below))


@dataclass(frozen=True)
class DifficultyTerms:
    """True and predicted difficulty of each test question."""

    truth: list[float]
    predicted: list[float]
    groups: list[int]

    @classmethod
    def of(cls, result: DifficultyResult) -> DifficultyTerms:
        truth, predicted = (np.round(values, 5).tolist() for values in (result.truth, result.predicted))
        return cls(truth, predicted, result.groups.tolist())

    @property
    def scores(self) -> DifficultyScores:
        """MAE, RMSE, PCC, DOA."""
        return DifficultyScores.measure(np.array(self.truth), np.array(self.predicted))

    @cached_property
    def draws(self) -> dict[str, FloatArray]:
        """Bootstrap draws of the scores: slow, and needed by every difference that the row is part of."""
        return resampled_scores(np.array(self.truth), np.array(self.predicted), np.array(self.groups))


@dataclass(frozen=True)
class AgreementScores:
    """Correlation of similarities with groups and KH-distances, and the mean cosine by rank."""

    spearman: float
    pearson: float
    ranks: dict[str, float]

    @classmethod
    def of(cls, result: AgreementResult) -> AgreementScores:
        return cls(result.spearman, result.pearson, {str(rank.rank): rank.mean for rank in result.ranks})


@dataclass(frozen=True)
class ParaphraseTerms:
    """Labelled pairs with their scores (ParaQD, Table 1).

    Attributes:
        labels: 1 for a valid paraphrase and 0 for an invalid one.
        scores: -1 to 1.
        groups: The original question of each pair, the unit of the bootstrap.
    """

    labels: list[int]
    scores: list[float]
    groups: list[int]

    @classmethod
    def of(cls, metrics: ParaphraseMetrics) -> ParaphraseTerms:
        scores = np.round(metrics.scores, 6).tolist()
        return cls(metrics.valid.astype(int).tolist(), scores, metrics.groups.tolist())

    def checked(self, different: BoolArray) -> ParaphraseTerms:
        """Return a copy with -1 for pairs that the check rejects."""
        return replace(self, scores=np.where(different, UNLIKE, self.scores).tolist())

    @cached_property
    def metrics(self) -> ParaphraseMetrics:
        """All metrics, with the draws of the bootstrap."""
        return ParaphraseMetrics(np.array(self.labels) == 1, np.array(self.scores), np.array(self.groups))


@dataclass(frozen=True)
class SolvedTerms:
    """Test problems with 1 for each that was solved (mwp-cl, Tables 3 to 6).

    Attributes:
        problems: Positions in the bank.
        answers, equations, commutative: As in `tqnet.solver.evaluation.SolverScores`.
        doubles: 1 for a near-duplicate of a training problem.
        languages: Language of each problem; empty where there is only one.
        index: Calinski-Harabasz index of the representations by prototype; None where it is undefined.
        groups: Groups of problems, the unit of the bootstrap.
    """

    problems: list[int]
    answers: list[int]
    equations: list[int]
    commutative: list[int]
    doubles: list[int]
    languages: list[str]
    index: float | None
    groups: list[int]

    @classmethod
    def of(
        cls, scores: SolverScores, problems: Sequence[GoldProblem], leaked: BoolArray, index: float | None
    ) -> SolvedTerms:
        languages = [problem.question.language or "unknown" for problem in problems]
        return cls(
            problems=[problem.place for problem in problems],
            answers=scores.answers.astype(int).tolist(),
            equations=scores.equations.astype(int).tolist(),
            commutative=scores.commutative.astype(int).tolist(),
            doubles=leaked.astype(int).tolist(),
            languages=languages if len(set(languages)) > 1 else [],
            index=None if index is None else round(index, 3),
            groups=scores.groups.tolist(),
        )

    def rows(self, part: str = "") -> list[int]:
        """Return the indices of a part: all, ``clean`` (no near-duplicate in training), or a language."""
        if not part:
            return list(range(len(self.problems)))
        if part == "clean":
            return [row for row, double in enumerate(self.doubles) if not double]
        return [row for row, language in enumerate(self.languages) if language == part]

    def right(self, measure: str, part: str = "") -> list[int]:
        """Return ``answers`` or another measure for the problems of a part."""
        values: list[int] = getattr(self, measure)
        return [values[row] for row in self.rows(part)]


@dataclass(frozen=True)
class RowScores:
    """One row with one seed, or on one fold of a cross-validation.

    Attributes:
        similar: ``overall``, and pair structures by name (TQ-Net, Table 6); those without a query are left out.
        probe: One entry for each level of the hierarchy that can be probed.
        fold: Number of the test fold, from 1; None with the bank's own splits.
        paraphrases: Scores by file, in suites of labelled paraphrases, which measure nothing else.
        solved: Solved problems, in suites of solvers, which measure nothing else.
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
        """Convert the results of all tasks; a task that was not measured has no scores."""
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
    def from_dict(cls, saved: dict[str, Any]) -> RowScores:
        """Invert ``dataclasses.asdict``."""
        return cls(
            similar={name: QueryScores(**scores) for name, scores in saved["similar"].items()},
            probe=[ProbeTerms(**level) for level in saved["probe"]],
            difficulty=DifficultyTerms(**saved["difficulty"]) if saved["difficulty"] else None,
            agreement=AgreementScores(**saved["agreement"]) if saved["agreement"] else None,
            fold=saved["fold"],
            recall=RecallTerms(**saved["recall"]) if saved["recall"] else None,
            paraphrases={name: ParaphraseTerms(**terms) for name, terms in saved["paraphrases"].items()},
            solved=SolvedTerms(**saved["solved"]) if saved["solved"] else None,
        )
