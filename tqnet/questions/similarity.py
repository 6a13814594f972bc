"""Which questions of a bank are similar to which, for a million questions and more."""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from tqnet.questions.bank import QuestionBank
from tqnet.questions.hierarchy import KnowledgeHierarchy
from tqnet.questions.pairs import read_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Indices = Sequence[int] | np.ndarray


class Similarity(ABC):
    """A symmetric relation over the questions ``0 .. n-1`` of a bank; no question is similar to itself.

    Attributes:
        groups: int64 ``[n]``; questions of different groups are never linked, directly or over others, so
            groups are what a bootstrap may draw independently. A question without relatives is a group.
        has_similar: bool ``[n]``; whether a question has any neighbour.
        labelled: bool ``[n]``; whether anybody has said what a question is similar to, if only that it is to none.
    """

    groups: np.ndarray
    has_similar: np.ndarray
    labelled: np.ndarray

    @staticmethod
    def from_groups(bank: QuestionBank) -> Similarity:
        """Questions with the same ``group`` are similar; one without a group has none, and is not labelled."""
        column = pa.chunked_array([pa.array(names, pa.string()) for (names,) in bank.batches("group")], pa.string())
        groups = column.combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
        lonely = groups < 0
        named = int(groups.max(initial=-1)) + 1
        groups[lonely] = np.arange(named, named + lonely.sum())
        return _Groups(groups, ~lonely)

    @staticmethod
    def from_concepts(bank: QuestionBank, level: int) -> Similarity:
        """Questions that share a knowledge concept of ``level`` (1 is the coarsest) are similar.

        Raises:
            ValueError: The hierarchy is not that deep.
        """
        names, labels = KnowledgeHierarchy.from_bank(bank).labels(level)
        labelled = np.array([bool(own) for own in labels], dtype=bool)
        if all(len(own) <= 1 for own in labels):
            alone = itertools.count(len(names))
            return _Groups(np.array([own[0] if own else next(alone) for own in labels], dtype=np.int64), labelled)
        question = np.repeat(np.arange(len(labels)), [len(own) for own in labels])
        concept = np.fromiter(itertools.chain.from_iterable(labels), dtype=np.int64)
        from scipy.sparse import coo_array, csr_array

        has = csr_array((np.ones(len(concept), dtype=np.float32), (question, concept)), shape=(len(bank), len(names)))
        shared = (has @ has.T).tocoo()
        apart = shared.row != shared.col
        links = (np.ones(int(apart.sum()), dtype=bool), (shared.row[apart], shared.col[apart]))
        return _Pairs(csr_array(coo_array(links, shape=(len(bank), len(bank)))), labelled)

    @staticmethod
    def from_pairs(
        path: str | os.PathLike[str],
        bank: QuestionBank,
        threshold: float = 0.5,
        on_error: Literal["stop", "skip"] = "stop",
    ) -> Similarity:
        """Questions that were judged similar: ``a`` and ``b`` (ids), ``similar`` (0/1 or a graded score).

        Similar means a score of at least ``threshold``. Similarity is not taken to be transitive.

        Args:
            path: A ``.jsonl`` file, or a ``.csv`` file with a header.
            on_error: ``stop`` raises on any fault; ``skip`` leaves the faulty pairs out with a warning. Of two
                verdicts on a pair, the first counts.

        Raises:
            BankError: Unknown ids, wrong types, a pair with two verdicts; with file and line. With ``skip`` only
                if no pair is left.
            ValueError: Neither .jsonl nor .csv.
        """
        judged = read_pairs(path, bank, threshold, on_error)
        labelled = np.zeros(len(bank), dtype=bool)
        labelled[judged.first] = labelled[judged.second] = True
        similar = judged.score.astype(bool)
        first, second = judged.first[similar], judged.second[similar]
        ones = np.ones(2 * len(first), dtype=bool)
        ends = (np.concatenate((first, second)), np.concatenate((second, first)))
        from scipy.sparse import coo_array, csr_array

        links = csr_array(coo_array((ones, ends), shape=(len(bank), len(bank))))
        return _Pairs(links, labelled)

    def __len__(self) -> int:
        return len(self.groups)

    @abstractmethod
    def select(self, indices: Indices) -> Similarity:
        """The relation among the questions at ``indices``, as `QuestionBank.select` numbers them.

        So a pairs file over a whole bank serves one of its splits. No question may be named twice.
        """

    @abstractmethod
    def neighbours(self, index: int) -> np.ndarray:
        """The questions similar to ``index``, ascending, without itself: int64 ``[k]``."""

    @abstractmethod
    def matrix(self, indices: Indices) -> np.ndarray:
        """Which of ``indices`` are similar to which: bool ``[b, b]``.

        The diagonal is False, and so is every entry between two places of the same question.
        """


class _Groups(Similarity):
    """Group members lie side by side in ``_members``; a group of g costs g numbers, not g squared."""

    def __init__(self, groups: np.ndarray, labelled: np.ndarray):
        self.groups, self.labelled = groups, labelled
        sizes = np.bincount(groups)
        self.has_similar = sizes[groups] > 1
        self._members = np.argsort(groups, kind="stable")
        self._starts = np.concatenate(([0], np.cumsum(sizes)))

    def select(self, indices: Indices) -> Similarity:
        indices = np.asarray(indices, dtype=np.int64)
        return _Groups(self.groups[indices], self.labelled[indices])

    def neighbours(self, index: int) -> np.ndarray:
        index = range(len(self))[index]
        group = self.groups[index]
        members = self._members[self._starts[group] : self._starts[group + 1]]
        return members[members != index]

    def matrix(self, indices: Indices) -> np.ndarray:
        indices = np.asarray(indices, dtype=np.int64)
        groups = self.groups[indices]
        return (groups[:, None] == groups) & (indices[:, None] != indices)


class _Pairs(Similarity):
    """The similar pairs, both ways, as a compressed sparse matrix."""

    def __init__(self, links: csr_array, labelled: np.ndarray):
        self._links, self.labelled = links, labelled
        self._links.sum_duplicates()  # a pair may be given twice; this also sorts the columns
        from scipy.sparse.csgraph import connected_components

        self.groups = connected_components(self._links, directed=False)[1].astype(np.int64)
        self.has_similar = np.diff(self._links.indptr) > 0

    def select(self, indices: Indices) -> Similarity:
        indices = np.asarray(indices, dtype=np.int64)
        return _Pairs(self._links[indices][:, indices], self.labelled[indices])

    def neighbours(self, index: int) -> np.ndarray:
        index = range(len(self))[index]
        row = slice(self._links.indptr[index], self._links.indptr[index + 1])
        return self._links.indices[row].astype(np.int64)

    def matrix(self, indices: Indices) -> np.ndarray:
        indices = np.asarray(indices, dtype=np.int64)
        return self._links[indices][:, indices].toarray().astype(bool)
