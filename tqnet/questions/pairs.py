"""Labelled pairs of questions from a file: scored as similar or not, or by their relation."""

from __future__ import annotations

import json
import math
import os
import warnings
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tqnet.questions.bank import QuestionBank
from tqnet.questions.question import BankError, Fault, FieldError, Question
from tqnet.questions.reading import read_question, records

#: Relations of two questions (FSE, "Duplicate Exercise Detection", "Variant Exercise re-rank"), the nearest first.
#:
#: - ``duplicate``: they ask the same; only the surface or irrelevant details differ.
#: - ``similar``: other numbers.
#: - ``variant``: another condition, target quantity or degree.
#: - ``unrelated``: everything else.
RELATIONS = ("duplicate", "similar", "variant", "unrelated")

#: A question and n others -> the probability of each of RELATIONS, float32 ``[n, 4]``.
Classify = Callable[[Question, Sequence[Question]], np.ndarray]


@dataclass(frozen=True)
class ScoredPairs:
    """Distinct pairs of questions, each with a score.

    Attributes:
        first, second: Places in the bank, the smaller first, int64 ``[p]``.
        score: Their similarity, float64 ``[p]``.
    """

    first: np.ndarray
    second: np.ndarray
    score: np.ndarray

    def __len__(self) -> int:
        return len(self.score)

    def select(self, indices: Sequence[int] | np.ndarray) -> ScoredPairs:
        """Return the pairs among the questions at ``indices``, as `QuestionBank.select` numbers them."""
        place = {index: i for i, index in enumerate(np.asarray(indices, dtype=np.int64).tolist())}
        first, second = (np.array([place.get(i, -1) for i in ends.tolist()], int) for ends in (self.first, self.second))
        kept = (first >= 0) & (second >= 0)
        first, second = first[kept], second[kept]
        return ScoredPairs(np.minimum(first, second), np.maximum(first, second), self.score[kept])


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two questions and their relation, one of RELATIONS."""

    a: Question
    b: Question
    relation: str


def read_labelled_pairs(
    path: str | os.PathLike[str], bank: QuestionBank | None = None, on_error: Literal["stop", "skip"] = "stop"
) -> list[LabelledPair]:
    """Read pairs with ``a``, ``b`` and ``label`` in the order of the file; other fields are ignored.

    Args:
        path: A ``.jsonl`` file, or a ``.csv`` file with a header. In JSON, ``a`` and ``b`` may be questions (objects
            with at least a ``stem``, figures relative to the file) in place of ids.
        bank: The questions that ids refer to.
        on_error: ``stop`` raises on any fault; ``skip`` leaves the faulty pairs out with a warning.

    Raises:
        BankError: Unknown ids, labels or fields, a pair with two labels, no pair at all; with file and line.
        ValueError: Neither .jsonl nor .csv.
    """
    path = Path(path)
    index_of = {} if bank is None else {name: i for i, name in enumerate(bank.ids)}
    pairs, faults = [], []
    first_line: dict[frozenset[str], tuple[int, str]] = {}
    for line, record in records(path):
        try:
            pair = _read_labelled(record, index_of, bank, path, line)
            key = frozenset(json.dumps(record[end], sort_keys=True) for end in "ab")
            earlier, relation = first_line.setdefault(key, (line, pair.relation))
            if relation != pair.relation:
                raise FieldError("label", f"contradicts line {earlier}, which has the same pair")
            if earlier == line:  # else it is a repetition
                pairs.append(pair)
        except FieldError as error:
            faults.append(Fault(str(path), line, error.field, error.message))
    if not pairs and not faults:
        faults.append(Fault(str(path), 0, "record", "the file holds no pair"))
    _report(path, faults, len(pairs), on_error)
    return pairs


def _read_labelled(
    record: Any, index_of: dict[str, int], bank: QuestionBank | None, path: Path, line: int
) -> LabelledPair:
    if not isinstance(record, dict):
        raise FieldError("record", "expected a JSON object with a, b and label")
    a, b = (_read_question(record, end, index_of, bank, path, line) for end in "ab")
    if a == b:
        raise FieldError("b", "the same question as a")
    label = record.get("label")
    if label not in RELATIONS:
        raise FieldError("label", f"expected one of {', '.join(RELATIONS)}, got {label!r:.80}")
    return LabelledPair(a, b, label)


def _read_question(
    record: dict[str, Any], end: str, index_of: dict[str, int], bank: QuestionBank | None, path: Path, line: int
) -> Question:
    """Read a question that is given, or named by its id."""
    if isinstance(given := record.get(end), dict):
        try:
            return read_question({"id": f"{line}{end}"} | given, path.absolute().parent)
        except FieldError as error:
            raise FieldError(f"{end}.{error.field}", error.message) from error
    if bank is None:
        raise FieldError(end, "missing" if given is None else "an id, and no bank to look for it")
    return bank[_read_end(record, end, index_of)]


def _report(path: Path, faults: list[Fault], count: int, on_error: str) -> None:
    """Raise faults as an error or, if pairs are left and ``on_error`` is ``skip``, as a warning."""
    if on_error not in ("stop", "skip"):
        raise ValueError(f"on_error: expected 'stop' or 'skip', got {on_error!r}")
    if faults and (on_error == "stop" or not count):
        raise BankError(faults)
    if faults:
        message = f"{path}: {len(faults)} faulty pairs left out, {count} read; the first fault: {faults[0]}"
        warnings.warn(message, stacklevel=4)


def read_pairs(
    path: str | os.PathLike[str],
    bank: QuestionBank,
    threshold: float | None = None,
    on_error: Literal["stop", "skip"] = "stop",
) -> ScoredPairs:
    """Read pairs with ``a`` and ``b`` (ids) and ``similar`` (0/1 or a graded score), in no order.

    Args:
        path: A ``.jsonl`` file, or a ``.csv`` file with a header.
        threshold: A score of at least this much is 1, any other 0; None leaves scores as they are.
        on_error: ``stop`` raises on any fault; ``skip`` leaves the faulty pairs out with a warning. Of two
            scores of a pair, the first counts.

    Raises:
        BankError: Unknown ids, wrong types, a pair with two scores; with file and line. With ``skip`` only
            if no pair is left.
        ValueError: Neither .jsonl nor .csv.
    """
    pairs, faults = _read(Path(path), bank, threshold)
    _report(Path(path), faults, len(pairs), on_error)
    return pairs


def _read(path: Path, bank: QuestionBank, threshold: float | None) -> tuple[ScoredPairs, list[Fault]]:
    """Return the distinct pairs of a file, and its faults."""
    index_of = {name: i for i, name in enumerate(bank.ids)}
    lines, first, second, scores = array("q"), array("q"), array("q"), array("d")
    faults = []
    for line, record in records(path):
        try:
            if not isinstance(record, dict):
                raise FieldError("record", "expected a JSON object with a, b and similar")
            a, b = (_read_end(record, name, index_of) for name in ("a", "b"))
            if a == b:
                raise FieldError("b", "the same question as a")
            score = _read_score(record.get("similar"), path.suffix == ".csv")
        except FieldError as error:
            faults.append(Fault(str(path), line, error.field, error.message))
            continue
        lines.append(line)
        first.append(min(a, b))
        second.append(max(a, b))
        scores.append(score if threshold is None else score >= threshold)
    smaller, larger = (np.frombuffer(ends, dtype=np.int64) for ends in (first, second))
    verdict = np.frombuffer(scores, dtype=np.float64)
    order = np.lexsort((larger, smaller))  # stable: the same pair stands in the order of the file
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(smaller[order]) != 0) | (np.diff(larger[order]) != 0)
    distinct = order[new]
    earliest = distinct[np.cumsum(new) - 1]  # of each pair in ``order``, where it first stands
    for k in np.flatnonzero(verdict[order] != verdict[earliest]):
        message = f"contradicts line {lines[earliest[k]]}, which has the same pair"
        faults.append(Fault(str(path), lines[order[k]], "similar", message))
    pairs = ScoredPairs(smaller[distinct], larger[distinct], verdict[distinct])
    return pairs, sorted(faults, key=lambda fault: fault.line)


def _read_end(record: dict[str, Any], field: str, index_of: dict[str, int]) -> int:
    value = record.get(field)
    if value is None:
        raise FieldError(field, "missing")
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise FieldError(field, "expected the id of a question")
    if str(value) not in index_of:
        raise FieldError(field, f"no question {str(value)!r:.80} in the bank")
    return index_of[str(value)]


def _read_score(value: Any, is_cell: bool) -> float:
    """Read 0, 1 or a graded score; cells of a CSV file are text."""
    if is_cell:
        with suppress(ValueError):
            value = float(value) if value else None
    if value is None:
        raise FieldError("similar", "missing")
    if not isinstance(value, (int, float)) or not abs(value) < math.inf:  # nor NaN
        raise FieldError("similar", f"expected 0, 1 or a score, got {value!r:.80}")
    return value
