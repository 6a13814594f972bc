r"""Near-duplicate texts: sets of shingles, and candidates by MinHash without comparing all with all.

A shingle is a run of three tokens, numbers folded to 0: ``Find $x + 2$`` has ``^ find x``, ``find x +``, ``x + 0`` and
``+ 0 $``. Formulas are read as spelt for the model (`tqnet.text.vocabulary`), so that ``\dfrac12`` and ``\frac{1}{2}``
differ only in braces, ``\displaystyle`` is dropped, and ``AB`` is two points rather than a word.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from tqnet.parallel import over_cores
from tqnet.questions.table import hash64
from tqnet.text.vocabulary import spell

_CHINESE = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"\\[A-Za-z]+|\d+(?:[.,]\d+)*|_+|[^\W\d_{_CHINESE}]+|\S")
_BEGIN, _END = "^begin", "end$"  # no token of a text is like these
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def normal_text(text: str) -> str:
    """Drop what typing and encoding add: compatibility characters and the kind of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def folded_tokens(text: str, *, fold_numbers: bool = True) -> list[str]:
    """Return lower-case words, Chinese characters, signs and LaTeX commands of ``text``; numbers are ``0``, or stay."""
    tokens = _TOKEN.findall(spell(normal_text(text)))
    return [
        "0" if fold_numbers and token[0].isdigit() else token if token[0] == "\\" else token.lower() for token in tokens
    ]


@dataclass(frozen=True)
class ShingleSets:
    """A set of shingles per text, each shingle as 32 bits, side by side in one array.

    Attributes:
        shingles: uint32 ``[all shingles]``, ascending within a set.
        starts: int64 ``[texts + 1]``; set ``i`` is ``shingles[starts[i] : starts[i + 1]]``.
    """

    shingles: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        return self.shingles[self.starts[index] : self.starts[index + 1]]

    @property
    def sizes(self) -> np.ndarray:
        """int64 ``[texts]``, at least 1."""
        return np.diff(self.starts)

    def jaccard(self, first: int, second: int) -> float:
        """Return the Jaccard similarity of two sets."""
        a, b = self[first], self[second]
        shared = len(np.intersect1d(a, b, assume_unique=True))
        return shared / (len(a) + len(b) - shared)

    def jaccards(self, pairs: np.ndarray) -> np.ndarray:
        """Return the Jaccard similarities, float64 ``[n]``, of the ``pairs``, int64 ``[2, n]``."""
        similarities = [np.empty(0)]
        for begin in range(0, pairs.shape[1], _PAIRS):
            first, second = pairs[:, begin : begin + _PAIRS]
            # Both ascend, by number of the pair and shingle: a stable sort merges them in one pass.
            merged = np.sort(np.concatenate((self._numbered(first), self._numbered(second))), kind="stable")
            shared = np.bincount(merged[1:][merged[1:] == merged[:-1]] >> np.uint64(32), minlength=len(first))
            similarities.append(shared / (self.sizes[first] + self.sizes[second] - shared))
        return np.concatenate(similarities)

    def _numbered(self, rows: np.ndarray) -> np.ndarray:
        """Return the shingles of ``rows`` side by side, each below the place of its row in the upper 32 bits."""
        numbers = np.repeat(np.arange(len(rows), dtype=np.uint64), self.sizes[rows])
        return (numbers << np.uint64(32)) | _side_by_side(self, rows)[0]


def shingle_sets(texts: Iterable[str], *, fold_numbers: bool = True) -> ShingleSets:
    """Return the shingles of each text; even an empty text has one."""
    shingles, sizes = array("I"), array("q", [0])
    for some, some_sizes in over_cores(partial(_shingle_sets, fold_numbers=fold_numbers), texts):
        shingles.frombytes(some.tobytes())
        sizes.extend(some_sizes)
    return ShingleSets(np.frombuffer(shingles, dtype=np.uint32), np.cumsum(np.frombuffer(sizes, dtype=np.int64)))


def _shingle_sets(texts: list[str], fold_numbers: bool) -> tuple[np.ndarray, list[int]]:
    sets = [_shingles((_BEGIN, *folded_tokens(text, fold_numbers=fold_numbers), _END)) for text in texts]
    return np.concatenate(sets), list(map(len, sets))


def _shingles(tokens: Sequence[str]) -> np.ndarray:
    codes = np.array(list(map(_code, tokens)), dtype=np.uint64)
    runs = sum(codes[i : len(codes) - 2 + i] * _MIX[i] for i in range(3)) if len(codes) > 2 else codes[:1]
    return np.unique(np.asarray(runs >> np.uint64(32), dtype=np.uint32))


_code = lru_cache(maxsize=250_000)(hash64)


# NOTE: MinHash in numpy rather than `datasketch`, which keeps a Python object per set and band: gigabytes of
# dictionaries for a million questions, where the keys of all bands are one array here.


#: Sets that agree in all ``ROWS`` minima of one of ``BANDS`` bands are compared: with Jaccard 0.8 all but 6 in
#: 100,000 pairs, with 0.9 all but 5 in 10^12, with 0.5 four in ten and with 0.3 two in a hundred.
BANDS, ROWS = 32, 6

#: Maximum number of sets with the same key that a set is compared with: the time stays linear if thousands are
#: instances of one template, any of which is a good witness.
MOST = 100

#: As `MOST`, for a corpus compared with itself.
WINDOW = 10

#: Sets, and pairs of sets, whose shingles lie side by side in memory.
_CHUNK, _PAIRS = 20_000, 5_000


def band_keys(sets: ShingleSets, rows: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return keys of the sets ``rows``, uint32 ``[BANDS, rows]``; similar sets share some of them."""
    drawn = np.random.default_rng(seed).integers(2**64, size=(2, BANDS, ROWS), dtype=np.uint64)
    factors, shifts = drawn[0] | np.uint64(1), drawn[1]
    keys = np.zeros((BANDS, len(rows)), dtype=np.uint32)
    for begin in range(0, len(rows), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        shingles, starts = _side_by_side(sets, rows[chunk])
        for band in range(BANDS):
            key = np.zeros(len(starts), dtype=np.uint64)
            for factor, shift in zip(factors[band], shifts[band], strict=True):
                key = key * _MIX[0] + np.minimum.reduceat(shingles * factor + shift, starts)
            keys[band, chunk] = key >> np.uint64(32)  # half of it: a chance match is compared and dropped
    return keys


def _side_by_side(sets: ShingleSets, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shingles of ``rows`` in one array, and the start of each row."""
    sizes = sets.sizes[rows]
    starts = np.cumsum(sizes) - sizes
    places = np.arange(sizes.sum()) + np.repeat(sets.starts[rows] - starts, sizes)
    return sets.shingles[places].astype(np.uint64), starts


def alike(queries: np.ndarray, corpus: np.ndarray, most: int = MOST) -> np.ndarray:
    """Return pairs (query, member of the corpus) that share a key in some band: int64 ``[2, pairs]``, each pair once.

    Args:
        queries, corpus: Keys as from `band_keys`, ``[bands, queries]`` and ``[bands, corpus]``.
    """
    size = max(1, corpus.shape[1])
    bands = (same_key(*keys, most) for keys in zip(queries, corpus, strict=True))
    numbers = np.unique(np.concatenate([first * size + second for first, second in bands]))
    return np.stack(np.divmod(numbers, size))


def same_key(queries: np.ndarray, corpus: np.ndarray, most: int = MOST) -> np.ndarray:
    """Return pairs of equal keys, int64 ``[2, pairs]``: for each query the first ``most`` members of the corpus."""
    order = np.argsort(corpus, kind="stable")
    first = np.searchsorted(corpus, queries, "left", sorter=order)
    counts = np.minimum(np.searchsorted(corpus, queries, "right", sorter=order) - first, most)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.stack([np.repeat(np.arange(len(queries)), counts), order[np.repeat(first, counts) + nth]])


def alike_within(keys: np.ndarray, window: int = WINDOW) -> Iterator[np.ndarray]:
    """Yield pairs that share a key in some band, band by band, each once and the smaller first: int64 ``[2, pairs]``.

    Each of many with one key is paired with ``window`` others, so that all are linked and the time stays linear.

    Args:
        keys: ``[bands, members]``.
    """
    for band, band_key in enumerate(keys):
        order = np.argsort(band_key, kind="stable")
        batches = [np.empty((2, 0), dtype=np.int64)]
        for apart in range(1, window + 1):
            equal = band_key[order[apart:]] == band_key[order[:-apart]]
            if not equal.any():
                break
            pairs = np.stack([order[:-apart][equal], order[apart:][equal]])  # a stable sort keeps the smaller first
            new = np.ones(pairs.shape[1], dtype=bool)
            for earlier in keys[:band]:
                new &= earlier[pairs[0]] != earlier[pairs[1]]
            batches.append(pairs[:, new])
        yield np.concatenate(batches, axis=1)
