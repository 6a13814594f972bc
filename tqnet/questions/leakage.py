"""Train-test leakage: questions of ``valid`` and ``test`` with a double in ``train``, or among labelled paraphrases.

A text alone makes no double if the figures differ: "Find x." stands below a thousand drawings. But a figure does,
whatever the question about it, since it is the larger part of a model's input.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from tqdm import tqdm

from tqnet.questions.bank import QuestionBank
from tqnet.questions.figures import BankFigures, FigureHash, hash_figure_file
from tqnet.questions.near_duplicates import MOST, ShingleSets, alike, band_keys, normal_text, same_key, shingle_sets
from tqnet.questions.paraphrase_pairs import read_paraphrase_pairs
from tqnet.questions.table import hash64

#: What a question shares with its twin in ``train``, the surest first.
#:
#: - ``exact``: text and figures.
#: - ``near``: all but a few words or any numbers; figures are near, one by one, or there are none.
#: - ``figure``: a figure, with another text.
KINDS = ("exact", "near", "figure")

#: Splits for evaluation.
MEASURED = ("valid", "test")

#: Minimum Jaccard similarity of the shingles of near doubles. From 0.9 on, pairs of a public bank were mostly one
#: question with a word or the numbers changed; from 0.8 to 0.9, many came from one template and asked about another
#: function.
THRESHOLD = 0.9

_CHUNK = 20_000


@dataclass(frozen=True)
class Double:
    """A question of ``split`` at ``row`` of the bank, and its twin in ``train``."""

    row: int
    split: str
    kind: str
    id: str
    twin: str


@dataclass(frozen=True)
class Contamination:
    """The doubles of a bank of ``questions`` questions, in its order; of several twins, the surest counts."""

    questions: int
    doubles: tuple[Double, ...]

    def counts(self, split: str) -> dict[str, int]:
        """Count the doubles of each kind in ``valid`` or ``test``."""
        counts = Counter(double.kind for double in self.doubles if double.split == split)
        return {kind: counts[kind] for kind in KINDS}

    @property
    def clean(self) -> np.ndarray:
        """Rows of the bank without the doubles, ascending: int64 ``[rows]``."""
        return np.setdiff1d(np.arange(self.questions), [double.row for double in self.doubles])


def find_contamination(
    bank: QuestionBank, threshold: float = THRESHOLD, hash_image: Callable[[str], FigureHash] = hash_figure_file
) -> Contamination:
    """Look up each question of ``valid`` and ``test`` in ``train``; questions without a split are ignored.

    The candidates of near texts come from MinHash and are then compared by their whole sets of shingles, so
    that chance can hide a double (see `tqnet.questions.near_duplicates`) but not make one.

    Args:
        threshold: Minimum Jaccard similarity of near texts; below 0.8, MinHash misses more than a few.
        hash_image: Hashes the figure at a path.
    """
    splits = np.array([split or "" for split in bank.column("split")], dtype="U5")
    queries, train = np.flatnonzero(np.isin(splits, MEASURED)), np.flatnonzero(splits == "train")
    if not len(queries) or not len(train):
        return Contamination(len(bank), ())
    rows = np.sort(np.concatenate((queries, train)))
    figures = BankFigures(bank.select(rows), hash_image)
    texts, sets = _read_texts(bank.select(rows))
    search = _Search(figures, texts, sets, np.searchsorted(rows, queries), np.searchsorted(rows, train), threshold)
    ids = bank.ids
    return Contamination(
        len(bank),
        tuple(
            Double(int(rows[row]), str(splits[rows[row]]), kind, ids[rows[row]], ids[rows[twin]])
            for row, (kind, twin) in sorted(search.doubles().items())
        ),
    )


def _read_texts(bank: QuestionBank) -> tuple[np.ndarray, ShingleSets]:
    """Return a hash of each question's text, uint64 ``[questions]``, and its shingles."""
    hashes = array("Q")

    def texts() -> Iterator[str]:
        for question in bank.partial("stem", "options"):
            hashes.append(hash64(normal_text(question.content)))
            yield question.content

    sets = shingle_sets(tqdm(texts(), desc="doubles", unit="", total=len(bank), disable=None))
    return np.frombuffer(hashes, dtype=np.uint64), sets


#: Row of a question -> kind and row of its twin.
_Doubles = dict[int, tuple[str, int]]


@dataclass(frozen=True)
class _Search:
    """Search of the questions ``queries`` among ``train``, both rows of the other fields."""

    figures: BankFigures
    texts: np.ndarray
    sets: ShingleSets
    queries: np.ndarray
    train: np.ndarray
    threshold: float

    def doubles(self) -> _Doubles:
        """Return kind and twin of each question that has one."""
        exact = self._exact()
        rest = [row for row in self.queries.tolist() if row not in exact]
        pictured = [row for row in rest if self.figures.numbers[row]]
        plain = [row for row in rest if not self.figures.numbers[row]]
        return exact | self._pictured(pictured) | self._plain(np.array(plain, dtype=np.int64))

    def _exact(self) -> _Doubles:
        whole = [hash64(repr(pair)) for pair in zip(self.texts.tolist(), self.figures.numbers, strict=True)]
        keys = np.array(whole, dtype=np.uint64)
        pairs = same_key(keys[self.queries], keys[self.train], most=1)
        return {int(self.queries[a]): ("exact", int(self.train[b])) for a, b in pairs.T}

    def _pictured(self, rows: list[int]) -> _Doubles:
        """Search by figures; of the questions that share one, the first `MOST` are compared by text."""
        holders: dict[int, list[int]] = {}
        for row in self.train.tolist():
            for figure in set(self.figures.numbers[row]):
                holders.setdefault(figure, []).append(row)
        near = self.figures.near(rows, self.train.tolist())
        doubles: _Doubles = {}
        for row in rows:
            sharing = (twin for f in self.figures.numbers[row] for other in near[f] for twin in holders[other])
            for twin in islice(sharing, MOST):
                if self._same_figures(row, twin, near) and self.sets.jaccard(row, twin) >= self.threshold:
                    doubles[row] = ("near", twin)
                    break
                doubles.setdefault(row, ("figure", twin))
        return doubles

    def _same_figures(self, row: int, twin: int, near: dict[int, list[int]]) -> bool:
        first, second = self.figures.numbers[row], self.figures.numbers[twin]
        return len(first) == len(second) and all(b in near[a] for a, b in zip(first, second, strict=True))

    def _plain(self, rows: np.ndarray) -> _Doubles:
        """Search by words among the questions without figures."""
        corpus = np.array([row for row in self.train.tolist() if not self.figures.numbers[row]], dtype=np.int64)
        queries, keys = band_keys(self.sets, rows), band_keys(self.sets, corpus)
        doubles: _Doubles = {}
        for begin in range(0, len(rows), _CHUNK):  # a chunk's candidates fit into memory
            chunk = slice(begin, begin + _CHUNK)
            first, second = alike(queries[:, chunk], keys)
            doubles |= self._most_similar(rows[chunk][first], corpus[second])
        return doubles

    def _most_similar(self, rows: np.ndarray, twins: np.ndarray) -> _Doubles:
        """Return the most similar twin of each row in the pairs (row, twin), the first of equals, if near."""
        sizes = self.sets.sizes
        low, high = np.minimum(sizes[rows], sizes[twins]), np.maximum(sizes[rows], sizes[twins])
        possible = low >= self.threshold * high  # no similarity is above the ratio of the sizes
        best: dict[int, tuple[float, int]] = {}
        pairs = np.stack((rows[possible], twins[possible]))
        similarities = self.sets.jaccards(pairs)
        near = similarities >= self.threshold
        for row, twin, similarity in zip(*pairs[:, near].tolist(), similarities[near].tolist(), strict=True):
            if similarity > best.get(row, (0.0, 0))[0]:
                best[row] = (similarity, twin)
        return {row: ("near", twin) for row, (_, twin) in best.items()}


def rows_held_out(
    stems: Sequence[str], files: Sequence[str | os.PathLike[str]], threshold: float = THRESHOLD
) -> np.ndarray:
    """Return the rows of ``stems`` that are an original in ``files``, up to spacing, numbers and few words.

    Training leaves them out, so that labelled paraphrases can be measured on.

    Args:
        files: Files of questions and paraphrases (`tqnet.questions.paraphrase_pairs`).
        threshold: Minimum Jaccard similarity of the shingles.

    Returns:
        int64 ``[rows]``, ascending.

    Raises:
        BankError, ValueError, OSError: As :func:`read_paraphrase_pairs`.
    """
    originals = list(dict.fromkeys(pair.original for file in files for pair in read_paraphrase_pairs(file)))
    if not originals or not stems:
        return np.zeros(0, dtype=np.int64)
    sets = shingle_sets([*stems, *originals])
    rows = np.arange(len(sets))
    pairs = alike(band_keys(sets, rows[: len(stems)]), band_keys(sets, rows[len(stems) :])).T.tolist()
    near = {row for row, original in pairs if sets.jaccard(row, len(stems) + original) >= threshold}
    return np.array(sorted(near), dtype=np.int64)
