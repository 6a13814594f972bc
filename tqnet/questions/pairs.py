"""Labelled pairs of questions from a file: scored as similar or not, or by their relation."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from tqnet.questions.bank import QuestionBank
from tqnet.questions.question import FieldError, Question, report_faults
from tqnet.questions.reading import no_pair, read_question, read_records

#: Relations of two questions (FSE, "Duplicate Exercise Detection", "Variant Exercise re-rank"), the nearest first.
#:
#: - ``duplicate``: they ask the same; only the surface or irrelevant details differ.
#: - ``similar``: other numbers.
#: - ``variant``: another condition, target quantity or degree.
#: - ``unrelated``: everything else.
RELATIONS = ("duplicate", "similar", "variant", "unrelated")

#: A question and n others -> the probability of each of RELATIONS, float32 ``[n, 4]``.
Classify = Callable[[Question, Sequence[Question]], np.ndarray]

Item = TypeVar("Item")


@dataclass(frozen=True)
class ScoredPairs:
    """Distinct pairs of questions, each with a score.

    Attributes:
        first, second: Row numbers in the bank, the smaller first, int64 ``[p]``.
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

    def question(record: dict[str, Any], end: str, line: int) -> Question:
        if isinstance(given := record.get(end), dict):
            try:
                return read_question({"id": f"{line}{end}"} | given, path.absolute().parent)
            except FieldError as error:
                raise FieldError(f"{end}.{error.field}", error.message) from error
        if bank is None:
            raise FieldError(end, "missing" if given is None else "an id, and no bank to look for it")
        return bank[_place(record, end, index_of)]

    def read(record: dict[str, Any], line: int) -> tuple[Hashable, str, LabelledPair]:
        a, b = (question(record, end, line) for end in "ab")
        if a == b:
            raise FieldError("b", "the same question as a")
        label = record.get("label")
        if label not in RELATIONS:
            raise FieldError("label", f"expected one of {', '.join(RELATIONS)}, got {label!r:.80}")
        return frozenset(json.dumps(record[end], sort_keys=True) for end in "ab"), label, LabelledPair(a, b, label)

    pairs, faults = _read_distinct(path, "label", read)
    faults += no_pair(path, pairs, faults)
    report_faults(path, "pairs", faults, len(faults), len(pairs), on_error)
    return pairs


def read_pairs(
    path: str | os.PathLike[str],
    bank: QuestionBank,
    threshold: float | None = None,
    on_error: Literal["stop", "skip"] = "stop",
) -> ScoredPairs:
    """Read pairs with ``a`` and ``b`` (ids) and ``similar`` (0/1 or a graded score), in the order of the bank.

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
    path = Path(path)
    index_of = {name: i for i, name in enumerate(bank.ids)}

    def read(record: dict[str, Any], line: int) -> tuple[Hashable, float, tuple[int, int, float]]:
        first, second = sorted(_place(record, end, index_of) for end in "ab")
        if first == second:
            raise FieldError("b", "the same question as a")
        score = _score(record.get("similar"), path.suffix == ".csv")
        if threshold is not None:
            score = float(score >= threshold)
        return (first, second), score, (first, second, score)

    pairs, faults = _read_distinct(path, "similar", read)
    report_faults(path, "pairs", faults, len(faults), len(pairs), on_error)
    first, second, score = zip(*sorted(pairs), strict=True) if pairs else ((), (), ())
    return ScoredPairs(np.array(first, np.int64), np.array(second, np.int64), np.array(score, np.float64))


def _read_distinct(
    path: Path, verdict: str, read: Callable[[dict[str, Any], int], tuple[Hashable, Any, Item]]
) -> tuple[list[Item], list[Any]]:
    """Read each pair once; ``read`` returns what identifies it, its verdict (the field of that name), and itself."""
    first: dict[Hashable, tuple[int, Any]] = {}

    def read_new(record: dict[str, Any], line: int) -> list[Item]:
        pair, value, item = read(record, line)
        earlier, known = first.setdefault(pair, (line, value))
        if known != value:
            raise FieldError(verdict, f"contradicts line {earlier}, which has the same pair")
        return [item] if earlier == line else []

    return read_records(path, read_new)


def _place(record: dict[str, Any], field: str, index_of: dict[str, int]) -> int:
    value = record.get(field)
    if value is None:
        raise FieldError(field, "missing")
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise FieldError(field, "expected the id of a question")
    if str(value) not in index_of:
        raise FieldError(field, f"no question {str(value)!r:.80} in the bank")
    return index_of[str(value)]


def _score(value: Any, is_cell: bool) -> float:
    """Read 0, 1 or a graded score; cells of a CSV file are text."""
    if is_cell:
        with suppress(ValueError):
            value = float(value) if value else None
    if value is None:
        raise FieldError("similar", "missing")
    if not isinstance(value, (int, float)) or not abs(value) < math.inf:  # nor NaN
        raise FieldError("similar", f"expected 0, 1 or a score, got {value!r:.80}")
    return value
