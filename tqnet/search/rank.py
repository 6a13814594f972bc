"""Candidates in the order of the evidence, the first of them in that of a model (FSE, "Ranking Module")."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tqnet.questions import Question
from tqnet.questions.bank import batched
from tqnet.search.evidence import evidence, likeness
from tqnet.search.recall import Candidate

#: Candidates that are scored at a time: between two of these the clock is looked at.
_AT_ONCE = 8

#: Query, candidates and their evidence ``[candidates, 3]`` (`tqnet.search.evidence`) -> the probability that each is
#: similar, ``[candidates]``.
Score = Callable[[Question, Sequence[Question], np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Ranked:
    """Candidates in order.

    Attributes:
        late: The time was up, so that this is still the order of recall.
    """

    candidates: list[Candidate]
    late: bool = False


@dataclass(frozen=True)
class Rank:
    """The ranking stage.

    Attributes:
        score: Of a model that reads each candidate together with the query; None leaves the order of the evidence, or
            where vectors were not asked, of which it has the most, that of recall.
        first: So many, by the evidence, are scored; the others stay behind them.
        deadline: Seconds that the model may take; None for as long as it takes.
    """

    score: Score | None = None
    first: int = 20
    deadline: float | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __call__(self, query: Question, candidates: Sequence[Candidate]) -> Ranked:
        """The candidates by score, best first, equal ones in the order of the evidence, and then of recall.

        A model ranks one query at a time: several at once would each take the longer. Waiting counts.
        """
        if self.score is None:
            by_vector = any(one.cosine is not None for one in candidates)
            return Ranked(_by_evidence(query, candidates)[0] if by_vector else list(candidates))
        end = None if self.deadline is None else time.monotonic() + self.deadline
        if not self._turn.acquire(timeout=-1 if self.deadline is None else self.deadline):
            return Ranked(list(candidates), late=True)
        try:
            return self._ranked(self.score, query, candidates, end)
        finally:
            self._turn.release()

    def _ranked(self, score: Score, query: Question, candidates: Sequence[Candidate], end: float | None) -> Ranked:
        ordered, found = _by_evidence(query, candidates)
        scores: list[float] = []
        for rows in batched(range(len(ordered))[: self.first], _AT_ONCE):
            if end is not None and time.monotonic() >= end:
                return Ranked(list(candidates), late=True)
            scores += score(query, [ordered[row].question for row in rows], found[rows]).tolist()
        if end is not None and time.monotonic() > end:
            return Ranked(list(candidates), late=True)
        scored = [replace(one, rank=of) for one, of in zip(ordered, scores, strict=False)]
        return Ranked(sorted(scored, key=lambda one: -(one.rank or 0)) + ordered[len(scored) :])


def _by_evidence(query: Question, candidates: Sequence[Candidate]) -> tuple[list[Candidate], np.ndarray]:
    """The candidates by what is known of them without a model, and their evidence ``[candidates, 3]`` in that order."""
    found = evidence(query, candidates)
    alike = likeness(query, candidates, found)
    order = np.argsort(-alike, kind="stable")
    return [replace(candidates[at], evidence=float(alike[at])) for at in order], found[order]
