"""The nearest vectors of every vector, for a million of them: random hyperplanes and their bands (Charikar 2002).

NOTE: numpy rather than an index that answers one query at a time, which takes hours where every vector is a query.
"""

from __future__ import annotations

import numpy as np
from tqdm import tqdm

from tqnet.questions.minhash import alike_within
from tqnet.search.records import unit

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
