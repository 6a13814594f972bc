"""Blend and calibrate opinions on a level's concepts, fitted on ``valid``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tqnet.evaluation.metrics import IntArray
from tqnet.prediction.tree import STOP, ConceptTree, FloatMatrix, log_softmax
from tqnet.questions.question import KnowledgePath

Opinions = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LevelCalibration:
    """Turns opinions on a level into probabilities of children given their parent.

    Exclusive children get ``q = softmax(sum_e w_e log p_e)``, a logarithmic opinion pool with temperature scaling
    (Heskes 1998; Guo et al. 2017), a share of which is spread over all siblings to cover complete misses; then
    ``softmax(a log q - b log(1 - q))`` (after Kull et al. 2017, "Beta calibration"), since a single temperature cannot
    lower high and raise low confidence. ``a > 0`` and ``b >= 0`` keep the order of siblings. Independent children get
    ``sigmoid(c + sum_e w_e logit p_e)`` (Platt 1999).

    Even with few questions in ``valid``, no probability is 0 or 1: the spread is at least ``1 / (n + 2)``, each fit is
    regularised towards its start with the weight of one question, and the curve is fitted with one extra question whose
    siblings are equally likely (after Platt's targets).

    Each level has only a few parameters: isotonic regression would need more questions of ``valid`` than fine levels
    have, and siblings would no longer sum to 1.

    Attributes:
        weights: One per kind of opinion; the second, for the frequency in ``train``, may be negative, since questions
            are split by group and frequent concepts are often large groups.
        bias: ``c`` of a multi-label level.
        spread: Share spread over siblings.
        curve: ``a`` and ``b``.
        new: Share of the questions of ``valid`` with a known parent but a new child.
        loss: Mean on ``valid`` over questions (multi-label: over questions and children); NaN without any.
    """

    weights: tuple[float, ...]
    bias: float = 0.0
    spread: float = 0.0
    curve: tuple[float, float] = (1.0, 0.0)
    new: float = 0.0
    loss: float = float("nan")

    def logits(self, opinions: Opinions) -> FloatMatrix:
        """Blend opinions ``[kinds, questions, nodes]`` into logits ``[questions, nodes]``."""
        return np.tensordot(np.array(self.weights, dtype=np.float32), opinions, axes=1) + np.float32(self.bias)

    def chance(self, opinions: Opinions, families: IntArray, multi_label: bool) -> FloatMatrix:
        """Return the probability of each node of the level given its parent.

        Shape:
            - opinions: ``[kinds, questions, nodes]``
            - families: ``[nodes]``, ascending
            - output: ``[questions, nodes]``
        """
        scores = self.logits(opinions)
        if multi_label:
            return (0.5 * (1 + np.tanh(0.5 * scores))).astype(np.float32)
        curved = np.tensordot(np.array(self.curve), _ends(self._mixed(scores, families)), axes=1)
        return (np.exp(log_softmax(curved, families)) * (1 - self.new)).astype(np.float32)

    def _mixed(self, scores: FloatMatrix, families: IntArray) -> FloatMatrix:
        _, family, sizes = np.unique(families, return_inverse=True, return_counts=True)
        chance = np.exp(log_softmax(scores, families))
        return np.minimum((1 - self.spread) * chance + self.spread / sizes[family], 1)


def calibrate_level(
    tree: ConceptTree, level: int, opinions: Opinions, truth: csr_array, knowledge: Sequence[tuple[KnowledgePath, ...]]
) -> LevelCalibration:
    """Fit a level by maximum likelihood.

    Args:
        opinions: ``[kinds, questions, nodes of the level]``.
        truth: ``[questions, nodes of the tree]``.
        knowledge: Each question's paths.
    """
    nodes = np.flatnonzero(tree.levels == level)
    has = truth.toarray() > 0
    if tree.multi_label:
        reached = _has_parent(tree, nodes, has)
        return _fit_each(np.stack([kind[reached] for kind in opinions]), has[:, nodes][reached])
    rows = np.flatnonzero(has[:, nodes].any(axis=1))
    unseen = sum(_is_new(tree, level, paths) for paths in knowledge)
    new = unseen / max(1, unseen + len(rows))
    target = has[:, nodes].argmax(axis=1)[rows]
    families = tree.families[nodes]
    siblings = families[None, :] == families[target][:, None]  # of each question's concept
    competing = siblings.sum(axis=1) > 1
    if not competing.any():
        return LevelCalibration((1.0 / len(opinions),) * len(opinions), spread=_least_spread(0), new=new, loss=0.0)
    rows, target, siblings = rows[competing], target[competing], siblings[competing]
    weights, spread = _fit_pool(opinions[:, rows], target, siblings)
    pooled = LevelCalibration(weights, spread=spread)
    ends = _ends(pooled._mixed(pooled.logits(opinions[:, rows]), families))
    curve, loss = _fit_curve(ends, target, siblings)
    return LevelCalibration(weights, spread=spread, curve=curve, new=new, loss=loss)


def _least_spread(questions: int) -> float:
    """Return Laplace's probability of a miss after this many questions without one."""
    return 1 / (questions + 2)


def _ends(chance: FloatMatrix) -> Opinions:
    """Return ``log q`` and ``-log(1 - q)``, the latter clipped at ``1 - q = 0.001``."""
    return np.stack([np.log(np.maximum(chance, 1e-9)), -np.log(np.maximum(1 - chance, 1e-3))])


def _has_parent(tree: ConceptTree, nodes: IntArray, has: Flags) -> Flags:
    """Return whether questions have a node's parent, ``[questions, nodes]``; at the first level, any label."""
    parents = tree.parents[nodes]
    labelled = np.asarray(has.any(axis=1))[:, None]
    return np.where(parents < 0, labelled, has[:, np.maximum(parents, 0)])


def _is_new(tree: ConceptTree, level: int, paths: tuple[KnowledgePath, ...]) -> bool:
    """Return whether a question has a known parent but a new child (or end)."""
    path = max(paths, key=len, default=())
    if not paths or len(path) < level - 1 or path[: level - 1] not in tree.inner:
        return False
    return (path[:level] if len(path) >= level else (*path, STOP)) not in tree.index


def _minimum(
    loss: Callable[[Numbers], tuple[float, Numbers]], start: Numbers, *bounds: tuple[float | None, float | None]
) -> tuple[list[float], float]:
    """Minimise a loss with gradient; return the minimum's location and value."""
    from scipy.optimize import minimize

    fit = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return list(map(float, fit.x)), float(fit.fun)


def _weight_bounds(kinds: int) -> list[tuple[float | None, float | None]]:
    """Bound all weights below by 0, except the second, for the frequency."""
    return [(None, None) if kind == 1 else (0.0, None) for kind in range(kinds)]


def _fit_pool(opinions: Opinions, target: IntArray, siblings: Flags) -> tuple[tuple[float, ...], float]:
    """Fit weights and spread to opinions ``[kinds, questions, nodes]``."""
    kinds, opinions = len(opinions), opinions.astype(np.float64)
    rows, count = np.arange(len(target)), siblings.sum(axis=1)
    masked = np.where(siblings, 0.0, -np.inf)
    least = _least_spread(len(target))
    start = np.append(np.full(kinds, 1 / kinds), max(0.05, least))

    def loss(values: Numbers) -> tuple[float, Numbers]:
        weights, spread = values[:-1], values[-1]
        chance = _softmax(np.tensordot(weights, opinions, axes=1) + masked)
        hit = np.maximum(chance[rows, target], 1e-30)
        mixed = (1 - spread) * hit + spread / count
        slope = (1 - spread) * hit / mixed
        gradient = [(slope * ((chance * kind).sum(axis=1) - kind[rows, target])).mean() for kind in opinions]
        away = (weights - start[:-1]) / len(target)
        error = -np.log(mixed).mean() + 0.5 * (away * (weights - start[:-1])).sum()
        return error, np.append(np.array(gradient) + away, ((hit - 1 / count) / mixed).mean())

    (*weights, spread), _ = _minimum(loss, start, *_weight_bounds(kinds), (least, 0.5))
    return tuple(weights), spread


def _fit_curve(ends: Opinions, target: IntArray, siblings: Flags) -> tuple[tuple[float, float], float]:
    """Fit ``a`` and ``b`` to ends ``[2, questions, nodes]``; return them and the loss."""
    ends = ends.astype(np.float64)
    masked = np.where(siblings, 0.0, -np.inf)
    further = 1 / (len(target) + 1)
    alike = (ends * siblings).sum(axis=2) / siblings.sum(axis=1)
    aimed = (1 - further) * ends[:, np.arange(len(target)), target] + further * alike
    start = np.array([1.0, 0.0])

    def loss(values: Numbers) -> tuple[float, Numbers]:
        scores = np.tensordot(values, ends, axes=1) + masked
        top = scores.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
        gradient = ((ends * _softmax(scores)).sum(axis=2) - aimed).mean(axis=1)
        away = (values - start) / len(target)
        return float((total - values @ aimed).mean() + 0.5 * away @ (values - start)), gradient + away

    (a, b), least = _minimum(loss, start, (0.1, None), (0, None))
    return (a, b), least


def _softmax(scores: Numbers) -> Numbers:
    chance = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _fit_each(opinions: Opinions, truth: Flags) -> LevelCalibration:
    """Fit a multi-label level to opinions ``[kinds, decisions]`` and their truth ``[decisions]``."""
    kinds = len(opinions)
    if not truth.size:
        return LevelCalibration((1.0 / kinds,) * kinds)
    # Platt's targets: with few questions, no probability of 0 or 1.
    positive = int(truth.sum())
    target = np.where(truth, (positive + 1) / (positive + 2), 1 / (truth.size - positive + 2))

    def loss(values: Numbers) -> tuple[float, Numbers]:
        scores = values[:-1] @ opinions + values[-1]
        error = np.logaddexp(0, scores) - target * scores
        wrong = 1 / (1 + np.exp(-scores)) - target
        return float(error.mean()), np.append(opinions @ wrong, wrong.sum()) / truth.size

    start = np.append(np.full(kinds, 1 / kinds), 0.0)
    (*weights, bias), least = _minimum(loss, start, *_weight_bounds(kinds), (None, None))
    return LevelCalibration(tuple(weights), bias=bias, loss=least)
