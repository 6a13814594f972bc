"""How well similarities of vectors agree with groups and the knowledge hierarchy (QuesCo, Figures 3 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import FloatArray, IntArray, Interval, percentiles

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank, Similarity

#: Pairs that are drawn of each rank, where there are as many.
PAIRS_PER_RANK = 2000

#: Questions that pairs are drawn of: as many as a matrix of all pairs has room for.
MOST_QUESTIONS = 5000


@dataclass(frozen=True)
class Pairs:
    """Pairs of questions with the rank of each: 0 for similar ones, then KH-distances.

    Attributes:
        first, second: Places in the bank, ``[p]``.
        ranks: ``[p]``, 0 to L + 1.
        groups: Of the first question, by which the bootstrap draws, ``[p]``.
    """

    first: IntArray
    second: IntArray
    ranks: IntArray
    groups: IntArray


@dataclass(frozen=True)
class RankSimilarity:
    """Cosine of the pairs of one rank: mean and quartiles."""

    rank: int
    pairs: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class AgreementResult:
    """Outcome of ``evaluate_agreement``.

    Attributes:
        pearson, spearman: Between the cosine and minus the rank of a pair.
        spearman_interval: 95 % bootstrap interval, resampled by the first question's group.
        ranks: Similarity by rank, 0 first.
        depth: L of the hierarchy.
    """

    pearson: float
    spearman: float
    spearman_interval: Interval
    ranks: tuple[RankSimilarity, ...]
    depth: int

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        plain = {name: value for name, value in vars(self).items() if name != "ranks"}
        return plain | {"ranks": [vars(rank) for rank in self.ranks]}


def draw_pairs(
    bank: QuestionBank, similarity: Similarity, split: str | None = "test", *, most: int = PAIRS_PER_RANK, seed: int = 0
) -> tuple[Pairs, int]:
    """As many pairs of each rank, within a split, and the depth of the hierarchy.

    Most pairs of questions share nothing: drawn without regard to rank, they would be all that counts.
    """
    from tqnet.questions.distance import KnowledgeDistance

    distance = KnowledgeDistance(bank.column("knowledge"))
    places = np.array([i for i, own in enumerate(bank.column("split")) if split is None or own == split], dtype=int)
    rng = np.random.default_rng(seed)
    if len(places) > MOST_QUESTIONS:
        places = np.sort(rng.choice(places, MOST_QUESTIONS, replace=False))
    ranks = distance(places, places)
    ranks[similarity.matrix(places)] = 0
    ranks[np.tril_indices(len(places))] = -1  # each pair once
    found = []
    for rank in range(distance.depth + 2):
        pairs = np.flatnonzero(ranks == rank)
        found.append(rng.choice(pairs, min(most, len(pairs)), replace=False))
    chosen = np.concatenate(found)
    first, second = np.unravel_index(chosen, ranks.shape)
    groups = similarity.groups[places[first]]
    return Pairs(places[first], places[second], ranks.ravel()[chosen].astype(np.int64), groups), distance.depth


def evaluate_agreement(vectors: npt.NDArray[np.floating], pairs: Pairs, depth: int, seed: int = 0) -> AgreementResult:
    """Correlate the cosine of each pair with its rank.

    Args:
        vectors: ``[questions, width]`` of the bank that the pairs were drawn of.

    Raises:
        ValueError: All pairs are of one rank.
    """
    from scipy.stats import pearsonr, spearmanr

    if len(np.unique(pairs.ranks)) < 2:
        raise ValueError("pairs of two ranks at least are needed")
    cosine = _cosine(vectors, pairs)
    nearness = -pairs.ranks.astype(np.float64)
    members = [np.flatnonzero(pairs.groups == group) for group in np.unique(pairs.groups)]
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(200):
        rows = np.concatenate([members[group] for group in rng.integers(len(members), size=len(members))])
        if np.ptp(nearness[rows]):  # else no correlation is defined
            draws.append(float(spearmanr(cosine[rows], nearness[rows]).statistic))
    by_rank = [(int(rank), cosine[pairs.ranks == rank]) for rank in np.unique(pairs.ranks)]
    return AgreementResult(
        pearson=float(pearsonr(cosine, nearness).statistic),
        spearman=float(spearmanr(cosine, nearness).statistic),
        spearman_interval=percentiles(np.array(draws)),
        ranks=tuple(
            RankSimilarity(rank, len(own), float(own.mean()), *np.quantile(own, [0.25, 0.75]).tolist())
            for rank, own in by_rank
        ),
        depth=depth,
    )


def _cosine(vectors: npt.NDArray[np.floating], pairs: Pairs) -> FloatArray:
    first, second = (vectors[ends].astype(np.float64) for ends in (pairs.first, pairs.second))
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.einsum("pd,pd->p", first, second) / np.maximum(norms, 1e-12)
