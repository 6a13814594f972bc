"""Find clusters of duplicates in a bank, cheap signs first: equal text, near text, then a model's judgement.

Only questions with a common key are compared, so that time and memory grow linearly with the bank. Questions with
different figures are not duplicates, whatever their texts: "Find x." stands below a thousand drawings.

Near vectors are found by bands of random hyperplanes (Charikar 2002), in numpy: an index that answers one query at a
time takes hours where each of a million vectors is a query.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tqdm import tqdm

from tqnet.questions import Question, QuestionBank
from tqnet.questions.differences import says_the_same
from tqnet.questions.figures import BankFigures, hash_figure_file, near_figures, same_drawing
from tqnet.questions.near_duplicates import ShingleSets, alike_within, band_keys, same_key, shingle_sets
from tqnet.questions.pairs import RELATIONS
from tqnet.questions.table import hash64
from tqnet.questions.traits import one_form
from tqnet.search.records import unit
from tqnet.search.retrieval import NEAR

#: Number of sets of hyperplanes. Vectors on the same side of all planes of a set are compared; a set has enough planes
#: to leave each vector with few others. 16 planes (65,000 vectors) find 94 % of pairs with cosine 0.9.
TABLES = 32
_MIN_PLANES, _MAX_PLANES = 8, 20

#: Minimum cosine of neighbours, for centred vectors.
MIN_COSINE = 0.6

#: Minimum share of common three-word runs in pairs that a model judges; MinHash finds four in ten at 0.5 and eight in
#: ten at 0.6, the vectors most others.
MIN_JUDGED = 0.5
#: Maximum number of pairs per question that a model judges, of near texts and of near vectors each.
MAX_JUDGED = 5

_MIX = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 50_000
_SAMPLE = 100_000

#: Pairs of rows, int64 ``[2, p]``, and their scores ``[p]``.
ScoredPairs = tuple[np.ndarray, np.ndarray]


def neighbours(vectors: np.ndarray, rows: np.ndarray, kinds: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """Return pairs of near vectors, int64 ``[2, p]``, the smaller row first, each pair once.

    Args:
        vectors: ``[n, width]``; may be a memory map.
        rows: Rows to compare, int64 ``[r]``.
        kinds: Kind of each row, uint64 ``[r]``; only rows of the same kind are compared.
        most: A pair must be among the ``most`` nearest of one of its ends.
    """
    if len(rows) < 2:
        return np.empty((2, 0), dtype=np.int64)
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(rows)[:_SAMPLE])
    mean = unit(np.asarray(vectors[sample], dtype=np.float32)).mean(0)

    def near_pairs() -> Iterator[ScoredPairs]:
        keys = _plane_keys(vectors, rows, mean, rng) ^ (kinds * _MIX)
        for places in tqdm(alike_within(keys), desc="neighbours", unit="", total=TABLES, disable=None):
            pairs = rows[places]
            cosines = _cosines(vectors, pairs, mean)
            yield pairs[:, cosines >= MIN_COSINE], cosines[cosines >= MIN_COSINE]

    return best_of_each(near_pairs(), most)[0]


def best_of_each(batches: Iterable[ScoredPairs], most: int) -> ScoredPairs:
    """Return the pairs of all batches that are among the ``most`` best of one of their ends, and their scores."""
    pairs, scores = np.empty((2, 0), dtype=np.int64), np.empty(0, dtype=np.float32)
    for more, more_scores in batches:
        pairs, scores = np.concatenate((pairs, more), axis=1), np.concatenate((scores, more_scores))
        ends = pairs.ravel()
        order = np.lexsort((-np.tile(scores, 2), ends))
        first = np.searchsorted(ends[order], ends[order], "left")
        kept = np.zeros(len(scores), dtype=bool)
        kept[order[np.arange(len(order)) - first < most] % max(1, len(scores))] = True
        pairs, scores = pairs[:, kept], scores[kept]
    return pairs, scores


def _plane_keys(vectors: np.ndarray, rows: np.ndarray, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return for each table the sides of its planes that vectors lie on, as uint64 ``[TABLES, rows]``."""
    planes = int(np.clip(np.ceil(np.log2(len(rows))), _MIN_PLANES, _MAX_PLANES))
    normals = rng.standard_normal((vectors.shape[1], TABLES * planes)).astype(np.float32)
    weights = np.uint64(1) << np.arange(planes, dtype=np.uint64)
    keys = np.empty((TABLES, len(rows)), dtype=np.uint64)
    for begin in range(0, len(rows), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        sides = _centred(vectors, rows[chunk], mean) @ normals > 0
        keys[:, chunk] = (sides.reshape(-1, TABLES, planes) * weights).sum(-1, dtype=np.uint64).T
    return keys


def _cosines(vectors: np.ndarray, pairs: np.ndarray, mean: np.ndarray) -> np.ndarray:
    chunks = [np.empty(0, dtype=np.float32)]
    for begin in range(0, pairs.shape[1], _CHUNK):
        first, second = (unit(_centred(vectors, ends, mean)) for ends in pairs[:, begin : begin + _CHUNK])
        chunks.append(np.einsum("ph,ph->p", first, second))
    return np.concatenate(chunks)


def _centred(vectors: np.ndarray, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return unit(np.asarray(vectors[rows], dtype=np.float32)) - mean


@dataclass(frozen=True, slots=True)
class Link:
    """Two duplicate rows, the reason, and its score: 1, the Jaccard similarity, or a probability."""

    first: int
    second: int
    why: str
    score: float

    def __str__(self) -> str:
        return self.why if self.why == "equal text" else f"{self.why} {self.score:.2f}"


@dataclass(frozen=True)
class Cluster:
    """Duplicate rows of the bank, ascending, and the links between them."""

    rows: tuple[int, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Judge:
    """A model that decides on candidates.

    Attributes:
        vectors: Vectors of the bank's questions, ``[n, width]``, whose nearest neighbours are candidates, too.
        decide: Rows of the bank, int ``[2, p]`` -> probabilities of RELATIONS, ``[p, 4]``.
        least: Minimum probability of a duplicate.
    """

    vectors: np.ndarray
    decide: Callable[[np.ndarray], np.ndarray]
    least: float = 0.5


@dataclass
class Duplicates:
    """Clusters of duplicates, in the order of their first rows, and relation -> number of candidates by a model."""

    clusters: list[Cluster]
    relations: Counter[str] = field(default_factory=Counter)


def find_duplicates(bank: QuestionBank, threshold: float = NEAR, judge: Judge | None = None) -> Duplicates:
    """Return the clusters of duplicates in ``bank``.

    Duplicates have the same figures, and either equal normalized texts with their digits
    (`tqnet.questions.traits.one_form`), or texts that share ``threshold`` of their three-word runs without a
    significant difference (`tqnet.questions.differences`). A judge replaces the latter rule, on more candidates.

    Raises:
        ValueError: ``threshold`` is not in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold: {threshold} is not in (0, 1]")
    figures = _figure_keys(bank)
    texts, sets = _read_texts(bank)
    keys = texts ^ (figures * _MIX)
    rows, firsts = same_key(keys, keys, most=1)
    links = [Link(a, b, "equal text", 1.0) for a, b in zip(firsts.tolist(), rows.tolist(), strict=True) if a != b]
    forest = DisjointSet({row for link in links for row in (link.first, link.second)})
    for link in links:
        forest.merge(link.first, link.second)
    rest = np.setdiff1d(np.arange(len(bank)), [link.second for link in links])
    near = _near_texts(sets, rest, figures, threshold if judge is None else MIN_JUDGED)
    relations: Counter[str] = Counter()
    if judge is None:
        for pairs, similarity in near:
            for a, b, score in zip(*pairs.tolist(), similarity.tolist(), strict=True):
                forest.add(a)
                forest.add(b)
                if not forest.connected(a, b) and says_the_same(bank[a], bank[b]):
                    forest.merge(a, b)
                    links.append(Link(a, b, "near text", score))
    else:
        by_vector = neighbours(judge.vectors, rest, figures[rest], MAX_JUDGED)
        candidates = np.unique(np.concatenate((best_of_each(near, MAX_JUDGED)[0], by_vector), axis=1), axis=1)
        probabilities = judge.decide(candidates)
        relations.update(RELATIONS[relation] for relation in probabilities.argmax(1).tolist())
        chances = probabilities[:, RELATIONS.index("duplicate")]
        for place in np.argsort(-chances, kind="stable")[: int((chances >= judge.least).sum())].tolist():
            a, b = candidates[:, place].tolist()
            forest.add(a)
            forest.add(b)
            if forest.merge(a, b):
                links.append(Link(a, b, "model", float(chances[place])))
    by_root: dict[int, list[Link]] = {}
    for link in links:
        by_root.setdefault(forest[link.first], []).append(link)
    clusters = [
        Cluster(tuple(sorted({row for link in linked for row in (link.first, link.second)})), tuple(linked))
        for linked in by_root.values()
    ]
    return Duplicates(sorted(clusters, key=lambda cluster: cluster.rows), relations)


def _figure_keys(bank: QuestionBank) -> np.ndarray:
    """Return keys, uint64 ``[n]``, that are equal for questions with the same drawings (`same_drawing`)."""
    figures = BankFigures(bank, hash_figure_file)
    count = len(figures.hashes)
    if not count:
        return np.zeros(len(bank), dtype=np.uint64)
    pairs = near_figures(figures.hashes, figures.hashes)
    same = [a != b and same_drawing(figures.paths[a], figures.paths[b]) for a, b in pairs.T.tolist()]
    first, second = pairs[:, np.array(same, dtype=bool)]
    links = coo_array((np.ones(len(first)), (first, second)), shape=(count, count))
    drawings = connected_components(links, directed=False)[1]
    return np.array([hash64(repr(drawings[list(numbers)].tolist())) for numbers in figures.numbers], dtype=np.uint64)


def _read_texts(bank: QuestionBank) -> tuple[np.ndarray, ShingleSets]:
    """Return a hash of each question's normalized text, uint64 ``[n]``, and its shingles, with digits."""
    hashes = array("Q")

    def texts() -> Iterator[str]:
        for stems, options in bank.batches("stem", "options"):
            for stem, choices in zip(stems, options, strict=True):
                # Sorted: a duplicate's options may be shuffled.
                hashes.append(hash64("\n".join((one_form(stem), *sorted(map(one_form, choices))))))
                yield Question(id="", stem=stem, options=choices).content

    sets = shingle_sets(tqdm(texts(), desc="texts", unit="", total=len(bank), disable=None), fold_numbers=False)
    return np.frombuffer(hashes, dtype=np.uint64), sets


def _near_texts(sets: ShingleSets, rows: np.ndarray, figures: np.ndarray, least: float) -> Iterator[ScoredPairs]:
    """Yield pairs of ``rows`` with the same figures and similarities of at least ``least``, and the similarities."""
    sizes = sets.sizes
    for places in alike_within(band_keys(sets, rows) ^ figures[rows]):
        pairs = rows[places]
        low, high = np.sort(sizes[pairs], axis=0)
        pairs = pairs[:, low >= least * high]  # no similarity is above the ratio of the sizes
        similarity = sets.jaccards(pairs)
        yield pairs[:, similarity >= least], similarity[similarity >= least]
