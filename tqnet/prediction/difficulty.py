"""The head for difficulty: a ridge regression with intervals of guaranteed coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tqnet.evaluation.metrics import FloatArray
from tqnet.prediction.features import Features, Vectors, joined

#: Penalties to choose from, by cross-validation by group within ``train``.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

#: Folds of that cross-validation. ``valid`` is left for the intervals.
_FOLDS = 4


class Estimates(NamedTuple):
    """Difficulties ``[questions]`` and the ends of their intervals, in the bank's unit.

    The ends are infinite if ``valid`` has too few groups for the coverage.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class DifficultyHead:
    """Predicts difficulty from vectors and words, with an interval by split-conformal prediction.

    The interval is the prediction plus and minus an error that the given share of ``valid`` does not exceed (Lei et al.
    2018, "Distribution-free predictive inference for regression", Algorithm 2), with each group weighted as one (Dunn,
    Wasserman and Ramdas 2023, "Distribution-free prediction sets for two-layer hierarchical models", pooled
    distribution functions). It holds for a question of a new group drawn like those of ``valid``, however poor the
    regression, and may extend beyond the difficulties of ``train``.

    Attributes:
        coef, intercept: Of the regression, ``[features]`` and a number.
        errors: Absolute errors on ``valid``, ascending.
        shares: Of each error, 1 by the size of its question's group; they sum to the number of groups.
        lowest, highest: Difficulties of ``train``, which bound the estimates.
    """

    features: Features
    coef: npt.NDArray[np.float32]
    intercept: float
    errors: npt.NDArray[np.float32]
    shares: npt.NDArray[np.float32]
    lowest: float
    highest: float
    penalty: float

    def predict(self, vectors: Vectors, texts: Sequence[str], coverage: float = 0.9) -> Estimates:
        """Return difficulties with intervals that hold for the share ``coverage`` of questions.

        Raises:
            ValueError: Vectors of another width, or a coverage outside (0, 1).
        """
        reach = self.reach(coverage)
        value = joined(self.features.parts(vectors, texts)) @ self.coef.astype(np.float64) + self.intercept
        value = np.clip(value, self.lowest, self.highest)
        return Estimates(value, value - reach, value + reach)

    def reach(self, coverage: float) -> float:
        """Return half the width of an interval: the least error with cumulated shares of ``(groups + 1) coverage``.

        Infinite if ``valid`` has too few groups.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage: {coverage:g} is not between 0 and 1")
        reached = np.cumsum(self.shares, dtype=np.float64)
        groups = round(float(self.shares.sum(dtype=np.float64)))
        place = int(np.searchsorted(reached, (groups + 1) * coverage - 1e-4))  # shares are float32
        return float(self.errors[place]) if place < len(self.errors) else math.inf

    def why_no_interval(self, coverage: float) -> str:
        """Return the reason if :meth:`reach` is infinite, else an empty string."""
        if math.isfinite(self.reach(coverage)):
            return ""
        groups = round(float(self.shares.sum(dtype=np.float64)))
        return (
            f"difficulty: no interval for {100 * coverage:g} %: {groups} groups of valid are enough for "
            f"{math.floor(100 * groups / (groups + 1))} % at most"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for JSON; :meth:`tensors` has the arrays."""
        numbers = {name: getattr(self, name) for name in ("intercept", "lowest", "highest", "penalty")}
        return numbers | {"vocabulary": self.features.vocabulary}

    def tensors(self) -> dict[str, Any]:
        """Return the arrays."""
        return self.features.tensors() | {"coef": self.coef, "errors": self.errors, "shares": self.shares}

    @classmethod
    def load(cls, facts: dict[str, Any], tensors: dict[str, Any]) -> DifficultyHead:
        """Load what :meth:`to_dict` and :meth:`tensors` returned; KeyError if something is missing."""
        numbers = {name: facts[name] for name in ("intercept", "lowest", "highest", "penalty")}
        features = Features.load(tensors, facts["vocabulary"])
        errors = tensors["errors"]
        shares = tensors.get("shares", np.ones_like(errors))  # early heads took each question for a group
        return cls(features=features, coef=tensors["coef"], errors=errors, shares=shares, **numbers)


@dataclass(frozen=True)
class RatedQuestions:
    """Questions with a difficulty.

    Attributes:
        vectors: ``[questions, width]``.
        texts: ``question.content``.
        units: Groups; questions of a group are not independent.
        difficulty: ``[questions]``.
    """

    vectors: Vectors
    texts: Sequence[str]
    units: Sequence[str]
    difficulty: FloatArray


def fit_difficulty_head(
    train: RatedQuestions, valid: RatedQuestions, *, use_vectors: bool = True, use_words: bool = True
) -> DifficultyHead:
    """Fit to ``train``, with a penalty by cross-validation there, and errors on ``valid``.

    Raises:
        ValueError: Fewer than two difficulties in ``train``, or no question in ``valid``.
    """
    if len(np.unique(train.difficulty)) < 2:
        raise ValueError("train has no questions of different difficulty")
    if not len(valid.difficulty):
        raise ValueError("no question of valid has a difficulty")
    features = Features.fit(train.vectors if use_vectors else None, train.texts if use_words else None)
    inputs = joined(features.parts(train.vectors, train.texts))
    penalty = _best_penalty(inputs, train.difficulty, train.units)
    model = _ridge(penalty).fit(inputs, train.difficulty)
    fitted = DifficultyHead(
        features=features,
        coef=model.coef_.astype(np.float32),
        intercept=float(model.intercept_),
        errors=np.empty(0, dtype=np.float32),
        shares=np.empty(0, dtype=np.float32),
        lowest=float(train.difficulty.min()),
        highest=float(train.difficulty.max()),
        penalty=penalty,
    )
    errors = np.abs(fitted.predict(valid.vectors, valid.texts, 0.5).value - valid.difficulty).astype(np.float32)
    _, units, sizes = np.unique(np.asarray(valid.units), return_inverse=True, return_counts=True)
    shares, order = (1 / sizes[units]).astype(np.float32), np.argsort(errors, kind="stable")
    return replace(fitted, errors=errors[order], shares=shares[order])


def _best_penalty(features: csr_array, difficulty: FloatArray, units: Sequence[str]) -> float:
    from sklearn.model_selection import GroupKFold

    folds = min(_FOLDS, len(set(units)))
    if folds < 2:
        return PENALTIES[len(PENALTIES) // 2]
    parts = list(GroupKFold(folds).split(features, groups=np.asarray(units)))

    def error(penalty: float) -> float:
        errors = [
            _ridge(penalty).fit(features[rows], difficulty[rows]).predict(features[rest]) - difficulty[rest]
            for rows, rest in parts
        ]
        return float(np.mean(np.concatenate(errors) ** 2))

    return min(PENALTIES, key=error)


def _ridge(penalty: float) -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=penalty, solver="sparse_cg", tol=1e-4)
