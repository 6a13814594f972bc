"""Candidates in the order of a model that reads each together with the query (FSE, "Ranking Module")."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tqnet.questions import Question
from tqnet.questions.bank import batched
from tqnet.search.evidence import WEIGHTS, evidence
from tqnet.search.recall import Candidate

#: Candidates that are scored at a time: between two of these the clock is looked at.
_AT_ONCE = 8

#: Query, candidates and their evidence ``[candidates, 2]`` (`tqnet.search.evidence`) -> how similar each is, 0 to 1, by
#: a ranker the probability that it is, ``[candidates]``.
Score = Callable[[Question, Sequence[Question], np.ndarray], np.ndarray]


def by_evidence(query: Question, candidates: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
    """What rankers start from, without a model: the weighted mean of the evidence, 1 for a question like the query."""
    return evidence @ (np.array(WEIGHTS) / sum(WEIGHTS))


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
        score: Of the model.
        first: So many of recall's candidates are ranked; the others stay behind them.
        deadline: Seconds that ranking may take; None for as long as it takes.
    """

    score: Score
    first: int = 20
    deadline: float | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __call__(self, query: Question, candidates: Sequence[Candidate]) -> Ranked:
        """The candidates by score, best first, equal ones in the order of recall.

        One query is ranked at a time: several at once would each take the longer. Waiting counts.
        """
        end = None if self.deadline is None else time.monotonic() + self.deadline
        if not self._turn.acquire(timeout=-1 if self.deadline is None else self.deadline):
            return Ranked(list(candidates), late=True)
        try:
            return self._ranked(query, candidates, end)
        finally:
            self._turn.release()

    def _ranked(self, query: Question, candidates: Sequence[Candidate], end: float | None) -> Ranked:
        scores: list[float] = []
        for some in batched(candidates[: self.first], _AT_ONCE):
            if end is not None and time.monotonic() >= end:
                return Ranked(list(candidates), late=True)
            scores += self.score(query, [one.question for one in some], evidence(query, some)).tolist()
        if end is not None and time.monotonic() > end:
            return Ranked(list(candidates), late=True)
        scored = [replace(one, rank=of) for one, of in zip(candidates, scores, strict=False)]
        return Ranked(sorted(scored, key=lambda one: -(one.rank or 0)) + list(candidates[self.first :]))
