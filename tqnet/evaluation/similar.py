"""The similar-question task: P@k of a ranking over a bank, overall and by pair structure (TQ-Net, Tables 2-6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import (
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    bootstrap_interval,
    group_mean,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from tqnet.evaluation.ranking import Ranker, VectorRanker

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank, Similarity

#: The columns of TQ-Net's Table 6, then its middle one by direction: (queries have figures, corpus has figures).
STRUCTURES: dict[str, tuple[tuple[bool, bool], ...]] = {
    "text-text": ((False, False),),
    "text-image": ((False, True), (True, False)),
    "image-image": ((True, True),),
    "text-to-image": ((False, True),),
    "image-to-text": ((True, False),),
}


@dataclass(frozen=True)
class RankingScores:
    """How well one set of queries finds its similar questions in one corpus.

    Attributes:
        queries: Indices into the bank of the queries that count, ``[queries]``: those with at least k similar
            questions in the corpus.
        groups: Number of each query's group, ``[queries]``; questions of different groups are never similar.
        nearest: First k neighbours of each query, ``[queries, k]``, ``-1`` where the corpus has run out.
        hits: Which of them are similar, ``[queries, k]``.
        precision: P@k of each query, ``[queries]``, kept for comparing two models query by query.
        reciprocal, recall, ndcg: The other metrics of each query, ``[queries]``.
        left_out: Queries with fewer than k similar questions in the corpus.
        interval: 95 % bootstrap interval of the mean precision, resampled by group.
    """

    queries: IntArray
    groups: IntArray
    nearest: IntArray
    hits: BoolArray
    precision: FloatArray
    reciprocal: FloatArray
    recall: FloatArray
    ndcg: FloatArray
    left_out: int
    interval: Interval

    def __len__(self) -> int:
        return len(self.queries)

    def summary(self) -> dict[str, float | int | None]:
        """The means as plain numbers for JSON; ``None`` where no query counts."""
        means = {
            "precision": _mean(self.precision),
            **self.interval._asdict(),
            "mrr": _mean(self.reciprocal),
            "recall": _mean(self.recall),
            "ndcg": _mean(self.ndcg),
            "group_mean": group_mean(self.precision, self.groups),
        }
        numbers = {name: value if np.isfinite(value) else None for name, value in means.items()}
        return {**numbers, "queries": len(self), "left_out": self.left_out}


@dataclass(frozen=True)
class SimilarResult:
    """Outcome of ``evaluate_similar``.

    Attributes:
        overall: Searched in the whole bank.
        labelled: The same queries, searched among questions that are labelled; ``overall`` counts the others as
            mistakes, this skips them (condensed lists, Sakai 2007). ``None`` where all are labelled.
        structures: Scores by whether query and corpus have figures.
    """

    k: int
    depth: int
    split: str | None
    overall: RankingScores
    labelled: RankingScores | None
    structures: dict[str, RankingScores]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {
            "k": self.k,
            "depth": self.depth,
            "split": self.split,
            "overall": self.overall.summary(),
            "labelled": self.labelled.summary() if self.labelled else None,
            "structures": {name: scores.summary() for name, scores in self.structures.items()},
        }


@dataclass(frozen=True)
class RecallResult:
    """R@n of each query that has a similar question (FSE, Eq. 7).

    Attributes:
        queries: Indices into the bank, ``[queries]``.
        groups: Group of each query, for the bootstrap.
        recall: 0 to 1; a query with more than n similar questions cannot reach 1.
    """

    n: int
    queries: IntArray
    groups: IntArray
    recall: FloatArray


def evaluate_similar(
    ranker: Ranker | npt.NDArray[np.floating],
    bank: QuestionBank,
    similarity: Similarity,
    split: str | None = "test",
    *,
    k: int = 5,
    depth: int = 100,
    parts: bool = True,
    pictured: BoolArray | None = None,
    repeats: int = 2000,
    seed: int = 0,
) -> SimilarResult:
    """Search queries of one split (``None``: of all) in the whole bank, each query itself left out.

    Args:
        ranker: A ranker, or vectors ``[questions, width]`` to be ranked by cosine.
        depth: How deep MRR looks; at least k.
        parts: Also score searches in parts of the bank: among labelled questions, and by whether query and corpus
            have figures (TQ-Net, Table 6). Queries of the latter need k similar questions in their part, so the parts
            have different queries: compare models within a part, not the parts of one model.
        pictured: Which questions count as having figures, ``[questions]``; by default those that have some in
            ``bank``.
        repeats, seed: Number of draws and seed of the bootstrap.

    Raises:
        ValueError: The vectors are not one per question, or not finite, or ``depth < k``.
    """
    if depth < k:
        raise ValueError(f"depth = {depth} is less than k = {k}")
    if not isinstance(ranker, Ranker):
        ranker = VectorRanker(ranker, bank.ids)
    everyone, queries = np.arange(len(bank)), np.flatnonzero(in_split(bank, split))

    def score(searches: list[tuple[IntArray, IntArray]]) -> RankingScores:
        """Scores of (queries, corpus) pairs of index arrays, the queries of all of them together."""
        results = [_search(ranker, similarity, *search, depth, least=k) for search in searches]
        counted, nearest, hits, relevant = (np.concatenate(column) for column in zip(*results, strict=True))
        groups, (precision, _) = similarity.groups[counted], precision_at_k(hits, relevant, k)
        return RankingScores(
            queries=counted,
            groups=groups,
            nearest=nearest[:, :k],
            hits=hits[:, :k],
            precision=precision,
            reciprocal=reciprocal_rank(hits),
            recall=recall_at_k(hits, relevant, k),
            ndcg=ndcg_at_k(hits, relevant, k),
            left_out=sum(len(queries) for queries, _ in searches) - len(counted),
            interval=bootstrap_interval(precision, groups, repeats=repeats, seed=seed),
        )

    overall = score([(queries, everyone)])
    if not parts:
        return SimilarResult(k, depth, split, overall, None, {})
    labelled = None if similarity.labelled.all() else score([(queries, everyone[similarity.labelled])])
    if pictured is None:
        pictured = has_figures(bank)
    cells = {
        name: score([(queries[pictured[queries] == q], everyone[pictured == c]) for q, c in directions])
        for name, directions in STRUCTURES.items()
    }
    return SimilarResult(k, depth, split, overall, labelled, cells)


def in_split(bank: QuestionBank, split: str | None) -> BoolArray:
    """Mark the questions of a split, ``[questions]``; all for ``None``."""
    return np.array([split in (None, name) for name in bank.column("split")], dtype=bool)


def has_figures(bank: QuestionBank) -> BoolArray:
    """Mark the questions with figures, ``[questions]``."""
    return np.array([len(images) > 0 for images in bank.column("images")], dtype=bool)


def paired_difference(first: RankingScores, second: RankingScores) -> tuple[float, Interval]:
    """Return the mean of P@k of the second minus the first, and its 95 % interval, resampled by group.

    Query by query: most of what makes a query hard is common to both and cancels. The models differ where the interval
    leaves 0 out.

    Raises:
        ValueError: The two were not scored on the same queries.
    """
    if not np.array_equal(first.queries, second.queries):
        raise ValueError("the two results are about different queries")
    delta = second.precision - first.precision
    return _mean(delta), bootstrap_interval(delta, first.groups)


def rank_recall(
    ranker: Ranker | npt.NDArray[np.floating], bank: QuestionBank, similarity: Similarity, split: str | None, n: int
) -> RecallResult:
    """Search queries of one split (``None``: of all) in the whole bank, exactly, each query itself left out.

    ``tqnet evaluate recall`` measures what an index finds.
    """
    if not isinstance(ranker, Ranker):
        ranker = VectorRanker(ranker, bank.ids)
    queries = np.flatnonzero(in_split(bank, split))
    queries, _, hits, relevant = _search(ranker, similarity, queries, np.arange(len(bank)), n, least=1)
    return RecallResult(n, queries, similarity.groups[queries], recall_at_k(hits, relevant, n))


def _search(
    ranker: Ranker, similarity: Similarity, queries: IntArray, corpus: IntArray, depth: int, least: int
) -> tuple[IntArray, IntArray, BoolArray, IntArray]:
    """Return queries with ``least`` or more similar questions, their neighbours, hits, and number of similar ones."""
    within = np.zeros(len(similarity), dtype=bool)
    within[corpus] = True
    neighbours = [similarity.neighbours(int(query)) for query in queries]
    similar = [members[within[members]] for members in neighbours]
    relevant = np.array([len(members) for members in similar], dtype=np.int64)
    kept = np.flatnonzero(relevant >= least)
    nearest = ranker.top(queries[kept], corpus, depth)
    hits = np.zeros(nearest.shape, dtype=bool)
    for row, place in enumerate(kept):
        hits[row] = np.isin(nearest[row], similar[place])  # the filling of a short row, NOBODY, is never similar
    return queries[kept], nearest, hits, relevant[kept]


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")
