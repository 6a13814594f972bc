"""The head for knowledge points: calibrated probabilities, consistent along the hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, hstack
from tqdm import tqdm

from tqnet.prediction.calibration import LevelCalibration, Opinions, calibrate_level
from tqnet.prediction.features import Examples, Features, Neighbours, Vectors, joined
from tqnet.prediction.tree import ConceptTree, FloatMatrix

#: Smaller absolute weights become 0.
_SMALLEST = 1e-4

#: Inverse penalties of branches, and temperatures of neighbours' votes; each level takes the best on ``valid``.
STRENGTHS = (3.0, 10.0, 30.0)
TEMPERATURES = (0.03, 0.05, 0.08, 0.12)

#: Questions to predict at a time; bounds the memory for cosines with all training questions.
_CHUNK = 512


@dataclass(frozen=True)
class Branches:
    """Logistic regression of each node given its parent.

    A branch is fitted only to questions of its parent, so weights are 0 for words that none of them has: few weights,
    and fitting scales with questions and siblings, not with all leaves.

    Attributes:
        weight: ``[features, nodes]``, sparse.
        bias: ``[nodes]``.
    """

    weight: csc_array
    bias: npt.NDArray[np.float32]

    def __call__(self, features: csr_array) -> FloatMatrix:
        """Return logits ``[questions, nodes]``."""
        return ((features @ self.weight).toarray() + self.bias).astype(np.float32)


def fit_branches(tree: ConceptTree, features: csr_array, truth: csr_array, strength: float, level: int) -> Branches:
    """Fit the branches of a level; other nodes score 0.

    Args:
        features: ``[questions, features]``.
        truth: ``[questions, nodes]``.
        strength: Inverse of the L2 penalty, per summed loss (scikit-learn's ``C``).
    """
    columns, labels = features.shape[1], csc_array(truth)
    fit = _independent if tree.multi_label else _exclusive
    weights: list[csr_array] = []
    bias = np.zeros(len(tree.nodes), dtype=np.float32)
    for start, end in zip(tree.starts, [*tree.starts[1:], len(tree.nodes)], strict=True):
        if tree.levels[start] != level:
            weights.append(csr_array((columns, end - start), dtype=np.float32))
            continue
        parent = tree.parents[start]
        rows = np.arange(features.shape[0]) if parent < 0 else np.sort(labels[:, [parent]].indices)
        weight, bias[start:end] = fit(features[rows], truth[rows][:, start:end].toarray() > 0, strength)
        weight[np.abs(weight) < _SMALLEST] = 0
        weights.append(csr_array(weight.T))
    return Branches(csc_array(hstack(weights, format="csc")), bias)


def _exclusive(features: csr_array, truth: npt.NDArray[np.bool_], strength: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Fit weights ``[children, features]`` and bias of a softmax."""
    count = truth.shape[1]
    if count == 1:
        return np.zeros((1, features.shape[1]), dtype=np.float32), np.zeros(1, dtype=np.float32)
    weight, bias = _logistic(features, truth.argmax(axis=1), strength)
    if count == 2:  # scikit-learn returns the odds of the second
        weight, bias = np.concatenate([-weight / 2, weight / 2]), np.concatenate([-bias / 2, bias / 2])
    return weight, bias


def _independent(features: csr_array, truth: npt.NDArray[np.bool_], strength: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Fit weights ``[children, features]`` and bias of a logistic output for each child."""
    weight = np.zeros((truth.shape[1], features.shape[1]), dtype=np.float32)
    bias = np.zeros(truth.shape[1], dtype=np.float32)
    for child, target in enumerate(truth.T):
        if target.all():  # its odds, with half a question added to each side
            bias[child] = np.log((len(target) + 0.5) / 0.5)
        else:
            (weight[child],), (bias[child],) = _logistic(features, target, strength)
    return weight, bias


def _logistic(features: csr_array, target: npt.NDArray[np.generic], strength: float) -> tuple[FloatMatrix, FloatMatrix]:
    from sklearn.linear_model import LogisticRegression

    used = np.unique(features.indices)  # few in a small branch
    if not len(used):  # the frequency of the children
        bias = np.log(np.unique(target, return_counts=True)[1])
        bias = bias[1:] - bias[0] if len(bias) == 2 else bias - bias.mean()  # as in scikit-learn
        return np.zeros((len(bias), features.shape[1]), dtype=np.float32), bias.astype(np.float32)
    model = LogisticRegression(C=strength, tol=1e-3, max_iter=200).fit(features[:, used], target)
    weight = np.zeros((len(model.coef_), features.shape[1]), dtype=np.float32)
    weight[:, used] = model.coef_
    return weight, model.intercept_.astype(np.float32)


@dataclass(frozen=True)
class KnowledgeHead:
    """Predicts the concepts of questions from vectors and words.

    ``p(child) = p(parent) p(child | parent)``, so a parent is at least as likely as a child. There are several opinions
    on ``p(child | parent)``: logistic regression on the parent's questions, the child's frequency, and the votes of
    near training questions by words and by vector; a few parameters per level blend and calibrate them
    (:mod:`tqnet.prediction.calibration`).

    Attributes:
        neighbours: One per part of the features, in order.
        temperatures: One per level and neighbours.
        frequency: Log-probability (multi-label: log-odds) of each node given its parent in ``train``, ``[nodes]``.
        calibrations: One per level.
        strengths: Inverse penalty of each level's branches.
    """

    tree: ConceptTree
    features: Features
    branches: Branches
    neighbours: tuple[Neighbours, ...]
    temperatures: tuple[tuple[float, ...], ...]
    frequency: npt.NDArray[np.float32]
    calibrations: tuple[LevelCalibration, ...]
    strengths: tuple[float, ...]

    def predict(self, vectors: Vectors, texts: Sequence[str]) -> FloatMatrix:
        """Return the probability of each node.

        Args:
            vectors: ``[questions, width]``.
            texts: ``question.content`` of each.

        Returns:
            ``[questions, nodes]``.

        Raises:
            ValueError: The vectors have another width.
        """
        starts = range(0, len(texts), _CHUNK)
        parts = [self._predict(vectors[i : i + _CHUNK], texts[i : i + _CHUNK]) for i in starts]
        return np.concatenate([*parts, np.empty((0, len(self.tree.nodes)), dtype=np.float32)])

    def _predict(self, vectors: Vectors, texts: Sequence[str]) -> FloatMatrix:
        parts = self.features.parts(vectors, texts)
        branches = branch_opinion(self.tree, self.branches(joined(parts)))
        votes = {
            (i, temperature): vote(self.tree, parts[i], temperature)
            for i, vote in enumerate(self.neighbours)
            for temperature in {temperatures[i] for temperatures in self.temperatures}
        }
        frequent = np.broadcast_to(self.frequency, branches.shape)
        chance = np.zeros_like(branches)
        for level, calibration in enumerate(self.calibrations, 1):
            nodes = self.tree.levels == level
            near = [votes[i, temperature] for i, temperature in enumerate(self.temperatures[level - 1])]
            opinions = np.stack([kind[:, nodes] for kind in (branches, frequent, *near)])
            chance[:, nodes] = calibration.chance(opinions, self.tree.families[nodes], self.tree.multi_label)
        return self.tree.joint(chance)

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return facts for JSON and arrays, for :meth:`load`."""
        facts = {
            "nodes": list(map(list, self.tree.nodes)),
            "multi_label": self.tree.multi_label,
            "temperatures": list(map(list, self.temperatures)),
            "calibrations": list(map(asdict, self.calibrations)),
            "strengths": list(self.strengths),
            "vocabulary": list(self.features.words),
        }
        tensors = self.features.tensors() | {"branches.bias": self.branches.bias, "frequency": self.frequency}
        tensors |= _pack("branches.weight", csr_array(self.branches.weight))
        if self.neighbours:
            tensors |= _pack("neighbours.truth", self.neighbours[0].truth)
        for i, votes in enumerate(self.neighbours):
            name, points = f"neighbours.{i}", votes.points
            tensors |= _pack(name, points) if isinstance(points, csr_array) else {name: points}
        return facts, tensors

    @classmethod
    def load(cls, facts: dict[str, Any], tensors: dict[str, Any]) -> KnowledgeHead:
        """Restore the head from its state; KeyError if something is missing."""
        names = [f"neighbours.{i}" for i in range(len(facts["temperatures"][0]))]
        points = [_unpack(name, tensors) if f"{name}.data" in tensors else tensors[name] for name in names]
        truth = _unpack("neighbours.truth", tensors) if points else None
        tuples = ("weights", "curve")
        return cls(
            tree=ConceptTree(tuple(map(tuple, facts["nodes"])), facts["multi_label"]),
            features=Features.load(facts["vocabulary"], tensors),
            branches=Branches(csc_array(_unpack("branches.weight", tensors)), tensors["branches.bias"]),
            neighbours=tuple(Neighbours(part, truth) for part in points),
            temperatures=tuple(map(tuple, facts["temperatures"])),
            frequency=tensors["frequency"],
            calibrations=tuple(
                LevelCalibration(**level | {name: tuple(level[name]) for name in tuples})
                for level in facts["calibrations"]
            ),
            strengths=tuple(facts["strengths"]),
        )


def fit_knowledge_head(
    train: Examples, valid: Examples, *, words_only: bool = False, show_progress: bool = False
) -> KnowledgeHead:
    """Fit to ``train``; choose penalties, temperatures and weights on ``valid``.

    Args:
        train, valid: Questions with a knowledge point.
        words_only: Regression on words, without vectors and neighbours: a baseline.

    Raises:
        ValueError: A side has no labelled question, or there is a single concept.
    """
    if not train.labels or not valid.labels:
        raise ValueError(f"no question of {'valid' if train.labels else 'train'} has a knowledge point")
    tree = ConceptTree.of(train.labels)
    if len(tree.nodes) == tree.depth:
        raise ValueError("all questions of train have the same knowledge point")
    features = Features.fit(train.texts, None if words_only else train.vectors)
    parts, valid_parts = (features.parts(side.vectors, side.texts) for side in (train, valid))
    truth, valid_truth = tree.indicators(train.labels), tree.indicators(valid.labels)
    voters = () if words_only else tuple(Neighbours(points, truth) for points in parts)
    votes = [
        {temperature: vote(tree, queries, temperature) for temperature in TEMPERATURES}
        for vote, queries in zip(voters, valid_parts, strict=False)
    ]
    inputs, valid_inputs = joined(parts), joined(valid_parts)
    prior = frequency(tree, truth)
    frequent = np.broadcast_to(prior, (len(valid.labels), len(prior)))

    def calibrated(level: int, first: FloatMatrix, *others: FloatMatrix) -> LevelCalibration:
        opinions: Opinions = np.stack([kind[:, tree.levels == level] for kind in (first, frequent, *others)])
        return calibrate_level(tree, level, opinions, valid_truth, valid.labels)

    chosen, temperatures, calibrations, strengths = [], [], [], []
    levels = range(1, int(tree.levels.max()) + 1)
    total = len(levels) * len(STRENGTHS)
    with tqdm(total=total, desc="fit knowledge", unit=" fits", disable=not show_progress) as progress:
        for level in levels:
            fits = {}
            for strength in STRENGTHS:
                fit = fit_branches(tree, inputs, truth, strength, level)
                opinion = branch_opinion(tree, fit(valid_inputs))
                fits[strength] = (fit, opinion, calibrated(level, opinion).loss)
                progress.update()
            strength = min(fits, key=lambda strength: fits[strength][2])
            best = [min(part, key=lambda t: calibrated(level, part[t]).loss) for part in votes]
            near = [part[t] for part, t in zip(votes, best, strict=True)]
            chosen.append(fits[strength][0])
            temperatures.append(tuple(best))
            calibrations.append(calibrated(level, fits[strength][1], *near))
            strengths.append(strength)
    branches = Branches(csc_array(sum(fit.weight for fit in chosen)), sum(fit.bias for fit in chosen))  # type: ignore[arg-type]
    return KnowledgeHead(
        tree, features, branches, voters, tuple(temperatures), prior, tuple(calibrations), tuple(strengths)
    )


def frequency(tree: ConceptTree, truth: csr_array) -> npt.NDArray[np.float32]:
    """Return each node's log-probability given its parent, ``[nodes]``, or smoothed log-odds in a multi-label tree."""
    counts = np.asarray(truth.sum(axis=0), dtype=np.float32).ravel()
    if not tree.multi_label:
        return tree.log_softmax(np.log(np.maximum(counts, 0.5))[None])[0]
    above = np.where(tree.parents < 0, truth.shape[0], counts[np.maximum(tree.parents, 0)])
    return np.log((counts + 0.5) / (above - counts + 0.5)).astype(np.float32)


def branch_opinion(tree: ConceptTree, logits: FloatMatrix) -> FloatMatrix:
    """Return log-probabilities given the parent; log-odds in a multi-label tree."""
    return logits if tree.multi_label else tree.log_softmax(logits)


def _pack(name: str, matrix: csr_array) -> dict[str, Any]:
    shape = np.array(matrix.shape, dtype=np.int64)
    parts = {"data": matrix.data.astype(np.float32), "indices": matrix.indices, "indptr": matrix.indptr, "shape": shape}
    return {f"{name}.{part}": value for part, value in parts.items()}


def _unpack(name: str, tensors: dict[str, Any]) -> csr_array:
    data, indices, indptr, shape = (tensors[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape"))
    return csr_array((data, indices, indptr), shape=tuple(map(int, shape)))
