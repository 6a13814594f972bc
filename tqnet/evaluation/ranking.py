"""Who is near whom: rankers give the first ``depth`` neighbours of each query, ties broken by id."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import IntArray

ScoreArray = npt.NDArray[np.float32]

#: Scores held at a time: 64 MB of fp32, whatever the number of queries.
_BLOCK_SCORES = 2**24

#: Fills the end of a row whose corpus is smaller than the depth.
NOBODY = -1


class Ranker(ABC):
    """Scores pairs of questions of one bank; questions are named by their index in it.

    Args:
        ids: The bank's ids: of two equal scores, the smaller id comes first.
    """

    def __init__(self, ids: Sequence[str]):
        self._by_id = np.empty(len(ids), dtype=np.int64)
        self._by_id[np.argsort(np.asarray(ids, dtype=object), kind="stable")] = np.arange(len(ids))

    @abstractmethod
    def scores(self, queries: IntArray, corpus: IntArray) -> ScoreArray:
        """Score of each query with each question of the corpus, ``[queries, corpus]``; larger is nearer."""

    def top(self, queries: IntArray, corpus: IntArray, depth: int) -> IntArray:
        """The ``depth`` nearest questions of the corpus to each query, nearest first, itself left out.

        Shape:
            - queries: ``[queries]``, corpus: ``[corpus]``, indices into the bank
            - output: ``[queries, depth]``, indices into the bank; ``NOBODY`` where the corpus has run out
        """
        corpus = corpus[np.argsort(self._by_id[corpus])]
        column_of = np.full(len(self._by_id), NOBODY)
        column_of[corpus] = np.arange(len(corpus))
        result = np.full((len(queries), depth), NOBODY)
        step = max(1, _BLOCK_SCORES // max(1, len(corpus)))
        for start in range(0, len(queries), step):
            block = queries[start : start + step]
            scores = self.scores(block, corpus)
            own = column_of[block]
            rows = np.flatnonzero(own != NOBODY)
            scores[rows, own[rows]] = -np.inf
            columns = top_columns(scores, depth)
            found = np.isfinite(np.take_along_axis(scores, columns, axis=1))
            result[start : start + step, : columns.shape[1]] = np.where(found, corpus[columns], NOBODY)
        return result


class VectorRanker(Ranker):
    """Ranks by cosine similarity in fp32.

    Scores are rounded to six decimals, about the error of an fp32 cosine: a matrix product may give two equal
    vectors scores that differ in the last bit, depending on where they lie in its blocks.

    Args:
        vectors: ``[questions, width]``; a zero vector has cosine 0 with everything.

    Raises:
        ValueError: A vector is not finite, or there are not as many as ids.
    """

    def __init__(self, vectors: npt.NDArray[np.floating], ids: Sequence[str]):
        super().__init__(ids)
        if len(vectors) != len(ids):
            raise ValueError(f"{len(vectors)} vectors for {len(ids)} questions")
        if bad := int((~np.isfinite(vectors)).any(axis=1).sum()):
            raise ValueError(f"{bad} of {len(vectors)} vectors hold NaN or infinity")
        single = vectors.astype(np.float32)
        norms = np.linalg.norm(single, axis=1, keepdims=True)
        self._unit: ScoreArray = (single / np.where(norms > 0, norms, 1.0)).astype(np.float32)

    def scores(self, queries: IntArray, corpus: IntArray) -> ScoreArray:
        cosine: ScoreArray = self._unit[queries] @ self._unit[corpus].T
        return np.round(cosine, 6, out=cosine)


def top_columns(scores: ScoreArray, depth: int) -> IntArray:
    """Columns of the ``depth`` largest scores of each row, largest first, equal ones in column order.

    ``argpartition`` alone is free to choose among equal scores at the cut, so the rare rows in which equal
    scores lie on both sides of it are sorted in full.

    Shape:
        - scores: ``[rows, columns]``
        - output: ``[rows, min(depth, columns)]``
    """
    width = scores.shape[1]
    depth = min(depth, width)
    if depth == 0 or not len(scores):
        return np.zeros((len(scores), depth), dtype=np.int64)
    columns = np.argpartition(scores, width - depth, axis=1)[:, width - depth :]
    smallest = np.take_along_axis(scores, columns, axis=1).min(axis=1, keepdims=True)
    torn = np.flatnonzero((scores >= smallest).sum(axis=1) > depth)
    columns[torn] = np.argsort(-scores[torn], axis=1, kind="stable")[:, :depth]
    columns.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)
