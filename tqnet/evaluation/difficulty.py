"""Difficulty estimation: a linear regression on frozen vectors (QuesCo, "Difficulty Estimation")."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.linear_probe import feature_statistics, standardise
from tqnet.evaluation.metrics import (
    FloatArray,
    IntArray,
    Interval,
    check_vectors,
    degree_of_agreement,
    drawn_groups,
    percentiles,
)
from tqnet.evaluation.probe import labelled_rows, probe_splits
from tqnet.questions.splits import has_splits, question_units

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank

#: Strengths of the penalty on the weights; the one with the smallest error on ``valid`` is taken.
PENALTIES = tuple(10.0**power for power in range(-1, 6))

#: Draws of the bootstrap; each sorts the test questions.
REPEATS = 1000


@dataclass(frozen=True)
class DifficultyScores:
    """Scores on ``test``: mean absolute and root mean square error, Pearson correlation, degree of agreement."""

    mae: float
    rmse: float
    pcc: float
    doa: float

    @classmethod
    def measure(cls, truth: FloatArray, predicted: FloatArray) -> DifficultyScores:
        """Score ``[n]`` predictions; PCC is 0 where either is constant."""
        error = predicted - truth
        varies = np.ptp(predicted) > 0 and np.ptp(truth) > 0
        return cls(
            mae=float(np.abs(error).mean()),
            rmse=float(np.sqrt((error**2).mean())),
            pcc=float(np.corrcoef(truth, predicted)[0, 1]) if varies else 0.0,
            doa=degree_of_agreement(truth, predicted),
        )


@dataclass(frozen=True)
class DifficultyResult:
    """Outcome of ``evaluate_difficulty``; difficulties are scaled so that those of ``train`` span 0 to 1.

    Attributes:
        scores, mean: Scores of the regression, and of always predicting the mean of ``train``.
        intervals: 95 % bootstrap intervals of the scores, resampled by group.
        train, valid, test: Questions with a difficulty.
        penalty: The chosen strength.
        truth, predicted, groups: Per question of ``test``, for comparing models question by question.
        drawn: The seed with which the splits were drawn by group, ``None`` if they are the bank's own.
    """

    scores: DifficultyScores
    mean: DifficultyScores
    intervals: dict[str, Interval]
    train: int
    valid: int
    test: int
    penalty: float
    truth: FloatArray
    predicted: FloatArray
    groups: IntArray
    drawn: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        plain = {name: getattr(self, name) for name in ("train", "valid", "test", "penalty", "drawn")}
        intervals = {name: interval.to_json() for name, interval in self.intervals.items()}
        return plain | {"scores": asdict(self.scores), "mean": asdict(self.mean), "intervals": intervals}


def _labelled_splits(bank: QuestionBank, seed: int) -> dict[str, IntArray]:
    known = np.array([difficulty is not None for difficulty in bank.column("difficulty")], dtype=bool)
    return labelled_rows(probe_splits(bank, seed), known)


def has_difficulties(bank: QuestionBank, seed: int = 0) -> bool:
    """Return True if a regression can be fitted and measured: different difficulties in ``train``, and in ``test``."""
    difficulty = bank.column("difficulty")
    parts = _labelled_splits(bank, seed)
    return all(len({difficulty[i] for i in parts[name]}) > 1 for name in ("train", "test"))


def evaluate_difficulty(vectors: npt.NDArray[np.floating], bank: QuestionBank, seed: int = 0) -> DifficultyResult:
    """Fit a ridge regression on ``train``, choose its penalty on ``valid``, score on ``test``.

    Without a ``valid``, the penalty is chosen by leave-one-out on ``train``. Splits are those of ``probe_splits``.

    Args:
        vectors: ``[questions, width]``, frozen.

    Raises:
        ValueError: Not one finite vector per question, or ``train`` or ``test`` has only one difficulty.
    """
    check_vectors(vectors, len(bank))
    parts = _labelled_splits(bank, seed)
    column = bank.column("difficulty")
    known = {name: np.array([column[i] for i in part], dtype=np.float64) for name, part in parts.items()}
    if any(len(np.unique(known[name])) < 2 for name in ("train", "test")):
        raise ValueError("train and test need questions of different difficulty")
    low, high = known["train"].min(), known["train"].max()
    truth = {name: (values - low) / (high - low) for name, values in known.items()}
    statistics = feature_statistics(vectors[parts["train"]])
    features = {name: standardise(vectors[part], *statistics) for name, part in parts.items()}

    penalty, model = _fit(features, truth)
    predicted = model.predict(features["test"]).astype(np.float64)
    groups = np.unique(question_units(bank), return_inverse=True)[1][parts["test"]]
    draws = resampled_scores(truth["test"], predicted, groups)
    return DifficultyResult(
        scores=DifficultyScores.measure(truth["test"], predicted),
        mean=DifficultyScores.measure(truth["test"], np.full(len(predicted), truth["train"].mean())),
        intervals={name: percentiles(values) for name, values in draws.items()},
        train=len(parts["train"]),
        valid=len(parts["valid"]),
        test=len(parts["test"]),
        penalty=penalty,
        truth=truth["test"],
        predicted=predicted,
        groups=groups,
        drawn=None if has_splits(bank) else seed,
    )


def _fit(features: dict[str, Any], truth: dict[str, FloatArray]) -> tuple[float, Any]:
    """Return the best penalty, and the regression with it."""
    from sklearn.linear_model import Ridge, RidgeCV

    if not len(truth["valid"]):
        chosen = RidgeCV(alphas=PENALTIES).fit(features["train"], truth["train"])
        return float(chosen.alpha_), chosen
    fitted = [Ridge(alpha=penalty).fit(features["train"], truth["train"]) for penalty in PENALTIES]
    errors = [float(((model.predict(features["valid"]) - truth["valid"]) ** 2).mean()) for model in fitted]
    best = int(np.argmin(errors))
    return PENALTIES[best], fitted[best]


def resampled_scores(truth: FloatArray, predicted: FloatArray, groups: IntArray) -> dict[str, FloatArray]:
    """Return score -> ``[draws]`` for bootstrap draws of whole groups; the same groups give the same draws.

    Draws of one difficulty alone, which have no degree of agreement, are skipped.
    """
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    draws = []
    for drawn in drawn_groups(len(members), REPEATS):
        rows = np.concatenate([members[group] for group in drawn])
        if np.ptp(truth[rows]):
            draws.append(asdict(DifficultyScores.measure(truth[rows], predicted[rows])))
    return {score.name: np.array([draw[score.name] for draw in draws]) for score in fields(DifficultyScores)}
