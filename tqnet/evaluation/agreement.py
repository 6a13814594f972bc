"""How well similarities of vectors agree with judges, or with groups and the knowledge hierarchy (QuesCo, Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import FloatArray, IntArray, Interval, drawn_groups, percentiles
from tqnet.evaluation.similar import in_split
from tqnet.questions.hierarchy import KnowledgeDistance

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank, Similarity
    from tqnet.questions.pairs import ScoredPairs

#: Maximum number of pairs drawn of each rank.
PAIRS_PER_RANK = 2000
#: Maximum number of questions to draw pairs of: a matrix of all their pairs must fit in memory.
MOST_QUESTIONS = 5000


@dataclass(frozen=True)
class Pairs:
    """Pairs of questions, and their nearness by labels or judges.

    Attributes:
        first, second: Places in the bank, ``[p]``.
        nearness: Compared with cosines, ``[p]``: minus the rank, or the score of a judge.
        ranks: ``[p]``, 0 for questions of one group, then KH-distances: L + 1 without a concept in common, L + 2 where
            one of them has none.
        groups: Groups of both questions, which the bootstrap draws, ``[2, p]``.
        depth: Number of levels L of the hierarchy.
        judged: Whether nearness is the score of a judge.
    """

    first: IntArray
    second: IntArray
    nearness: FloatArray
    ranks: IntArray
    groups: IntArray
    depth: int
    judged: bool = False


@dataclass(frozen=True)
class RankSimilarity:
    """Mean and quartiles of the cosines of one rank's pairs; and the judges' mean score, if there are judges."""

    rank: int
    pairs: int
    mean: float
    low: float
    high: float
    score: float | None

    @property
    def name(self) -> str:
        return rank_name(self.rank)


@dataclass(frozen=True)
class AgreementResult:
    """Outcome of ``evaluate_agreement``.

    Attributes:
        pearson, spearman: Correlation between the cosine of a pair and its nearness.
        spearman_interval: 95 % bootstrap interval, resampled by group: a pair counts as often as both of its groups
            are drawn, so that many pairs of one question are not taken for many questions.
        pairs: Number of pairs.
        ranks: Similarity by rank, 0 first, of pairs whose rank is known.
        depth, judged: As in ``Pairs``.
    """

    pearson: float
    spearman: float
    spearman_interval: Interval
    pairs: int
    ranks: tuple[RankSimilarity, ...]
    depth: int
    judged: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        ranks = [vars(rank) for rank in self.ranks]
        return vars(self) | {"spearman_interval": self.spearman_interval.to_json(), "ranks": ranks}


def rank_name(rank: int) -> str:
    """Name a rank: ``similar`` for 0, then ``khd 1`` and so on."""
    return f"khd {rank}" if rank else "similar"


def draw_ranked_pairs(
    bank: QuestionBank, similarity: Similarity, split: str | None = "test", *, most: int = PAIRS_PER_RANK, seed: int = 0
) -> Pairs:
    """Draw equally many pairs of each rank within a split; the smaller the rank, the nearer.

    Most pairs of questions share nothing: drawn without regard to rank, they would dominate.
    """
    distance = KnowledgeDistance(bank.column("knowledge"))
    places = np.flatnonzero(in_split(bank, split))
    rng = np.random.default_rng(seed)
    if len(places) > MOST_QUESTIONS:
        places = np.sort(rng.choice(places, MOST_QUESTIONS, replace=False))
    ranks = distance(places, places)
    ranks[similarity.matrix(places)] = 0
    ranks[np.tril_indices(len(places))] = -1  # each pair once
    drawn = []
    for rank in range(distance.depth + 2):
        pairs = np.flatnonzero(ranks == rank)
        drawn.append(rng.choice(pairs, min(most, len(pairs)), replace=False))
    chosen = np.concatenate(drawn)
    first, second = (places[ends] for ends in np.unravel_index(chosen, ranks.shape))
    rank_of = ranks.ravel()[chosen].astype(np.int64)
    groups = similarity.groups[np.stack([first, second])]
    return Pairs(first, second, -rank_of.astype(np.float64), rank_of, groups, distance.depth)


def judged_pairs(bank: QuestionBank, similarity: Similarity, scored: ScoredPairs, split: str | None = "test") -> Pairs:
    """Return the judged pairs within a split; the higher the score, the nearer."""
    within = in_split(bank, split)
    chosen = within[scored.first] & within[scored.second]
    first, second = scored.first[chosen], scored.second[chosen]
    distance = KnowledgeDistance(bank.column("knowledge"))
    ranks = np.array([distance(first[i : i + 1], second[i : i + 1])[0, 0] for i in range(len(first))], dtype=np.int64)
    groups = similarity.groups[np.stack([first, second])]
    ranks[groups[0] == groups[1]] = 0
    return Pairs(first, second, scored.score[chosen], ranks, groups, distance.depth, judged=True)


def evaluate_agreement(vectors: npt.NDArray[np.floating], pairs: Pairs, seed: int = 0) -> AgreementResult:
    """Correlate the cosine of each pair, of vectors ``[questions, width]``, with its nearness.

    Raises:
        ValueError: All pairs are equally near.
    """
    from scipy.stats import pearsonr, spearmanr

    if len(np.unique(pairs.nearness)) < 2:
        raise ValueError("needs pairs that are not all equally near")
    cosine = cosines(vectors[pairs.first], vectors[pairs.second])
    _, ends = np.unique(pairs.groups, return_inverse=True)
    first, second = ends.reshape(pairs.groups.shape)
    count = int(ends.max()) + 1
    draws = []
    for groups in drawn_groups(count, 200, seed):
        drawn = np.bincount(groups, minlength=count)
        # Within one group a pair counts once for each time that it is drawn.
        rows = np.repeat(np.arange(len(cosine)), np.where(first == second, drawn[first], drawn[first] * drawn[second]))
        if len(rows) and np.ptp(pairs.nearness[rows]):  # else no correlation is defined
            draws.append(float(spearmanr(cosine[rows], pairs.nearness[rows]).statistic))
    ranks = [rank for rank in np.unique(pairs.ranks).tolist() if rank <= pairs.depth + 1]
    return AgreementResult(
        pearson=float(pearsonr(cosine, pairs.nearness).statistic),
        spearman=float(spearmanr(cosine, pairs.nearness).statistic),
        spearman_interval=percentiles(np.array(draws)),
        pairs=len(cosine),
        ranks=tuple(_rank_similarity(rank, cosine, pairs) for rank in ranks),
        depth=pairs.depth,
        judged=pairs.judged,
    )


def _rank_similarity(rank: int, cosine: FloatArray, pairs: Pairs) -> RankSimilarity:
    chosen = pairs.ranks == rank
    low, high = np.quantile(cosine[chosen], [0.25, 0.75]).tolist()
    score = float(pairs.nearness[chosen].mean()) if pairs.judged else None
    return RankSimilarity(rank, int(chosen.sum()), float(cosine[chosen].mean()), low, high, score)


def cosines(first: npt.NDArray[np.floating], second: npt.NDArray[np.floating]) -> FloatArray:
    """Return the cosine of each row of ``first [p, width]`` with the same row of ``second``; 0 where one is zero."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.einsum("pd,pd->p", first, second) / np.maximum(norms, 1e-12)
