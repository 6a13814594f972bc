"""Which questions of ``valid`` and ``test`` have a double in ``train``, so that tables can do without them.

A text alone makes no double where the figures differ: "Find x." stands below a thousand drawings. But a figure does,
whatever is asked about it, since the figure is the larger part of what a model reads.
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
from tqnet.questions.paraphrase_pairs import read_pairs
from tqnet.questions.question import Question
from tqnet.questions.table import hash64

#: From the surest to the least: what a question has in common with its twin in ``train``.
#:
#: - ``exact``: text and figures.
#: - ``near``: all but few words or any of the numbers; figures are near, one by one, or there are none.
#: - ``figure``: a figure, with another text.
KINDS = ("exact", "near", "figure")

#: Splits that are measured on.
MEASURED = ("valid", "test")

#: Least Jaccard similarity of the shingles of near doubles. From 0.9 on, pairs of a public bank were mostly one
#: question with a word or the numbers changed; from 0.8 to 0.9, many came from one template and asked about another
#: function.
THRESHOLD = 0.9

_CHUNK = 10_000


@dataclass(frozen=True)
class Double:
    """A question of ``split`` at ``row`` of the bank, and the question of ``train`` that it doubles."""

    row: int
    split: str
    kind: str
    id: str
    twin: str


@dataclass(frozen=True)
class Contamination:
    """The doubles of a bank, in its order; of a question with several twins, the surest counts.

    Attributes:
        questions: Size of the bank.
    """

    questions: int
    doubles: tuple[Double, ...]

    def counts(self, split: str) -> dict[str, int]:
        """Doubles of each kind in ``valid`` or ``test``."""
        found = Counter(double.kind for double in self.doubles if double.split == split)
        return {kind: found[kind] for kind in KINDS}

    @property
    def clean(self) -> np.ndarray:
        """Rows of the bank without the doubles, ascending: int64 ``[rows]``."""
        return np.setdiff1d(np.arange(self.questions), [double.row for double in self.doubles])


def find_contamination(
    bank: QuestionBank, threshold: float = THRESHOLD, hash_image: Callable[[str], FigureHash] = hash_figure_file
) -> Contamination:
    """Look up each question of ``valid`` and ``test`` in ``train``; questions without a split take no part.

    The candidates of near texts come from MinHash and are then compared by their whole sets of shingles, so
    that chance can hide a double (see `tqnet.questions.near_duplicates`) and not make one.

    Args:
        threshold: Least Jaccard similarity of near texts; below 0.8, MinHash misses more than a few.
        hash_image: Hashes the figure at a path; `check_bank` has done it already.
    """
    splits = np.array([split or "" for split in bank.column("split")], dtype="U5")
    asked, train = np.flatnonzero(np.isin(splits, MEASURED)), np.flatnonzero(splits == "train")
    if not len(asked) or not len(train):
        return Contamination(len(bank), ())
    rows = np.sort(np.concatenate((asked, train)))
    figures = BankFigures(bank.select(rows), hash_image)
    texts, sets = _read_texts(bank.select(rows))
    search = _Search(figures, texts, sets, np.searchsorted(rows, asked), np.searchsorted(rows, train), threshold)
    ids = bank.ids
    return Contamination(
        len(bank),
        tuple(
            Double(int(rows[row]), str(splits[rows[row]]), kind, ids[rows[row]], ids[rows[twin]])
            for row, (kind, twin) in sorted(search.doubles().items())
        ),
    )


def _read_texts(bank: QuestionBank) -> tuple[np.ndarray, ShingleSets]:
    """A hash of each question's text, uint64 ``[questions]``, and its shingles."""
    hashes = array("Q")

    def texts() -> Iterator[str]:
        for stems, options in bank.batches("stem", "options"):
            for stem, choices in zip(stems, options, strict=True):
                text = Question(id="", stem=stem, options=choices).content
                hashes.append(hash64(normal_text(text)))
                yield text

    sets = shingle_sets(tqdm(texts(), desc="doubles", unit="", total=len(bank), disable=None))
    return np.frombuffer(hashes, dtype=np.uint64), sets


_Found = dict[int, tuple[str, int]]


@dataclass(frozen=True)
class _Search:
    """Doubles of the questions ``asked`` among ``train``, both rows of what the other fields hold."""

    figures: BankFigures
    texts: np.ndarray
    sets: ShingleSets
    asked: np.ndarray
    train: np.ndarray
    threshold: float

    def doubles(self) -> _Found:
        """Kind and twin of each question that has one."""
        found = self._exact()
        rest = [row for row in self.asked.tolist() if row not in found]
        pictured = [row for row in rest if self.figures.of[row]]
        plain = [row for row in rest if not self.figures.of[row]]
        return found | self._pictured(pictured) | self._plain(np.array(plain, dtype=np.int64))

    def _exact(self) -> _Found:
        whole = [hash64(repr(pair)) for pair in zip(self.texts.tolist(), self.figures.of, strict=True)]
        keys = np.array(whole, dtype=np.uint64)
        pairs = same_key(keys[self.asked], keys[self.train], most=1)
        return {int(self.asked[a]): ("exact", int(self.train[b])) for a, b in pairs.T}

    def _pictured(self, rows: list[int]) -> _Found:
        """By their figures; of the questions that share one, the first `MOST` are compared by text."""
        holders: dict[int, list[int]] = {}
        for row in self.train.tolist():
            for figure in set(self.figures.of[row]):
                holders.setdefault(figure, []).append(row)
        near = self.figures.near(rows, self.train.tolist())
        found: _Found = {}
        for row in rows:
            sharing = (twin for f in self.figures.of[row] for other in near[f] for twin in holders[other])
            for twin in islice(sharing, MOST):
                if self._same_figures(row, twin, near) and self.sets.jaccard(row, twin) >= self.threshold:
                    found[row] = ("near", twin)
                    break
                found.setdefault(row, ("figure", twin))
        return found

    def _same_figures(self, row: int, twin: int, near: dict[int, list[int]]) -> bool:
        own, others = self.figures.of[row], self.figures.of[twin]
        return len(own) == len(others) and all(b in near[a] for a, b in zip(own, others, strict=True))

    def _plain(self, rows: np.ndarray) -> _Found:
        """By their words, among the questions without figures."""
        corpus = np.array([row for row in self.train.tolist() if not self.figures.of[row]], dtype=np.int64)
        queries, keys = band_keys(self.sets, rows), band_keys(self.sets, corpus)
        found: _Found = {}
        for begin in range(0, len(rows), _CHUNK):  # a chunk's candidates fit into memory
            chunk = slice(begin, begin + _CHUNK)
            first, second = alike(queries[:, chunk], keys)
            found |= self._most_similar(rows[chunk][first], corpus[second])
        return found

    def _most_similar(self, rows: np.ndarray, twins: np.ndarray) -> _Found:
        """Of the pairs (row, twin), the most similar of each row, the first of equals, if near."""
        sizes = self.sets.sizes
        low, high = np.minimum(sizes[rows], sizes[twins]), np.maximum(sizes[rows], sizes[twins])
        possible = low >= self.threshold * high  # no similarity is above the ratio of the sizes
        best: dict[int, tuple[float, int]] = {}
        for row, twin in zip(rows[possible].tolist(), twins[possible].tolist(), strict=True):
            similarity = self.sets.jaccard(row, twin)
            if similarity >= self.threshold and similarity > best.get(row, (0.0, 0))[0]:
                best[row] = (similarity, twin)
        return {row: ("near", twin) for row, (_, twin) in best.items()}


# Which questions of a bank are all but those of labelled paraphrases, and have no part in a training.


def rows_held_out(
    bank: QuestionBank, files: Sequence[str | os.PathLike[str]], threshold: float = THRESHOLD
) -> np.ndarray:
    """Rows of ``bank`` whose stem is that of an original in ``files``, but for spacing, numbers and few words.

    Args:
        files: Of questions and paraphrases (`tqnet.questions.paraphrase_pairs`).
        threshold: Least Jaccard similarity of the shingles, as of `tqnet.questions.leakage`.

    Returns:
        int64 ``[rows]``, ascending.

    Raises:
        BankError, ValueError, OSError: As :func:`read_pairs`.
    """
    originals = list(dict.fromkeys(pair.original for file in files for pair in read_pairs(file)))
    stems = bank.column("stem")
    if not originals or not stems:
        return np.zeros(0, dtype=np.int64)
    sets = shingle_sets([*stems, *originals])
    own, others = np.arange(len(stems)), np.arange(len(stems), len(sets))
    pairs = alike(band_keys(sets, own), band_keys(sets, others)).T.tolist()
    near = {row for row, original in pairs if sets.jaccard(row, len(stems) + original) >= threshold}
    return np.array(sorted(near), dtype=np.int64)
