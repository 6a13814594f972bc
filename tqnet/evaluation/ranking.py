"""Who is near whom: rankers give the first ``depth`` neighbours of each query, ties broken by id."""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import FloatArray, IntArray, recall_at_k
from tqnet.questions import QuestionBank, Similarity

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


# How many of a question's similar ones are among the first n of a ranking (FSE, Eq. 7, R@100).


@dataclass(frozen=True)
class RecallResult:
    """R@n of each query that has a similar question.

    Attributes:
        queries: Indices into the bank, ``[queries]``.
        groups: Of each query, for the bootstrap.
        recall: 0 to 1; a query with more than n similar questions cannot reach 1.
    """

    n: int
    queries: IntArray
    groups: IntArray
    recall: FloatArray


def rank_recall(
    ranker: Ranker | npt.NDArray[np.floating], bank: QuestionBank, similarity: Similarity, split: str | None, n: int
) -> RecallResult:
    """Queries of one split (``None``: of all) against the whole bank, searched exactly, each query itself left out.

    What an index finds by text, by vectors and by both: ``tqnet evaluate retrieval``.
    """
    if not isinstance(ranker, Ranker):
        ranker = VectorRanker(ranker, bank.ids)
    asked = np.array([split in (None, of) for of in bank.column("split")], dtype=bool) & similarity.has_similar
    queries = np.flatnonzero(asked)
    similar = [similarity.neighbours(int(query)) for query in queries]
    nearest = ranker.top(queries, np.arange(len(bank)), n)
    hits = np.array([np.isin(row, own) for row, own in zip(nearest, similar, strict=True)]).reshape(-1, n)
    relevant = np.array([len(own) for own in similar], dtype=np.int64)
    return RecallResult(n, queries, similarity.groups[queries], recall_at_k(hits, relevant, n))


# What a vector has to beat: word overlap (TF-IDF, BM25).


_TOKEN = re.compile(
    r"(?P<command>\\[A-Za-z]+)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)"
    r"|(?P<word>[^\W\d_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|\d+)"
)


def lexical_tokens(text: str) -> list[str]:
    r"""Words in lower case, numbers, LaTeX commands (``\frac``, case kept: ``\Delta`` is not ``\delta``), and
    for Chinese every character and every pair of neighbouring characters, which needs no dictionary.
    """
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        piece = match.group()
        if match.lastgroup == "command":
            tokens.append(piece)
        elif match.lastgroup == "han":
            tokens += piece
            tokens += (piece[i : i + 2] for i in range(len(piece) - 1))
        else:
            tokens.append(piece.lower())
    return tokens


class TfidfRanker(Ranker):
    """Ranks by the cosine of TF-IDF vectors (scikit-learn), document frequencies from all the texts.

    A text without a token, a bare figure say, scores 0 with every other.

    Args:
        texts: One per question of the bank (``question.content``).
    """

    def __init__(self, texts: Sequence[str], ids: Sequence[str]):
        from scipy.sparse import csr_array
        from sklearn.feature_extraction.text import TfidfVectorizer

        super().__init__(ids)
        vectorizer = TfidfVectorizer(analyzer=lexical_tokens, dtype=np.float32, sublinear_tf=True)
        wordless = not any(lexical_tokens(text) for text in texts)  # scikit-learn refuses an empty vocabulary
        self._matrix = csr_array((len(texts), 1), dtype=np.float32) if wordless else vectorizer.fit_transform(texts)

    def scores(self, queries: IntArray, corpus: IntArray) -> ScoreArray:
        cosine = (self._matrix[queries] @ self._matrix[corpus].T).toarray()
        return np.round(cosine, 6, out=cosine)

    def vectors(self, width: int = 384, seed: int = 0) -> ScoreArray:
        """The TF-IDF matrix reduced by a truncated SVD, for tasks that need vectors, ``[questions, width]``.

        Fewer columns where there are not as many questions or words. The components are turned by a random
        rotation, which changes no cosine: a probe standardises each feature, and would otherwise blow the
        components of least variance, which are noise, up to the size of the first.
        """
        from sklearn.decomposition import TruncatedSVD

        if self._matrix.shape[1] < 2:  # texts of one word, or none, leave nothing to reduce
            return self._matrix.toarray()
        width = max(1, min(width, *(size - 1 for size in self._matrix.shape)))
        reduced = TruncatedSVD(width, random_state=seed).fit_transform(self._matrix)
        rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))
        return (reduced @ rotation).astype(np.float32)


class Bm25Ranker(Ranker):
    """Ranks by BM25 (Lucene's form, k1 = 1.5, b = 0.75; ``bm25s``), document frequencies from all the texts.

    A text without a token, a bare figure say, scores 0 with every other.

    Args:
        texts: One per question of the bank (``question.content``).
    """

    def __init__(self, texts: Sequence[str], ids: Sequence[str]):
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it logs every step, and sets its level on import
        super().__init__(ids)
        self._tokens = [lexical_tokens(text) for text in texts]
        self._index = bm25s.BM25()
        if any(self._tokens):  # bm25s can neither index nor look for nothing
            self._index.index(self._tokens, show_progress=False)

    def scores(self, queries: IntArray, corpus: IntArray) -> ScoreArray:
        scores = np.zeros((len(queries), len(corpus)), dtype=np.float32)
        for row, query in zip(scores, queries, strict=True):
            if tokens := self._tokens[query]:
                row[:] = self._index.get_scores(tokens)[corpus]
        return scores
