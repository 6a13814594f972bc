"""Which sets of shingles may be alike, without comparing all with all: MinHash and its bands.

NOTE: numpy rather than `datasketch`, which keeps one Python object per set and per band: at a million questions
that is gigabytes of dictionaries, where the keys of all bands are one array here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tqnet.questions.shingles import ShingleSets

#: Sets that agree in all ``ROWS`` minima of one of ``BANDS`` bands are compared: with Jaccard 0.8 all but 6 in
#: 100,000 pairs, with 0.9 all but 5 in 10^12, with 0.5 four in ten and with 0.3 two in a hundred.
BANDS, ROWS = 32, 6

#: A set is compared with no more than this many that share a key, however many do: the time stays linear where
#: thousands are instances of one template, of which any is a good witness.
MOST = 100

#: As `MOST`, where a corpus is compared with itself.
WINDOW = 10

_CHUNK = 20_000
_MIX = np.uint64(0x9E3779B97F4A7C15)


def band_keys(sets: ShingleSets, rows: np.ndarray, seed: int = 0) -> np.ndarray:
    """Keys of the sets ``rows``, uint64 ``[BANDS, rows]``; alike sets share some of them."""
    drawn = np.random.default_rng(seed).integers(2**64, size=(2, BANDS, ROWS), dtype=np.uint64)
    factors, shifts = drawn[0] | np.uint64(1), drawn[1]
    keys = np.zeros((BANDS, len(rows)), dtype=np.uint64)
    for begin in range(0, len(rows), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        shingles, starts = _side_by_side(sets, rows[chunk])
        for band, row in np.ndindex(BANDS, ROWS):
            minima = np.minimum.reduceat(shingles * factors[band, row] + shifts[band, row], starts)
            keys[band, chunk] = keys[band, chunk] * _MIX + minima
    return keys


def _side_by_side(sets: ShingleSets, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shingles of ``rows`` in one array, and where each row's begin."""
    sizes = sets.sizes[rows]
    starts = np.cumsum(sizes) - sizes
    places = np.arange(sizes.sum()) + np.repeat(sets.starts[rows] - starts, sizes)
    return sets.shingles[places].astype(np.uint64), starts


def alike(queries: np.ndarray, corpus: np.ndarray, most: int = MOST) -> np.ndarray:
    """Pairs (query, member of the corpus) that share a key in some band: int64 ``[2, pairs]``, each pair once.

    Args:
        queries, corpus: Keys as from `band_keys`, ``[bands, queries]`` and ``[bands, corpus]``.
    """
    size = max(1, corpus.shape[1])
    found = [same_key(*bands, most) for bands in zip(queries, corpus, strict=True)]
    numbers = np.unique(np.concatenate([asked * size + held for asked, held in found]))
    return np.stack(np.divmod(numbers, size))


def same_key(queries: np.ndarray, corpus: np.ndarray, most: int = MOST) -> np.ndarray:
    """Pairs of equal keys, int64 ``[2, pairs]``: for each query the first ``most`` members of the corpus."""
    order = np.argsort(corpus, kind="stable")
    first = np.searchsorted(corpus, queries, "left", sorter=order)
    counts = np.minimum(np.searchsorted(corpus, queries, "right", sorter=order) - first, most)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.stack([np.repeat(np.arange(len(queries)), counts), order[np.repeat(first, counts) + nth]])


def alike_within(keys: np.ndarray, window: int = WINDOW) -> Iterator[np.ndarray]:
    """Pairs that share a key in some band, band by band and each pair once: int64 ``[2, pairs]``, the smaller first.

    Of many with one key, each comes with ``window`` others, so that all are linked and the time stays linear.

    Args:
        keys: ``[bands, members]``.
    """
    for band, own in enumerate(keys):
        order = np.argsort(own, kind="stable")
        found = [np.empty((2, 0), dtype=np.int64)]
        for apart in range(1, window + 1):
            equal = own[order[apart:]] == own[order[:-apart]]
            if not equal.any():
                break
            pairs = np.stack([order[:-apart][equal], order[apart:][equal]])  # a stable sort keeps the smaller first
            new = np.ones(pairs.shape[1], dtype=bool)
            for earlier in keys[:band]:
                new &= earlier[pairs[0]] != earlier[pairs[1]]
            found.append(pairs[:, new])
        yield np.concatenate(found, axis=1)
