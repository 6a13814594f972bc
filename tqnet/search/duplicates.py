"""Clusters of duplicates in a bank, cheap signs first: equal text, near text, then a model's judgement.

No two questions are compared that share no key, so that time and memory grow with the bank and not with its square.
Questions whose figures differ are no duplicates, whatever they say: "Find x." stands below a thousand drawings.
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

# The nearest vectors of every vector, for a million of them: random hyperplanes and their bands (Charikar 2002).
#
# NOTE: numpy rather than an index that answers one query at a time, which takes hours where every vector is a query.


#: Vectors on the same side of all hyperplanes of one of ``TABLES`` sets are compared; a set has as many planes as it
#: takes to leave each vector with few others. Of pairs with cosine 0.9, 16 planes (65,000 vectors) find 94 in 100.
TABLES = 32
_FEWEST, _MOST = 8, 20

#: Least cosine of neighbours, of vectors from which their mean was subtracted.
LEAST = 0.6

_MIX = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 50_000
_SAMPLE = 100_000


def neighbours(vectors: np.ndarray, rows: np.ndarray, kinds: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """Pairs of near vectors, int64 ``[2, p]``, the smaller row first, each pair once.

    Args:
        vectors: ``[n, width]``; may be a memory map.
        rows: Those that are compared, int64 ``[r]``.
        kinds: uint64 ``[r]``; only rows of one kind are compared.
        most: A pair is among the ``most`` nearest of one of its two.
    """
    if len(rows) < 2:
        return np.empty((2, 0), dtype=np.int64)
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(rows)[:_SAMPLE])
    mean = unit(np.asarray(vectors[some], dtype=np.float32)).mean(0)
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
    """Those pairs, ``[2, p]``, that are among the ``most`` best of one of their ends, and their scores."""
    ends, twice = pairs.ravel(), np.tile(scores, 2)
    order = np.lexsort((-twice, ends))
    first = np.searchsorted(ends[order], ends[order], "left")
    best = order[np.arange(len(order)) - first < most] % max(1, len(scores))
    kept = np.zeros(len(scores), dtype=bool)
    kept[best] = True
    return pairs[:, kept], scores[kept]


def _keys(vectors: np.ndarray, rows: np.ndarray, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """On which side of each table's planes the vectors lie, uint64 ``[TABLES, rows]``."""
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
    found = [np.empty(0, dtype=np.float32)]
    for begin in range(0, pairs.shape[1], _CHUNK):
        one, other = (unit(_centred(vectors, ends, mean)) for ends in pairs[:, begin : begin + _CHUNK])
        found.append(np.einsum("ph,ph->p", one, other))
    return np.concatenate(found)


def _centred(vectors: np.ndarray, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return unit(np.asarray(vectors[rows], dtype=np.float32)) - mean


#: Least share of three-word runs of texts that a model is asked about; MinHash finds four in ten at 0.5 and eight in
#: ten at 0.6, the vectors most others.
ASKED = 0.5
#: Pairs of each question that a model is asked about, of near texts and of near vectors.
MOST = 5


@dataclass(frozen=True, slots=True)
class Link:
    """Two rows of the bank that are duplicates, why, and how surely: 1, the Jaccard similarity, or a probability."""

    first: int
    second: int
    why: str
    score: float

    def __str__(self) -> str:
        return self.why if self.why == "equal text" else f"{self.why} {self.score:.2f}"


@dataclass(frozen=True)
class Cluster:
    """Rows of the bank that are duplicates of one another, ascending, and the links that hold them together."""

    rows: tuple[int, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Judge:
    """A model that decides on candidates.

    Attributes:
        vectors: ``[n, width]`` of the bank's questions, whose nearest are candidates too.
        decide: Places in the bank, int ``[2, p]`` -> probabilities of RELATIONS, ``[p, 4]``.
        least: Probability from which a pair is a duplicate.
    """

    vectors: np.ndarray
    decide: Callable[[np.ndarray], np.ndarray]
    least: float = 0.5


@dataclass
class Duplicates:
    """What was found.

    Attributes:
        clusters: In the order of their first rows.
        named: How many candidates a model took for each relation.
    """

    clusters: list[Cluster]
    named: Counter[str] = field(default_factory=Counter)


def find_duplicates(
    bank: QuestionBank,
    threshold: float = NEAR,
    judge: Judge | None = None,
    hash_image: Callable[[str], FigureHash] = hash_figure_file,
) -> Duplicates:
    """The clusters of ``bank``.

    Equal are texts in one form, digits kept (`tqnet.questions.traits.one_form`), with the same figures. Without a
    judge, duplicates are also texts that share ``threshold`` of their three-word runs and have the same numbers (but
    for dates), formulas and phrases of what is asked; a judge decides in place of that, on more candidates.

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
    near = _near_texts(sets, rest, figures, threshold if judge is None else ASKED)
    found = Duplicates([])
    if judge is None:
        for pairs, similarity in near:
            for a, b, score in zip(*pairs.tolist(), similarity.tolist(), strict=True):
                if not forest.joined(a, b) and says_the_same(traits(bank[a]), traits(bank[b])):
                    forest.join(a, b)
                    links.append(Link(a, b, "near text", score))
    else:
        candidates = _candidates(near, judge.vectors, rest, figures)
        probabilities = judge.decide(candidates)
        found.named.update(RELATIONS[relation] for relation in probabilities.argmax(1).tolist())
        chances = probabilities[:, RELATIONS.index("duplicate")]
        for at in np.argsort(-chances, kind="stable")[: int((chances >= judge.least).sum())].tolist():
            a, b = candidates[:, at].tolist()
            if forest.join(a, b):
                links.append(Link(a, b, "model", float(chances[at])))
    found.clusters = _clusters(links)
    return found


def _figure_keys(bank: QuestionBank, hash_image: Callable[[str], FigureHash]) -> np.ndarray:
    """uint64 ``[n]``, equal where figures are the same drawings, one by one (`same_drawing`)."""
    figures = BankFigures(bank, hash_image)
    count = len(figures.hashes)
    pairs = near_figures(figures.hashes, figures.hashes) if count else np.empty((2, 0), dtype=np.int64)
    same = [a != b and same_drawing(figures.paths[a], figures.paths[b]) for a, b in pairs.T.tolist()]
    pairs = pairs[:, np.array(same, dtype=bool)]
    links = coo_array((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(count, count))
    kinds = connected_components(links, directed=False)[1].tolist() if count else []
    return np.array([hash64(repr([kinds[figure] for figure in own])) for own in figures.numbers], dtype=np.uint64)


def _read_texts(bank: QuestionBank) -> tuple[np.ndarray, ShingleSets]:
    """A hash of each question's text in one form, uint64 ``[n]``, and its shingles, digits kept."""
    hashes = array("Q")

    def texts() -> Iterator[str]:
        for stems, options in bank.batches("stem", "options"):
            for stem, choices in zip(stems, options, strict=True):
                # In an order of their own: a question's options may have been shuffled.
                hashes.append(hash64("\n".join((one_form(stem), *sorted(map(one_form, choices))))))
                yield Question(id="", stem=stem, options=choices).content

    sets = shingle_sets(tqdm(texts(), desc="texts", unit="", total=len(bank), disable=None), fold_numbers=False)
    return np.frombuffer(hashes, dtype=np.uint64), sets


def _equal(texts: np.ndarray, figures: np.ndarray) -> Iterable[tuple[int, int]]:
    """Each row with the first one that has the same text and figures."""
    keys = texts ^ (figures * np.uint64(0x9E3779B97F4A7C15))
    rows, first = same_key(keys, keys, most=1)
    return ((a, b) for a, b in zip(first.tolist(), rows.tolist(), strict=True) if a != b)


def _near_texts(
    sets: ShingleSets, rows: np.ndarray, figures: np.ndarray, least: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of ``rows`` with the same figures that share ``least`` of their runs: int64 ``[2, p]`` and the share."""
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
    """Pairs that a judge is asked about, each once: int64 ``[2, p]``."""
    pairs, scores = np.empty((2, 0), dtype=np.int64), np.empty(0)
    for more, similarity in near:
        pairs, scores = np.concatenate((pairs, more), axis=1), np.concatenate((scores, similarity))
        pairs, scores = best_of_each(pairs, scores, MOST)
    by_vector = neighbours(vectors, rows, figures[rows], MOST)
    return np.unique(np.concatenate((pairs, by_vector), axis=1), axis=1)


def _clusters(links: list[Link]) -> list[Cluster]:
    """Rows that are linked, directly or over others."""
    forest = _Forest(1 + max((max(link.first, link.second) for link in links), default=-1))
    for link in links:
        forest.join(link.first, link.second)
    rows: dict[int, set[int]] = {}
    held: dict[int, list[Link]] = {}
    for link in links:
        root = forest.root(link.first)
        rows.setdefault(root, set()).update((link.first, link.second))
        held.setdefault(root, []).append(link)
    return sorted(
        (Cluster(tuple(sorted(rows[root])), tuple(held[root])) for root in rows), key=lambda cluster: cluster.rows
    )


class _Forest:
    """Which of n things are linked, as they come to be (union-find)."""

    def __init__(self, n: int):
        self._above = list(range(n))

    def root(self, of: int) -> int:
        while self._above[of] != of:
            self._above[of] = of = self._above[self._above[of]]
        return of

    def joined(self, a: int, b: int) -> bool:
        return self.root(a) == self.root(b)

    def join(self, a: int, b: int) -> bool:
        """Link two; whether they were apart."""
        one, other = sorted((self.root(a), self.root(b)))
        self._above[other] = one
        return one != other
