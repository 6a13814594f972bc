"""Inputs of a head: vectors, TF-IDF words, and votes of near training questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, issparse

from tqnet.evaluation.ranking import lexical_tokens
from tqnet.prediction.tree import ConceptTree, FloatMatrix

Vectors = npt.NDArray[np.floating]

#: Share of each question's votes to spread over the training set, so that no concept has probability 0.
_SPREAD = 0.05


@dataclass(frozen=True)
class Examples:
    """Questions to fit a head to, or to calibrate it on.

    Attributes:
        vectors: ``[questions, width]``.
        texts: ``question.content`` of each.
        labels: Knowledge paths or difficulty of each.
        groups: Group of each; questions of a group are not independent.
    """

    vectors: Vectors
    texts: Sequence[str]
    labels: Sequence[Any]
    groups: Sequence[str] = ()


@dataclass(frozen=True)
class Features:
    """Words by TF-IDF, ``1 + log(count)`` times the inverse document frequency, and centred vectors, of length 1 each.

    Attributes:
        words: Words of the training questions, sorted.
        idf: ``[words]``.
        mean: Mean training vector, ``[width]``; None leaves vectors out.
    """

    words: tuple[str, ...]
    idf: npt.NDArray[np.float32]
    mean: npt.NDArray[np.float32] | None

    @classmethod
    def fit(cls, texts: Sequence[str], vectors: Vectors | None) -> Features:
        counts = Counter(word for text in texts for word in set(lexical_tokens(text)))
        words = sorted(counts)
        frequency = np.array([counts[word] for word in words], dtype=np.float64)
        idf = (np.log((1 + len(texts)) / (1 + frequency)) + 1).astype(np.float32)
        mean = None if vectors is None else vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        return cls(tuple(words), idf, mean)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def parts(self, vectors: Vectors, texts: Sequence[str]) -> list[Any]:
        """Return words ``[n, words]``, sparse, and directions ``[n, width]``, unless vectors are left out.

        Raises:
            ValueError: Vectors of another width.
        """
        if self.mean is None:
            return [self._tfidf(texts)]
        if vectors.ndim != 2 or vectors.shape[1] != len(self.mean):
            raise ValueError(f"the head takes vectors [questions, {len(self.mean)}], not {list(vectors.shape)}")
        centred = vectors.astype(np.float32) - self.mean
        return [self._tfidf(texts), centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)]

    def _tfidf(self, texts: Sequence[str]) -> csr_array:
        """Return ``[texts, words]``; a text without known words is 0."""
        data, columns = [np.empty(0, dtype=np.float32)], [np.empty(0, dtype=np.int32)]
        for text in texts:
            known = [self._index[word] for word in lexical_tokens(text) if word in self._index]
            words, counts = np.unique(np.array(known, dtype=np.int32), return_counts=True)
            weights = (1 + np.log(counts)) * self.idf[words]
            data.append((weights / max(float(np.linalg.norm(weights)), 1e-12)).astype(np.float32))
            columns.append(words)
        indptr = np.cumsum(list(map(len, columns))).astype(np.int32)
        shape = (len(texts), max(1, len(self.words)))
        return csr_array((np.concatenate(data), np.concatenate(columns), indptr), shape=shape)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays; :meth:`load` also takes the words."""
        tensors = {} if self.mean is None else {"features.mean": self.mean}
        return tensors | {"features.idf": self.idf}

    @classmethod
    def load(cls, words: list[str], tensors: dict[str, Any]) -> Features:
        return cls(tuple(words), tensors["features.idf"], tensors.get("features.mean"))


def joined(parts: Sequence[Any]) -> csr_array:
    """Stack parts horizontally."""
    return csr_array(hstack([csr_array(part) for part in parts], format="csr", dtype=np.float32))


@dataclass(frozen=True)
class Neighbours:
    """Training questions voting for their concepts with ``exp(cosine / temperature)``, which helps rare concepts.

    Attributes:
        points: Features of the training questions, ``[questions, features]``, of length 1; sparse or dense.
        truth: Their nodes, ``[questions, nodes]``.
    """

    points: Any
    truth: csr_array

    def __call__(self, tree: ConceptTree, queries: Any, temperature: float) -> FloatMatrix:
        """Return log-probabilities given the parent, ``[queries, nodes]``; log-odds in a multi-label tree."""
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
