"""The difficulty head: ridge regression with intervals of guaranteed coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tqnet.evaluation.metrics import FloatArray
from tqnet.prediction.features import Examples, Features, Vectors, joined

#: Penalties to choose from, by cross-validation by group within ``train``. ``valid`` is left for the intervals.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
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
    distribution functions). It is valid for questions of new groups drawn like those of ``valid``, however poor the
    regression, and may extend beyond the difficulties of ``train``.

    Attributes:
        coef, intercept: Regression parameters, ``[features]`` and a number.
        errors: Absolute errors on ``valid``, ascending.
        shares: Weight of each error, 1 / size of its group; they sum to the number of groups.
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

    @property
    def groups(self) -> int:
        """Number of groups of ``valid``."""
        return round(float(self.shares.sum(dtype=np.float64)))

    def reach(self, coverage: float) -> float:
        """Return half the width of an interval: the smallest error whose cumulative share is ``(groups + 1) coverage``.

        Infinite if ``valid`` has too few groups.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage: {coverage:g} is not between 0 and 1")
        reached = np.cumsum(self.shares, dtype=np.float64)
        place = int(np.searchsorted(reached, (self.groups + 1) * coverage - 1e-4))  # shares are float32
        return float(self.errors[place]) if place < len(self.errors) else math.inf

    def why_no_interval(self, coverage: float) -> str:
        """Return the reason if :meth:`reach` is infinite, else an empty string."""
        if math.isfinite(self.reach(coverage)):
            return ""
        most = math.floor(100 * self.groups / (self.groups + 1))
        enough = f"{self.groups} groups of valid are enough for {most} % at most"
        return f"difficulty: no interval for {100 * coverage:g} %: {enough}"

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return facts for JSON and arrays, for :meth:`load`."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        arrays = {"coef": self.coef, "errors": self.errors, "shares": self.shares}
        return numbers | {"vocabulary": list(self.features.words)}, self.features.tensors() | arrays

    @classmethod
    def load(cls, facts: dict[str, Any], tensors: dict[str, Any]) -> DifficultyHead:
        """Restore the head from its state; KeyError if something is missing."""
        errors = tensors["errors"]
        return cls(
            features=Features.load(facts["vocabulary"], tensors),
            coef=tensors["coef"],
            errors=errors,
            shares=tensors.get("shares", np.ones_like(errors)),  # early heads took each question for a group
            **{name: facts[name] for name in _NUMBERS},
        )


_NUMBERS = ("intercept", "lowest", "highest", "penalty")


def fit_difficulty_head(train: Examples, valid: Examples, *, words_only: bool = False) -> DifficultyHead:
    """Fit to ``train``, with a penalty by cross-validation there, and errors on ``valid``.

    Raises:
        ValueError: Fewer than two difficulties in ``train``, or no question in ``valid``.
    """
    difficulty, held_out = (np.asarray(side.labels, dtype=np.float64) for side in (train, valid))
    if len(np.unique(difficulty)) < 2:
        raise ValueError("train has no questions of different difficulty")
    if not len(held_out):
        raise ValueError("no question of valid has a difficulty")
    features = Features.fit(train.texts, None if words_only else train.vectors)
    inputs = joined(features.parts(train.vectors, train.texts))
    penalty = _best_penalty(inputs, difficulty, train.groups)
    model = _ridge(penalty).fit(inputs, difficulty)
    fitted = DifficultyHead(
        features=features,
        coef=model.coef_.astype(np.float32),
        intercept=float(model.intercept_),
        errors=np.empty(0, dtype=np.float32),
        shares=np.empty(0, dtype=np.float32),
        lowest=float(difficulty.min()),
        highest=float(difficulty.max()),
        penalty=penalty,
    )
    errors = np.abs(fitted.predict(valid.vectors, valid.texts, 0.5).value - held_out).astype(np.float32)
    _, groups, sizes = np.unique(np.asarray(valid.groups), return_inverse=True, return_counts=True)
    shares, order = (1 / sizes[groups]).astype(np.float32), np.argsort(errors, kind="stable")
    return replace(fitted, errors=errors[order], shares=shares[order])


def _best_penalty(features: csr_array, difficulty: FloatArray, groups: Sequence[str]) -> float:
    from sklearn.model_selection import GroupKFold

    folds = min(_FOLDS, len(set(groups)))
    if folds < 2:
        return PENALTIES[len(PENALTIES) // 2]
    parts = list(GroupKFold(folds).split(features, groups=np.asarray(groups)))

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
