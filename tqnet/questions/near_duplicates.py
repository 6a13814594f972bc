"""The words of a question as a set of shingles, in which numbers do not count unless they are asked to.

A shingle is a run of three tokens: ``Find $x + 2$`` has ``^ find x``, ``find x +``, ``x + 0`` and ``+ 0 $``. Formulas
are read as they are spelt for the model (`tqnet.text.vocabulary`), so that ``\dfrac12`` and ``\frac{1}{2}`` differ in
braces alone, ``\displaystyle`` says nothing, and ``AB`` is two points rather than a word.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tqnet.questions.table import hash64
from tqnet.text.vocabulary import spell

_CHINESE = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"\\[A-Za-z]+|\d+(?:[.,]\d+)*|_+|[^\W\d_{_CHINESE}]+|\S")
_BEGIN, _END = "^begin", "end$"  # no token of a text is like these
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def normal_text(text: str) -> str:
    """``text`` without what typing and encoding add: compatibility characters and the kind of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def folded_tokens(text: str, *, fold_numbers: bool = True) -> list[str]:
    """Words in lower case, Chinese characters, signs and LaTeX commands of ``text``; a number is ``0``, or stays."""
    tokens = _TOKEN.findall(spell(normal_text(text)))
    return [
        "0" if fold_numbers and token[0].isdigit() else token if token[0] == "\\" else token.lower() for token in tokens
    ]


@dataclass(frozen=True)
class ShingleSets:
    """One set of shingles per text, each shingle as 32 bits, side by side in one array.

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
        """Shared shingles over all shingles of two sets."""
        a, b = self[first], self[second]
        shared = len(np.intersect1d(a, b, assume_unique=True))
        return shared / (len(a) + len(b) - shared)


def shingle_sets(texts: Iterable[str], *, fold_numbers: bool = True) -> ShingleSets:
    """The shingles of each text; a text of few tokens, or of none, still has one."""
    known: dict[str, int] = {}
    shingles, starts = array("I"), array("q", [0])
    for text in texts:
        tokens = (_BEGIN, *folded_tokens(text, fold_numbers=fold_numbers), _END)
        codes = np.array([known.get(t) or known.setdefault(t, hash64(t)) for t in tokens], dtype=np.uint64)
        runs = sum(codes[i : len(codes) - 2 + i] * _MIX[i] for i in range(3)) if len(codes) > 2 else codes[:1]
        shingles.frombytes(np.unique(np.asarray(runs >> np.uint64(32), dtype=np.uint32)).tobytes())
        starts.append(len(shingles))
    return ShingleSets(np.frombuffer(shingles, dtype=np.uint32), np.frombuffer(starts, dtype=np.int64))


# Which sets of shingles may be alike, without comparing all with all: MinHash and its bands.
#
# NOTE: numpy rather than `datasketch`, which keeps one Python object per set and per band: at a million questions
# that is gigabytes of dictionaries, where the keys of all bands are one array here.


#: Sets that agree in all ``ROWS`` minima of one of ``BANDS`` bands are compared: with Jaccard 0.8 all but 6 in
#: 100,000 pairs, with 0.9 all but 5 in 10^12, with 0.5 four in ten and with 0.3 two in a hundred.
BANDS, ROWS = 32, 6

#: A set is compared with no more than this many that share a key, however many do: the time stays linear where
#: thousands are instances of one template, of which any is a good witness.
MOST = 100

#: As `MOST`, where a corpus is compared with itself.
WINDOW = 10

_CHUNK = 20_000
_MINHASH_MIX = np.uint64(0x9E3779B97F4A7C15)


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
            keys[band, chunk] = keys[band, chunk] * _MINHASH_MIX + minima
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
