"""What the training questions nearest to a question have: good for concepts with few questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from tqnet.prediction.tree import ConceptTree, FloatMatrix

#: Share of every question that is spread over the training set, so that no concept has probability 0.
_SPREAD = 0.05


@dataclass(frozen=True)
class Neighbours:
    """Every training question votes for its concepts with ``exp(cosine / temperature)``.

    Attributes:
        points: ``[questions, features]`` of the training questions, of length 1; sparse or not.
        truth: ``[questions, nodes]``, what they have.
    """

    points: Any
    truth: csr_array

    def __call__(self, tree: ConceptTree, queries: Any, temperature: float) -> FloatMatrix:
        """Log-probability of each node given its parent, ``[queries, nodes]``; log-odds in a multi-label tree."""
        cosine = queries @ self.points.T
        cosine = (cosine.toarray() if issparse(cosine) else cosine).astype(np.float32)
        votes = np.exp((cosine - cosine.max(axis=1, keepdims=True)) / temperature)
        votes *= (1 - _SPREAD) / votes.sum(axis=1, keepdims=True)
        votes += _SPREAD / votes.shape[1]
        share = (self.truth.T @ votes.T).T
        if not tree.multi_label:
            return tree.log_softmax(np.log(share))
        above = np.where(tree.parents < 0, 1.0, share[:, np.maximum(tree.parents, 0)])
        chance = np.clip(share / above, 1e-4, 1 - 1e-4)
        return np.log(chance / (1 - chance)).astype(np.float32)
