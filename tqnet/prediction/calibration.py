"""How the evidence of a level is weighed, fitted on ``valid``: blending and calibration in one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tqnet.evaluation.metrics import IntArray
from tqnet.prediction.tree import STOP, ConceptTree, FloatMatrix, log_softmax
from tqnet.questions.question import KnowledgePath

Evidence = npt.NDArray[np.float32]
Pairs = list[tuple[float | None, float | None]]


@dataclass(frozen=True)
class LevelCalibration:
    """How a level's kinds of evidence become the probability of a child given its parent.

    Children that exclude one another get ``q = softmax(sum_e w_e log p_e)``, a logarithmic opinion pool with
    temperature scaling (Heskes 1998; Guo et al. 2017), of which a share is spread over all siblings, for questions that
    are utterly missed; then ``softmax(a log q - b log(1 - q))`` (after Kull et al. 2017, "Beta calibration"), since one
    temperature cannot make the sure less sure and the unsure surer. ``a > 0`` and ``b >= 0``, so that the order of
    siblings is that of ``q``. Others get ``sigmoid(c + sum_e w_e logit p_e)`` (Platt 1999).

    With few questions in ``valid`` no probability is 0 or 1: the spread is at least ``1 / (n + 2)``, each fit pays for
    leaving its start as if a further question spoke for it, and in that of the curve any sibling of a further question
    is as likely to be right (after Platt's targets).

    A few numbers a level: isotonic regression, with as many steps as it likes, would need more questions of ``valid``
    than fine levels have, and would break what siblings sum to.

    Attributes:
        weights: Of each kind; the second, how frequent a concept is in ``train``, may be below 0, as questions are
            split by group and frequent concepts are often large groups.
        bias: ``c`` of a multi-label level.
        spread: Share that is spread over siblings.
        curve: ``a`` and ``b``.
        new: Share of the questions of ``valid`` whose child was seen in no training question, though the parent was.
        loss: On ``valid``, mean over questions (multi-label: over questions and children); NaN without any.
    """

    weights: tuple[float, ...]
    bias: float = 0.0
    spread: float = 0.0
    curve: tuple[float, float] = (1.0, 0.0)
    new: float = 0.0
    loss: float = float("nan")

    def logits(self, evidence: Evidence) -> FloatMatrix:
        """``[kinds, questions, nodes]`` -> ``[questions, nodes]``."""
        return np.tensordot(np.array(self.weights, dtype=np.float32), evidence, axes=1) + np.float32(self.bias)

    def chance(self, evidence: Evidence, families: IntArray, multi_label: bool) -> FloatMatrix:
        """Probability of each node of the level given its parent.

        Shape:
            - evidence: ``[kinds, questions, nodes]``
            - families: ``[nodes]``, ascending, that of each node
            - output: ``[questions, nodes]``
        """
        scores = self.logits(evidence)
        if multi_label:
            return (0.5 * (1 + np.tanh(0.5 * scores))).astype(np.float32)
        curved = np.tensordot(np.array(self.curve), _ends(self._mixed(scores, families)), axes=1)
        return (np.exp(log_softmax(curved, families)) * (1 - self.new)).astype(np.float32)

    def _mixed(self, scores: FloatMatrix, families: IntArray) -> FloatMatrix:
        sizes = np.unique(families, return_inverse=True, return_counts=True)
        chance = np.exp(log_softmax(scores, families))
        return np.minimum((1 - self.spread) * chance + self.spread / sizes[2][sizes[1]], 1)


def calibrate_level(
    tree: ConceptTree, level: int, evidence: Evidence, truth: csr_array, knowledge: list[tuple[KnowledgePath, ...]]
) -> LevelCalibration:
    """Fit a level's numbers by maximum likelihood.

    Args:
        evidence: ``[kinds, questions, nodes of the level]``.
        truth: ``[questions, nodes]``, of all nodes.
        knowledge: Paths of the same questions.
    """
    own = np.flatnonzero(tree.levels == level)
    found = truth.toarray() > 0
    if tree.multi_label:
        reached = _reached(tree, own, found)
        return _fit_each(np.stack([kind[reached] for kind in evidence]), found[:, own][reached])
    rows = np.flatnonzero(found[:, own].any(axis=1))
    unseen = sum(_is_new(tree, level, paths) for paths in knowledge)
    new = unseen / max(1, unseen + len(rows))
    target = found[:, own].argmax(axis=1)[rows]
    families = tree.families[own]
    # Of each question, the family of its own concept.
    siblings = families[None, :] == families[target][:, None]
    competing = siblings.sum(axis=1) > 1
    if not competing.any():
        return LevelCalibration((1.0 / len(evidence),) * len(evidence), spread=_least_spread(0), new=new, loss=0.0)
    rows, target, siblings = rows[competing], target[competing], siblings[competing]
    weights, spread = _fit_pool(evidence[:, rows], target, siblings)
    pooled = LevelCalibration(weights, spread=spread)
    ends = _ends(pooled._mixed(pooled.logits(evidence[:, rows]), families))
    curve, loss = _fit_curve(ends, target, siblings)
    return LevelCalibration(weights, spread=spread, curve=curve, new=new, loss=loss)


def _least_spread(questions: int) -> float:
    """Laplace's chance that the next question is missed, none of so many having been."""
    return 1 / (questions + 2)


def _bounds(kinds: int) -> Pairs:
    return [(None, None) if kind == 1 else (0.0, None) for kind in range(kinds)]


def _ends(chance: FloatMatrix) -> Evidence:
    """``log q`` and ``-log(1 - q)``, the latter cut where one more nine would say no more."""
    return np.stack([np.log(np.maximum(chance, 1e-9)), -np.log(np.maximum(1 - chance, 1e-3))])


def _reached(tree: ConceptTree, own: IntArray, found: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether a question has the parent of a node, ``[questions, own]``; labelled ones have that of the first level."""
    parents = tree.parents[own]
    labelled = np.asarray(found.any(axis=1))[:, None]
    return np.where(parents < 0, labelled, found[:, np.maximum(parents, 0)])


def _is_new(tree: ConceptTree, level: int, paths: tuple[KnowledgePath, ...]) -> bool:
    """Whether a question goes on, or stops, below a parent with children as no training question does."""
    path = max(paths, key=len, default=())
    if not paths or len(path) < level - 1 or path[: level - 1] not in tree.inner:
        return False
    return (path[:level] if len(path) >= level else (*path, STOP)) not in tree.index


def _fit_pool(evidence: Evidence, target: IntArray, siblings: npt.NDArray[np.bool_]) -> tuple[tuple[float, ...], float]:
    """Weights and spread of evidence ``[kinds, questions, nodes]``."""
    from scipy.optimize import minimize

    kinds, evidence = len(evidence), evidence.astype(np.float64)
    rows, count = np.arange(len(target)), siblings.sum(axis=1)
    masked = np.where(siblings, 0.0, -np.inf)
    least = _least_spread(len(target))

    def loss(values: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        weights, spread = values[:-1], values[-1]
        chance = _softmax(np.tensordot(weights, evidence, axes=1) + masked)
        own = np.maximum(chance[rows, target], 1e-30)
        mixed = (1 - spread) * own + spread / count
        slope = (1 - spread) * own / mixed
        gradient = [(slope * ((chance * kind).sum(axis=1) - kind[rows, target])).mean() for kind in evidence]
        away = (weights - start[:-1]) / len(target)
        error = -np.log(mixed).mean() + 0.5 * (away * (weights - start[:-1])).sum()
        return error, np.append(np.array(gradient) + away, ((own - 1 / count) / mixed).mean())

    start = np.append(np.full(kinds, 1 / kinds), max(0.05, least))
    found = minimize(loss, start, jac=True, bounds=[*_bounds(kinds), (least, 0.5)], method="L-BFGS-B")
    return tuple(map(float, found.x[:-1])), float(found.x[-1])


def _fit_curve(ends: Evidence, target: IntArray, siblings: npt.NDArray[np.bool_]) -> tuple[tuple[float, float], float]:
    """``a`` and ``b``, and the loss, of ends ``[2, questions, nodes]``."""
    from scipy.optimize import minimize

    ends = ends.astype(np.float64)
    masked = np.where(siblings, 0.0, -np.inf)
    further = 1 / (len(target) + 1)
    alike = (ends * siblings).sum(axis=2) / siblings.sum(axis=1)
    aimed = (1 - further) * ends[:, np.arange(len(target)), target] + further * alike
    start = np.array([1.0, 0.0])

    def loss(values: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        scores = np.tensordot(values, ends, axes=1) + masked
        top = scores.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
        gradient = ((ends * _softmax(scores)).sum(axis=2) - aimed).mean(axis=1)
        away = (values - start) / len(target)
        return float((total - values @ aimed).mean() + 0.5 * away @ (values - start)), gradient + away

    found = minimize(loss, start, jac=True, bounds=[(0.1, None), (0, None)], method="L-BFGS-B")
    return (float(found.x[0]), float(found.x[1])), float(found.fun)


def _softmax(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    chance = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _fit_each(evidence: Evidence, truth: npt.NDArray[np.bool_]) -> LevelCalibration:
    """Of evidence ``[kinds, decisions]`` and which of them are so."""
    from scipy.optimize import minimize

    kinds = len(evidence)
    if not truth.size:
        return LevelCalibration((1.0 / kinds,) * kinds)
    # Platt's targets: with few questions, no probability of 0 or 1.
    positive = int(truth.sum())
    target = np.where(truth, (positive + 1) / (positive + 2), 1 / (truth.size - positive + 2))

    def loss(values: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        scores = values[:-1] @ evidence + values[-1]
        error = np.logaddexp(0, scores) - target * scores
        wrong = 1 / (1 + np.exp(-scores)) - target
        return float(error.mean()), np.append(evidence @ wrong, wrong.sum()) / truth.size

    start = np.append(np.full(kinds, 1 / kinds), 0.0)
    found = minimize(loss, start, jac=True, bounds=[*_bounds(kinds), (None, None)], method="L-BFGS-B")
    return LevelCalibration(tuple(map(float, found.x[:-1])), bias=float(found.x[-1]), loss=float(found.fun))
