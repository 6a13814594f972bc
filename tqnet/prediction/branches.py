"""Logistic regression at every branch of the tree, on the questions that reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, hstack

from tqnet.prediction.tree import ConceptTree, FloatMatrix

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
