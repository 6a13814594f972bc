"""The head for difficulty: a ridge regression with an interval that holds as often as it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tqnet.evaluation.metrics import FloatArray
from tqnet.prediction.features import Features, Vectors, joined

#: Strengths of the penalty, of which the one is taken that errs least in cross-validation by group within ``train``.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

#: Folds of that cross-validation. ``valid`` takes no part: it is for the interval alone.
_FOLDS = 4


class Estimates(NamedTuple):
    """Difficulties ``[questions]`` and the ends of their intervals, in the bank's own unit."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class DifficultyHead:
    """Predicts difficulty from vectors and words, with an interval by split-conformal prediction.

    The interval is the prediction plus and minus an error that the given share of ``valid`` keeps to (Lei et al. 2018,
    "Distribution-free predictive inference for regression", Algorithm 2), cut to the difficulties seen in training. It
    holds for questions drawn like those of ``valid``, whatever the regression is worth: a poor one has wide intervals.

    Attributes:
        coef, intercept: Of the regression, ``[features]`` and a number.
        errors: Absolute errors on ``valid``, ascending.
        lowest, highest: Difficulties of ``train``.
        penalty: That was chosen.
    """

    features: Features
    coef: npt.NDArray[np.float32]
    intercept: float
    errors: npt.NDArray[np.float32]
    lowest: float
    highest: float
    penalty: float

    def predict(self, vectors: Vectors, texts: Sequence[str], coverage: float = 0.9) -> Estimates:
        """Difficulties with intervals that hold for the share ``coverage`` of questions.

        Raises:
            ValueError: Vectors of another width, or a coverage outside of (0, 1).
        """
        reach = self.reach(coverage)
        value = joined(self.features.parts(vectors, texts)) @ self.coef.astype(np.float64) + self.intercept
        value = np.clip(value, self.lowest, self.highest)
        return Estimates(value, np.maximum(value - reach, self.lowest), np.minimum(value + reach, self.highest))

    def reach(self, coverage: float) -> float:
        """Half the width of an interval before it is cut: the ``ceil((n + 1) coverage)``-th error.

        Infinite where ``valid`` is too small to tell.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage: {coverage:g} is not between 0 and 1")
        place = math.ceil((len(self.errors) + 1) * coverage - 1e-9)
        return float(self.errors[place - 1]) if place <= len(self.errors) else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Facts for JSON; :meth:`tensors` has the rest."""
        numbers = {name: getattr(self, name) for name in ("intercept", "lowest", "highest", "penalty")}
        return numbers | {"vocabulary": self.features.vocabulary}

    def tensors(self) -> dict[str, Any]:
        """What is large."""
        return self.features.tensors() | {"coef": self.coef, "errors": self.errors}

    @classmethod
    def load(cls, facts: dict[str, Any], tensors: dict[str, Any]) -> DifficultyHead:
        """From what :meth:`to_dict` and :meth:`tensors` gave.

        Raises:
            KeyError: Something is not there.
        """
        own = {name: facts[name] for name in ("intercept", "lowest", "highest", "penalty")}
        features = Features.load(tensors, facts["vocabulary"])
        return cls(features=features, coef=tensors["coef"], errors=tensors["errors"], **own)


@dataclass(frozen=True)
class RatedQuestions:
    """Questions with a difficulty.

    Attributes:
        vectors: ``[questions, width]``.
        texts, units: Of each question; questions of one unit (its group) are not independent.
        difficulty: ``[questions]``.
    """

    vectors: Vectors
    texts: Sequence[str]
    units: Sequence[str]
    difficulty: FloatArray


def fit_difficulty_head(
    train: RatedQuestions, valid: RatedQuestions, *, use_vectors: bool = True, use_words: bool = True
) -> DifficultyHead:
    """Fit to ``train``, its penalty by cross-validation there; errors are those on ``valid``.

    Raises:
        ValueError: Fewer than two difficulties in ``train``, or no question in ``valid``.
    """
    if len(np.unique(train.difficulty)) < 2:
        raise ValueError("train has no questions of different difficulty")
    if not len(valid.difficulty):
        raise ValueError("no question of valid has a difficulty")
    features = Features.fit(train.vectors if use_vectors else None, train.texts if use_words else None)
    read = joined(features.parts(train.vectors, train.texts))
    penalty = _best_penalty(read, train.difficulty, train.units)
    model = _ridge(penalty).fit(read, train.difficulty)
    fitted = DifficultyHead(
        features=features,
        coef=model.coef_.astype(np.float32),
        intercept=float(model.intercept_),
        errors=np.empty(0, dtype=np.float32),
        lowest=float(train.difficulty.min()),
        highest=float(train.difficulty.max()),
        penalty=penalty,
    )
    errors = np.abs(fitted.predict(valid.vectors, valid.texts, 0.5).value - valid.difficulty)
    return DifficultyHead(**(vars(fitted) | {"errors": np.sort(errors).astype(np.float32)}))


def _best_penalty(features: csr_array, difficulty: FloatArray, units: Sequence[str]) -> float:
    from sklearn.model_selection import GroupKFold

    folds = min(_FOLDS, len(set(units)))
    if folds < 2:
        return PENALTIES[len(PENALTIES) // 2]
    parts = list(GroupKFold(folds).split(features, groups=np.asarray(units)))

    def error(penalty: float) -> float:
        wrong = [
            _ridge(penalty).fit(features[own], difficulty[own]).predict(features[other]) - difficulty[other]
            for own, other in parts
        ]
        return float(np.mean(np.concatenate(wrong) ** 2))

    return min(PENALTIES, key=error)


def _ridge(penalty: float) -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=penalty, solver="sparse_cg", tol=1e-4)
