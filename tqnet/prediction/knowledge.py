"""The head for knowledge points: calibrated probabilities that agree along the hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, hstack

from tqnet.prediction.calibration import Evidence, LevelCalibration, calibrate_level
from tqnet.prediction.features import Features, Neighbours, Vectors, joined
from tqnet.prediction.tree import ConceptTree, FloatMatrix
from tqnet.questions.question import KnowledgePath

# Logistic regression at every branch of the tree, on the questions that reach it.


#: Least absolute weight that is kept.
_SMALLEST = 1e-4


@dataclass(frozen=True)
class Branches:
    """Scores of each node given its parent.

    A branch is fitted on its own questions alone, so that its weights are 0 for words that none of them has: few
    weights, and a fit that grows with the questions and the siblings, not with all leaves.

    Attributes:
        weight: ``[features, nodes]``, sparse.
        bias: ``[nodes]``.
    """

    weight: csc_array
    bias: npt.NDArray[np.float32]

    def __call__(self, features: csr_array) -> FloatMatrix:
        """Logits ``[questions, nodes]``."""
        return ((features @ self.weight).toarray() + self.bias).astype(np.float32)


def fit_branches(
    tree: ConceptTree,
    features: csr_array,
    truth: csr_array,
    strength: float,
    *,
    level: int,
    step: Callable[[int], None] = lambda _: None,
) -> Branches:
    """The branches of one level; nodes of others score 0.

    Args:
        features: ``[questions, features]``.
        truth: ``[questions, nodes]``, of the same questions.
        strength: Inverse of the L2 penalty, per summed loss (scikit-learn's ``C``).
        step: Told how many branches are done, one after the other.
    """
    columns, labels = features.shape[1], csc_array(truth)
    weights: list[csr_array] = []
    bias = np.zeros(len(tree.nodes), dtype=np.float32)
    for start, end in zip(tree.starts, [*tree.starts[1:], len(tree.nodes)], strict=True):
        if tree.levels[start] != level:
            weights.append(csr_array((columns, end - start), dtype=np.float32))
            continue
        parent = tree.parents[start]
        rows = np.arange(features.shape[0]) if parent < 0 else np.sort(labels[:, [parent]].indices)
        own = truth[rows][:, start:end].toarray() > 0
        weight, bias[start:end] = (_each if tree.multi_label else _one_of)(features[rows], own, strength)
        weight[np.abs(weight) < _SMALLEST] = 0
        weights.append(csr_array(weight.T))
        step(1)
    return Branches(csc_array(hstack(weights, format="csc")), bias)


def _one_of(features: csr_array, truth: npt.NDArray[np.bool_], strength: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Weights ``[children, features]`` and bias of a softmax."""
    count = truth.shape[1]
    if count == 1:
        return np.zeros((1, features.shape[1]), dtype=np.float32), np.zeros(1, dtype=np.float32)
    weight, bias = _logistic(features, truth.argmax(axis=1), strength)
    if count == 2:  # scikit-learn gives the second's odds against the first
        weight, bias = np.concatenate([-weight / 2, weight / 2]), np.concatenate([-bias / 2, bias / 2])
    return weight, bias


def _each(features: csr_array, truth: npt.NDArray[np.bool_], strength: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Weights ``[children, features]`` and bias of a logistic output for each."""
    weight = np.zeros((truth.shape[1], features.shape[1]), dtype=np.float32)
    bias = np.zeros(truth.shape[1], dtype=np.float32)
    for child, own in enumerate(truth.T):
        if own.all():  # nothing to tell apart: its odds with half a question added to either side
            bias[child] = np.log((len(own) + 0.5) / 0.5)
        else:
            found = _logistic(features, own, strength)
            weight[child], bias[child] = found[0][0], found[1][0]
    return weight, bias


def _logistic(features: csr_array, target: npt.NDArray[np.generic], strength: float) -> tuple[FloatMatrix, FloatMatrix]:
    from sklearn.linear_model import LogisticRegression

    used = np.unique(features.indices)  # of a small branch's words, few
    if not len(used):  # nothing is read of its questions: how frequent its children are
        often = np.log(np.unique(target, return_counts=True)[1])
        often = often[1:] - often[0] if len(often) == 2 else often - often.mean()  # as scikit-learn does
        return np.zeros((len(often), features.shape[1]), dtype=np.float32), often.astype(np.float32)
    model = LogisticRegression(C=strength, tol=1e-3, max_iter=200).fit(features[:, used], target)
    weight = np.zeros((len(model.coef_), features.shape[1]), dtype=np.float32)
    weight[:, used] = model.coef_
    return weight, model.intercept_.astype(np.float32)


#: Inverse penalties of the branches, of which each level takes the one that ``valid`` likes best.
STRENGTHS = (3.0, 10.0, 30.0)

#: Temperatures of the neighbours' votes, likewise.
TEMPERATURES = (0.03, 0.05, 0.08, 0.12)

#: Questions that are predicted at a time: bounds the cosines with all training questions.
_CHUNK = 512


@dataclass(frozen=True)
class KnowledgeHead:
    """Predicts the concepts of questions from their vectors and words.

    ``p(child) = p(parent) p(child | parent)``, so a parent is never less likely than a child. Of ``p(child | parent)``
    there are several opinions: logistic regression among the questions of the parent, how frequent a child is, and the
    votes of near training questions by words and by vector. A few numbers a level join and calibrate them
    (:mod:`tqnet.prediction.calibration`).

    Attributes:
        neighbours: Of each part of the features, in their order.
        temperatures: Of each level, of each of the neighbours.
        frequency: ``[nodes]``, log-probability (multi-label: log-odds) of each node given its parent in ``train``.
        calibrations: Of each level.
        strengths: Of each level, of its branches.
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
        """Probability of each node of the tree.

        Args:
            texts: ``question.content`` of each.

        Shape:
            - vectors: ``[questions, width]``
            - output: ``[questions, nodes]``

        Raises:
            ValueError: Vectors of another width.
        """
        starts = range(0, len(texts), _CHUNK)
        parts = [self._predict(vectors[i : i + _CHUNK], texts[i : i + _CHUNK]) for i in starts]
        return np.concatenate([*parts, np.empty((0, len(self.tree.nodes)), dtype=np.float32)])

    def _predict(self, vectors: Vectors, texts: Sequence[str]) -> FloatMatrix:
        parts = self.features.parts(vectors, texts)
        branches = branch_opinion(self.tree, self.branches(joined(parts)))
        votes = {
            (i, temperature): one(self.tree, parts[i], temperature)
            for i, one in enumerate(self.neighbours)
            for temperature in {own[i] for own in self.temperatures}
        }
        frequent = np.broadcast_to(self.frequency, branches.shape)
        chance = np.zeros_like(branches)
        for level, calibration in enumerate(self.calibrations, 1):
            own = self.tree.levels == level
            near = [votes[i, temperature] for i, temperature in enumerate(self.temperatures[level - 1])]
            evidence = np.stack([kind[:, own] for kind in (branches, frequent, *near)])
            chance[:, own] = calibration.chance(evidence, self.tree.families[own], self.tree.multi_label)
        return self.tree.joint(chance)

    def to_dict(self) -> dict[str, Any]:
        """Facts for JSON; :meth:`tensors` has the rest."""
        return {
            "nodes": [list(path) for path in self.tree.nodes],
            "multi_label": self.tree.multi_label,
            "temperatures": [list(own) for own in self.temperatures],
            "calibrations": [asdict(own) for own in self.calibrations],
            "strengths": list(self.strengths),
            "vocabulary": self.features.vocabulary,
        }

    def tensors(self) -> dict[str, Any]:
        """What is large."""
        own = self.features.tensors() | {"branches.bias": self.branches.bias, "frequency": self.frequency}
        own |= _pack("branches.weight", csr_array(self.branches.weight))
        if self.neighbours:
            own |= _pack("neighbours.truth", self.neighbours[0].truth)
        for i, one in enumerate(self.neighbours):
            sparse = isinstance(one.points, csr_array)
            own |= _pack(f"neighbours.{i}", one.points) if sparse else {f"neighbours.{i}": one.points}
        return own

    @classmethod
    def load(cls, facts: dict[str, Any], tensors: dict[str, Any]) -> KnowledgeHead:
        """From what :meth:`to_dict` and :meth:`tensors` gave.

        Raises:
            KeyError: Something is not there.
        """
        truth = _unpack("neighbours.truth", tensors) if facts["temperatures"][0] else None
        points = [
            _unpack(f"neighbours.{i}", tensors) if f"neighbours.{i}.data" in tensors else tensors[f"neighbours.{i}"]
            for i in range(len(facts["temperatures"][0]))
        ]
        calibrations = (
            own | {name: tuple(own[name]) for name in ("weights", "curve")} for own in facts["calibrations"]
        )
        return cls(
            tree=ConceptTree(tuple(map(tuple, facts["nodes"])), facts["multi_label"]),
            features=Features.load(tensors, facts["vocabulary"]),
            branches=Branches(csc_array(_unpack("branches.weight", tensors)), tensors["branches.bias"]),
            neighbours=tuple(Neighbours(own, truth) for own in points),
            temperatures=tuple(map(tuple, facts["temperatures"])),
            frequency=tensors["frequency"],
            calibrations=tuple(LevelCalibration(**own) for own in calibrations),
            strengths=tuple(facts["strengths"]),
        )


@dataclass(frozen=True)
class LabelledQuestions:
    """What a head is fitted to, or calibrated on.

    Attributes:
        vectors: ``[questions, width]``.
        texts, knowledge: Of each question.
    """

    vectors: Vectors
    texts: Sequence[str]
    knowledge: list[tuple[KnowledgePath, ...]]


def fit_knowledge_head(
    train: LabelledQuestions,
    valid: LabelledQuestions,
    *,
    use_vectors: bool = True,
    use_words: bool = True,
    neighbours: bool = True,
    step: Callable[[int], None] = lambda _: None,
) -> KnowledgeHead:
    """Fit to ``train``; penalties, temperatures and weights are those that ``valid`` likes best.

    Args:
        train, valid: Questions that have a knowledge point.
        use_vectors, use_words, neighbours: What the head reads and who has a say, to see what each is worth.
        step: Told how many fits of :func:`fit_count` are done, one after the other.

    Raises:
        ValueError: No labelled question on either side, or a single concept.
    """
    if not train.knowledge or not valid.knowledge:
        raise ValueError(f"no question of {'valid' if train.knowledge else 'train'} has a knowledge point")
    tree = ConceptTree.of(train.knowledge)
    if len(tree.nodes) == tree.depth:
        raise ValueError("all questions of train have the same knowledge point")
    features = Features.fit(train.vectors if use_vectors else None, train.texts if use_words else None)
    parts, checked = (features.parts(of.vectors, of.texts) for of in (train, valid))
    truth, found = tree.indicators(train.knowledge), tree.indicators(valid.knowledge)
    voters = tuple(Neighbours(points, truth) for points in parts) if neighbours else ()
    votes = [{t: one(tree, queries, t) for t in TEMPERATURES} for one, queries in zip(voters, checked, strict=False)]
    wide, read = joined(parts), joined(checked)

    often = frequency(tree, truth)
    frequent = np.broadcast_to(often, (len(valid.knowledge), len(often)))

    def calibrated(level: int, first: FloatMatrix, *others: FloatMatrix) -> LevelCalibration:
        evidence: Evidence = np.stack([kind[:, tree.levels == level] for kind in (first, frequent, *others)])
        return calibrate_level(tree, level, evidence, found, valid.knowledge)

    chosen, temperatures, calibrations, strengths = [], [], [], []
    for level in range(1, int(tree.levels.max()) + 1):
        fits = {}
        for strength in STRENGTHS:
            own = fit_branches(tree, wide, truth, strength, level=level, step=step)
            opinion = branch_opinion(tree, own(read))
            fits[strength] = (own, opinion, calibrated(level, opinion).loss)
        strength = min(fits, key=lambda one: fits[one][2])
        best = [min(own, key=lambda t: calibrated(level, own[t]).loss) for own in votes]
        chosen.append(fits[strength][0])
        temperatures.append(tuple(best))
        calibrations.append(calibrated(level, fits[strength][1], *(own[t] for own, t in zip(votes, best, strict=True))))
        strengths.append(strength)
    branches = Branches(csc_array(sum(own.weight for own in chosen)), sum(own.bias for own in chosen))  # type: ignore[arg-type]
    return KnowledgeHead(
        tree, features, branches, voters, tuple(temperatures), often, tuple(calibrations), tuple(strengths)
    )


def fit_count(knowledge: Sequence[Sequence[KnowledgePath]]) -> int:
    """Branches that :func:`fit_knowledge_head` fits."""
    return len(ConceptTree.of(knowledge).starts) * len(STRENGTHS)


def frequency(tree: ConceptTree, truth: csr_array) -> npt.NDArray[np.float32]:
    """Of each node given its parent, ``[nodes]``: log-probability, or log-odds with half a question on either side."""
    counts = np.asarray(truth.sum(axis=0), dtype=np.float32).ravel()
    if not tree.multi_label:
        return tree.log_softmax(np.log(np.maximum(counts, 0.5))[None])[0]
    above = np.where(tree.parents < 0, truth.shape[0], counts[np.maximum(tree.parents, 0)])
    return np.log((counts + 0.5) / (above - counts + 0.5)).astype(np.float32)


def branch_opinion(tree: ConceptTree, logits: FloatMatrix) -> FloatMatrix:
    """Log-probabilities given the parent; log-odds in a multi-label tree."""
    return logits if tree.multi_label else tree.log_softmax(logits)


def _pack(name: str, matrix: csr_array) -> dict[str, Any]:
    shape = np.array(matrix.shape, dtype=np.int64)
    parts = {"data": matrix.data.astype(np.float32), "indices": matrix.indices, "indptr": matrix.indptr, "shape": shape}
    return {f"{name}.{part}": value for part, value in parts.items()}


def _unpack(name: str, tensors: dict[str, Any]) -> csr_array:
    data, indices, indptr, shape = (tensors[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape"))
    return csr_array((data, indices, indptr), shape=tuple(map(int, shape)))
