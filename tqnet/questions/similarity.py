"""Which questions of a bank are similar to which, for a million questions and more."""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import warnings
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from tqnet.questions.bank import QuestionBank
from tqnet.questions.faults import BankError, Fault
from tqnet.questions.knowledge import KnowledgeHierarchy
from tqnet.questions.question import FieldError

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
        if on_error not in ("stop", "skip"):
            raise ValueError(f"on_error: expected 'stop' or 'skip', got {on_error!r}")
        (first, second, similar), faults = _read_pairs(Path(path), bank, threshold)
        if faults and (on_error == "stop" or not len(first)):
            raise BankError(faults)
        if faults:
            message = f"{path}: {len(faults)} faulty pairs left out, {len(first)} read; the first fault: {faults[0]}"
            warnings.warn(message, stacklevel=2)
        labelled = np.zeros(len(bank), dtype=bool)
        labelled[first] = labelled[second] = True
        first, second = first[similar], second[similar]
        ones = np.ones(2 * len(first), dtype=bool)
        ends = (np.concatenate((first, second)), np.concatenate((second, first)))
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


def _read_pairs(
    path: Path, bank: QuestionBank, threshold: float
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], list[Fault]]:
    """The distinct pairs of a file (smaller index ``[p]``, larger index ``[p]``, whether similar ``[p]``); faults."""
    index_of = {name: i for i, name in enumerate(bank.ids)}
    lines, first, second, similar = array("q"), array("q"), array("q"), array("b")
    faults = []
    for line, record in _records(path):
        try:
            a, b, score = _read_pair(record, index_of)
        except FieldError as error:
            faults.append(Fault(str(path), line, error.field, error.message))
            continue
        lines.append(line)
        first.append(min(a, b))
        second.append(max(a, b))
        similar.append(score >= threshold)
    smaller, larger = (np.frombuffer(ends, dtype=np.int64) for ends in (first, second))
    verdict = np.frombuffer(similar, dtype=np.int8).astype(bool)
    order = np.lexsort((larger, smaller))  # stable: the same pair stands in the order of the file
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(smaller[order]) != 0) | (np.diff(larger[order]) != 0)
    distinct = order[new]
    earliest = distinct[np.cumsum(new) - 1]  # of each pair in ``order``, where it first stands
    for k in np.flatnonzero(verdict[order] != verdict[earliest]):
        message = f"contradicts line {lines[earliest[k]]}, which has the same pair"
        faults.append(Fault(str(path), lines[order[k]], "similar", message))
    return (smaller[distinct], larger[distinct], verdict[distinct]), sorted(faults, key=lambda fault: fault.line)


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, record or None if it is no JSON) of a pairs file."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            for row in reader:
                yield reader.line_num, row | {"similar": _number(row.get("similar"))}
    elif path.suffix == ".jsonl":
        with path.open(encoding="utf-8-sig") as stream:
            for line, text in enumerate(stream, 1):
                if text.strip():
                    yield line, _decode(text)
    else:
        raise ValueError(f"{path}: pairs are read from .jsonl or .csv")


def _number(text: str | None) -> float | str | None:
    """What a CSV cell would be in JSON; text that is no number stays text, for the message."""
    try:
        return float(text) if text else None
    except ValueError:
        return text


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read_pair(record: Any, index_of: dict[str, int]) -> tuple[int, int, float]:
    if not isinstance(record, dict):
        raise FieldError("record", "expected a JSON object with a, b and similar")
    a, b = (_read_end(record, name, index_of) for name in ("a", "b"))
    if a == b:
        raise FieldError("b", "the same question as a")
    return a, b, _read_score(record.get("similar"))


def _read_end(record: dict[str, Any], field: str, index_of: dict[str, int]) -> int:
    value = record.get(field)
    if value is None:
        raise FieldError(field, "missing")
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise FieldError(field, "expected the id of a question")
    if str(value) not in index_of:
        raise FieldError(field, f"no question {str(value)!r:.80} in the bank")
    return index_of[str(value)]


def _read_score(value: Any) -> float:
    if value is None:
        raise FieldError("similar", "missing")
    if not isinstance(value, (int, float)) or not abs(value) < math.inf:  # nor NaN
        raise FieldError("similar", f"expected 0, 1 or a score, got {value!r:.80}")
    return value
