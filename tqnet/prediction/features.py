"""What a head reads of a question: its vector, and its words by TF-IDF."""

from __future__ import annotations

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


@dataclass(frozen=True)
class WordFeatures:
    """TF-IDF of a question's words, ``1 + log(count)`` times the inverse document frequency, of length 1.

    Attributes:
        words: Those of the training questions, sorted.
        idf: ``[words]``.
    """

    words: tuple[str, ...]
    idf: npt.NDArray[np.float32]

    @classmethod
    def fit(cls, texts: Sequence[str]) -> WordFeatures:
        """Words and their document frequencies in the training questions."""
        counts: dict[str, int] = {}
        for text in texts:
            for word in set(lexical_tokens(text)):
                counts[word] = counts.get(word, 0) + 1
        words = sorted(counts)
        frequency = np.array([counts[word] for word in words], dtype=np.float64)
        return cls(tuple(words), (np.log((1 + len(texts)) / (1 + frequency)) + 1).astype(np.float32))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def __call__(self, texts: Sequence[str]) -> csr_array:
        """``[texts, words]``; a text without a known word is 0 throughout."""
        data: list[npt.NDArray[np.float32]] = []
        columns: list[npt.NDArray[np.int32]] = []
        for text in texts:
            known = [number for word in lexical_tokens(text) if (number := self._index.get(word)) is not None]
            own, counts = np.unique(np.array(known, dtype=np.int32), return_counts=True)
            weights = (1 + np.log(counts)) * self.idf[own]
            data.append((weights / max(float(np.linalg.norm(weights)), 1e-12)).astype(np.float32))
            columns.append(own)
        indptr = np.concatenate([[0], np.cumsum([len(own) for own in columns])]).astype(np.int32)
        parts = (_joined(data, np.float32), _joined(columns, np.int32), indptr)
        return csr_array(parts, shape=(len(texts), max(1, len(self.words))))


@dataclass(frozen=True)
class Features:
    """Words and centred unit vectors; either may be left out, to see what the other is worth.

    Attributes:
        mean: ``[width]``, of the training vectors; None leaves vectors out.
        words: None leaves words out.
    """

    mean: npt.NDArray[np.float32] | None
    words: WordFeatures | None

    @classmethod
    def fit(cls, vectors: Vectors | None, texts: Sequence[str] | None) -> Features:
        mean = None if vectors is None else vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        return cls(mean, None if texts is None else WordFeatures.fit(texts))

    def directions(self, vectors: Vectors) -> npt.NDArray[np.float32]:
        """Vectors less the mean, of length 1; one that equals the mean is 0.

        Raises:
            ValueError: Vectors of another width.
        """
        assert self.mean is not None
        if vectors.ndim != 2 or vectors.shape[1] != len(self.mean):
            raise ValueError(f"the head takes vectors [questions, {len(self.mean)}], not {list(vectors.shape)}")
        centred = vectors.astype(np.float32) - self.mean
        return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)

    def parts(self, vectors: Vectors, texts: Sequence[str]) -> list[Any]:
        """Words ``[n, words]`` (sparse) and directions ``[n, width]``, those of the two that are read."""
        own: list[Any] = [] if self.words is None else [self.words(texts)]
        return own if self.mean is None else [*own, self.directions(vectors)]

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """For ``Features.load``, with :attr:`vocabulary`."""
        own = {} if self.mean is None else {"features.mean": self.mean}
        return own if self.words is None else own | {"features.idf": self.words.idf}

    @property
    def vocabulary(self) -> list[str] | None:
        return None if self.words is None else list(self.words.words)

    @classmethod
    def load(cls, tensors: dict[str, Any], vocabulary: list[str] | None) -> Features:
        words = None if vocabulary is None else WordFeatures(tuple(vocabulary), tensors["features.idf"])
        return cls(tensors.get("features.mean"), words)


def joined(parts: Sequence[Any]) -> csr_array:
    """The parts side by side."""
    return csr_array(hstack([csr_array(part) for part in parts], format="csr", dtype=np.float32))


def _joined(parts: Sequence[npt.NDArray[Any]], dtype: Any) -> npt.NDArray[Any]:
    return np.concatenate([*parts, np.empty(0, dtype=dtype)])


# What the training questions nearest to a question have: good for concepts with few questions.


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
