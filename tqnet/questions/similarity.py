"""The similarity relation of a bank, for a million questions and more."""

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
        groups: int64 ``[n]``; questions of different groups are not linked, directly or through others, so that
            groups can be drawn independently by a bootstrap. A question without relatives is a group.
        has_similar: bool ``[n]``; True if a question has any neighbour.
        labelled: bool ``[n]``; True if the question is labelled, even as similar to none.
    """

    groups: np.ndarray
    has_similar: np.ndarray
    labelled: np.ndarray

    @staticmethod
    def from_groups(bank: QuestionBank) -> Similarity:
        """Questions with the same ``group`` are similar; those without are unlabelled and similar to none."""
        column = pa.chunked_array([pa.array(names, pa.string()) for (names,) in bank.batches("group")], pa.string())
        groups = column.combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
        lonely = groups < 0
        named = int(groups.max(initial=-1)) + 1
        groups[lonely] = np.arange(named, named + lonely.sum())
        return _Groups(groups, ~lonely)

    @staticmethod
    def from_concepts(bank: QuestionBank, level: int) -> Similarity:
        """Questions that share a knowledge concept of ``level`` are similar (1 is the coarsest; or ValueError)."""
        names, labels = KnowledgeHierarchy.from_bank(bank).labels(level)
        counts = np.array([len(classes) for classes in labels], dtype=np.int64)
        if counts.max(initial=0) <= 1:
            alone = itertools.count(len(names))
            groups = [classes[0] if classes else next(alone) for classes in labels]
            return _Groups(np.array(groups, dtype=np.int64), counts > 0)
        question = np.repeat(np.arange(len(labels)), counts)
        concept = np.fromiter(itertools.chain.from_iterable(labels), dtype=np.int64)
        from scipy.sparse import csr_array

        has = csr_array((np.ones(len(concept), dtype=np.float32), (question, concept)), shape=(len(bank), len(names)))
        shared = (has @ has.T).tocoo()
        apart = shared.row != shared.col
        return _Pairs(_links(shared.row[apart], shared.col[apart], len(bank)), counts > 0)

    @staticmethod
    def from_pairs(
        path: str | os.PathLike[str],
        bank: QuestionBank,
        threshold: float = 0.5,
        on_error: Literal["stop", "skip"] = "stop",
    ) -> Similarity:
        """Questions with a score of at least ``threshold`` in a file of pairs are similar; this is not transitive.

        Args and errors as for `tqnet.questions.pairs.read_pairs`.
        """
        judged = read_pairs(path, bank, threshold, on_error)
        labelled = np.zeros(len(bank), dtype=bool)
        labelled[judged.first] = labelled[judged.second] = True
        similar = judged.score.astype(bool)
        first, second = judged.first[similar], judged.second[similar]
        return _Pairs(_links(np.append(first, second), np.append(second, first), len(bank)), labelled)

    def __len__(self) -> int:
        return len(self.groups)

    @abstractmethod
    def select(self, indices: Indices) -> Similarity:
        """Return the relation among the questions at ``indices``, as `QuestionBank.select` numbers them.

        So a pairs file over a whole bank serves one of its splits. No question may be named twice.
        """

    @abstractmethod
    def neighbours(self, index: int) -> np.ndarray:
        """Return the questions similar to ``index``, ascending, without itself: int64 ``[k]``."""

    @abstractmethod
    def matrix(self, indices: Indices) -> np.ndarray:
        """Return which of ``indices`` are similar to each other: bool ``[b, b]``; no question to itself."""


def _links(first: np.ndarray, second: np.ndarray, size: int) -> csr_array:
    from scipy.sparse import coo_array, csr_array

    return csr_array(coo_array((np.ones(len(first), dtype=bool), (first, second)), shape=(size, size)))


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
