"""What a vector has to beat: word overlap (TF-IDF, BM25)."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from tqnet.evaluation.metrics import IntArray
from tqnet.evaluation.ranking import Ranker, ScoreArray

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
