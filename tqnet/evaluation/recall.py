"""How many of a question's similar ones are among the first n of a ranking (FSE, Eq. 7, R@100)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import FloatArray, IntArray, recall_at_k
from tqnet.evaluation.ranking import Ranker, VectorRanker
from tqnet.questions import QuestionBank, Similarity


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

    What an index finds by text, by vectors and by both: ``tqnet evaluate recall``.
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
