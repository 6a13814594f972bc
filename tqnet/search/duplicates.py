"""Find clusters of duplicates in a bank, by cheap signs first: equal text, near text, then a model's judgement.

Only questions with a common key are compared, so that time and memory grow with the bank and not with its square.
Questions with different figures are no duplicates, whatever their texts: "Find x." stands below a thousand drawings.

Near vectors are found by bands of random hyperplanes (Charikar 2002), in numpy: an index that answers one query at a
time takes hours where each of a million vectors is a query.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tqdm import tqdm

from tqnet.questions import Question, QuestionBank
from tqnet.questions.figures import BankFigures, FigureHash, hash_figure_file, near_figures, same_drawing
from tqnet.questions.near_duplicates import ShingleSets, alike_within, band_keys, same_key, shingle_sets
from tqnet.questions.pairs import RELATIONS
from tqnet.questions.table import hash64
from tqnet.questions.traits import one_form, says_the_same, traits
from tqnet.search.records import unit
from tqnet.search.retrieval import NEAR

#: Vectors on the same side of all hyperplanes of one of ``TABLES`` sets are compared; a set has enough planes to leave
#: each vector with few others. Of pairs with cosine 0.9, 16 planes (65,000 vectors) find 94 in 100.
TABLES = 32
_FEWEST, _MOST = 8, 20

#: Least cosine of neighbours, of centred vectors.
LEAST = 0.6

_MIX = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 50_000
_SAMPLE = 100_000


def neighbours(vectors: np.ndarray, rows: np.ndarray, kinds: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """Return pairs of near vectors, int64 ``[2, p]``, the smaller row first, each pair once.

    Args:
        vectors: ``[n, width]``; may be a memory map.
        rows: To compare, int64 ``[r]``.
        kinds: uint64 ``[r]``; only rows of the same kind are compared.
        most: A pair is among the ``most`` nearest of one of its ends.
    """
    if len(rows) < 2:
        return np.empty((2, 0), dtype=np.int64)
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(rows)[:_SAMPLE])
    mean = unit(np.asarray(vectors[sample], dtype=np.float32)).mean(0)
    pairs, cosines = np.empty((2, 0), dtype=np.int64), np.empty(0, dtype=np.float32)
    keys = _keys(vectors, rows, mean, rng) ^ (kinds * _MIX)
    for places in tqdm(alike_within(keys), desc="neighbours", unit="", total=TABLES, disable=None):
        more = rows[places]
        near = _cosines(vectors, more, mean)
        kept = near >= LEAST
        pairs, cosines = np.concatenate((pairs, more[:, kept]), axis=1), np.concatenate((cosines, near[kept]))
        pairs, cosines = best_of_each(pairs, cosines, most)
    return pairs


def best_of_each(pairs: np.ndarray, scores: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs, ``[2, p]``, that are among the ``most`` best of one of their ends, and their scores."""
    ends, twice = pairs.ravel(), np.tile(scores, 2)
    order = np.lexsort((-twice, ends))
    first = np.searchsorted(ends[order], ends[order], "left")
    best = order[np.arange(len(order)) - first < most] % max(1, len(scores))
    kept = np.zeros(len(scores), dtype=bool)
    kept[best] = True
    return pairs[:, kept], scores[kept]


def _keys(vectors: np.ndarray, rows: np.ndarray, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the side of each table's planes that the vectors lie on, uint64 ``[TABLES, rows]``."""
    planes = int(np.clip(np.ceil(np.log2(len(rows))), _FEWEST, _MOST))
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


#: Least share of three-word runs of pairs that a model judges; MinHash finds four in ten at 0.5 and eight in ten at
#: 0.6, the vectors most others.
JUDGED = 0.5
#: Pairs per question that a model judges, of near texts and of near vectors.
MOST = 5


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
        vectors: Of the bank's questions, ``[n, width]``, whose nearest are candidates too.
        decide: Rows of the bank, int ``[2, p]`` -> probabilities of RELATIONS, ``[p, 4]``.
        least: Least probability of a duplicate.
    """

    vectors: np.ndarray
    decide: Callable[[np.ndarray], np.ndarray]
    least: float = 0.5


@dataclass
class Duplicates:
    """Clusters of duplicates, in the order of their first rows, and the relations that a model gave the candidates."""

    clusters: list[Cluster]
    named: Counter[str] = field(default_factory=Counter)


def find_duplicates(
    bank: QuestionBank,
    threshold: float = NEAR,
    judge: Judge | None = None,
    hash_image: Callable[[str], FigureHash] = hash_figure_file,
) -> Duplicates:
    """Return the clusters of duplicates in ``bank``.

    Duplicates have the same figures, and equal texts in one form, digits kept (`tqnet.questions.traits.one_form`); or
    texts that share ``threshold`` of their three-word runs and have the same numbers (but for dates), formulas and
    target phrases. A judge replaces the latter rule, on more candidates.

    Raises:
        ValueError: ``threshold`` is not in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold: {threshold} is not in (0, 1]")
    figures = _figure_keys(bank, hash_image)
    texts, sets = _read_texts(bank)
    forest = _Forest(len(bank))
    links = [Link(a, b, "equal text", 1.0) for a, b in _equal(texts, figures) if forest.join(a, b)]
    rest = np.setdiff1d(np.arange(len(bank)), [link.second for link in links])
    near = _near_texts(sets, rest, figures, threshold if judge is None else JUDGED)
    named: Counter[str] = Counter()
    if judge is None:
        for pairs, similarity in near:
            for a, b, score in zip(*pairs.tolist(), similarity.tolist(), strict=True):
                if not forest.joined(a, b) and says_the_same(traits(bank[a]), traits(bank[b])):
                    forest.join(a, b)
                    links.append(Link(a, b, "near text", score))
    else:
        candidates = _candidates(near, judge.vectors, rest, figures)
        probabilities = judge.decide(candidates)
        named.update(RELATIONS[relation] for relation in probabilities.argmax(1).tolist())
        chances = probabilities[:, RELATIONS.index("duplicate")]
        for place in np.argsort(-chances, kind="stable")[: int((chances >= judge.least).sum())].tolist():
            a, b = candidates[:, place].tolist()
            if forest.join(a, b):
                links.append(Link(a, b, "model", float(chances[place])))
    return Duplicates(_clusters(links, forest), named)


def _figure_keys(bank: QuestionBank, hash_image: Callable[[str], FigureHash]) -> np.ndarray:
    """Return keys, uint64 ``[n]``, that are equal for questions with the same drawings (`same_drawing`)."""
    figures = BankFigures(bank, hash_image)
    count = len(figures.hashes)
    pairs = near_figures(figures.hashes, figures.hashes) if count else np.empty((2, 0), dtype=np.int64)
    same = [a != b and same_drawing(figures.paths[a], figures.paths[b]) for a, b in pairs.T.tolist()]
    pairs = pairs[:, np.array(same, dtype=bool)]
    links = coo_array((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(count, count))
    kinds = connected_components(links, directed=False)[1].tolist() if count else []
    drawings = ([kinds[number] for number in numbers] for numbers in figures.numbers)
    return np.array([hash64(repr(shown)) for shown in drawings], dtype=np.uint64)


def _read_texts(bank: QuestionBank) -> tuple[np.ndarray, ShingleSets]:
    """Return a hash of each question's text in one form, uint64 ``[n]``, and its shingles, digits kept."""
    hashes = array("Q")

    def texts() -> Iterator[str]:
        for stems, options in bank.batches("stem", "options"):
            for stem, choices in zip(stems, options, strict=True):
                # Sorted: a duplicate's options may be shuffled.
                hashes.append(hash64("\n".join((one_form(stem), *sorted(map(one_form, choices))))))
                yield Question(id="", stem=stem, options=choices).content

    sets = shingle_sets(tqdm(texts(), desc="texts", unit="", total=len(bank), disable=None), fold_numbers=False)
    return np.frombuffer(hashes, dtype=np.uint64), sets


def _equal(texts: np.ndarray, figures: np.ndarray) -> Iterable[tuple[int, int]]:
    """Yield each repeated row after the first with the same text and figures."""
    keys = texts ^ (figures * np.uint64(0x9E3779B97F4A7C15))
    rows, first = same_key(keys, keys, most=1)
    return ((a, b) for a, b in zip(first.tolist(), rows.tolist(), strict=True) if a != b)


def _near_texts(
    sets: ShingleSets, rows: np.ndarray, figures: np.ndarray, least: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs of ``rows``, int64 ``[2, p]``, with the same figures and similarities of ``least``, and these."""
    sizes = sets.sizes
    for places in alike_within(band_keys(sets, rows) ^ figures[rows]):
        pairs = rows[places]
        low, high = np.sort(sizes[pairs], axis=0)
        pairs = pairs[:, low >= least * high]  # no similarity is above the ratio of the sizes
        similarity = np.array([sets.jaccard(a, b) for a, b in pairs.T.tolist()])
        yield pairs[:, similarity >= least], similarity[similarity >= least]


def _candidates(
    near: Iterator[tuple[np.ndarray, np.ndarray]], vectors: np.ndarray, rows: np.ndarray, figures: np.ndarray
) -> np.ndarray:
    """Return the pairs for a judge, each once: int64 ``[2, p]``."""
    pairs, scores = np.empty((2, 0), dtype=np.int64), np.empty(0)
    for more, similarity in near:
        pairs, scores = np.concatenate((pairs, more), axis=1), np.concatenate((scores, similarity))
        pairs, scores = best_of_each(pairs, scores, MOST)
    by_vector = neighbours(vectors, rows, figures[rows], MOST)
    return np.unique(np.concatenate((pairs, by_vector), axis=1), axis=1)


def _clusters(links: list[Link], forest: _Forest) -> list[Cluster]:
    by_root: dict[int, list[Link]] = {}
    for link in links:
        by_root.setdefault(forest.root(link.first), []).append(link)
    clusters = [
        Cluster(tuple(sorted({row for link in linked for row in (link.first, link.second)})), tuple(linked))
        for linked in by_root.values()
    ]
    return sorted(clusters, key=lambda cluster: cluster.rows)


class _Forest:
    """Union-find over n rows."""

    def __init__(self, n: int):
        self._parent = list(range(n))

    def root(self, row: int) -> int:
        while self._parent[row] != row:
            self._parent[row] = row = self._parent[self._parent[row]]
        return row

    def joined(self, a: int, b: int) -> bool:
        return self.root(a) == self.root(b)

    def join(self, a: int, b: int) -> bool:
        """Link two rows; return True if they were apart."""
        first, second = sorted((self.root(a), self.root(b)))
        self._parent[second] = first
        return first != second
