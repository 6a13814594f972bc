"""Candidates in the order of the evidence, the first of them in that of a model (FSE, "Ranking Module")."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tqnet.questions import Question
from tqnet.questions.bank import batched
from tqnet.search.retrieval import Candidate, Votes, jaccard
from tqnet.text.sentences import search_words

# What speaks for a candidate before a model has read it beside the query; what a ranker starts from.


#: The cosine of the vectors, that of the runs of characters, and how far a candidate has the concepts of those nearest
#: the query. NOTE: not BM25, which depends on what else is in an index, nor the query's own concepts, of which one that
#: is typed has none: the ranker would be asked other numbers than it was trained on.
EVIDENCE = ("cosine", "characters", "concepts")

#: What each is worth without a ranker, and where one starts; training changes it. Chosen by the questions of `valid`.
WEIGHTS = (1.0, 0.5, 0.4)
#: The same where the query's own concepts are known.
_KNOWN_WEIGHTS = (1.0, 0.5, 1.5)

#: Characters of a run: a part of a word, or the end of one and the beginning of the next.
_RUN = 4


def evidence(query: Question, candidates: Sequence[Candidate]) -> np.ndarray:
    """`EVIDENCE` of each of a query's candidates, float32 ``[candidates, 3]``; a cosine of 0 where vectors were not
    asked.
    """
    runs = character_runs(words_of(query))
    cosines = np.array([one.cosine or 0.0 for one in candidates])
    characters = [in_common(runs, character_runs(one.text or words_of(one.question))) for one in candidates]
    knowledge = [one.question.knowledge for one in candidates]
    votes = Votes(dict(enumerate(cosines.tolist())), knowledge.__getitem__)
    concepts = list(map(votes.share, range(len(candidates))))
    return np.array([cosines, characters, concepts], dtype=np.float32).reshape(len(EVIDENCE), -1).T


def likeness(query: Question, candidates: Sequence[Candidate], found: np.ndarray) -> np.ndarray:
    """How alike candidates are to the query without a model, ``[candidates]``: the weighted mean of their evidence.

    Of a query whose concepts are known, those that it shares with a candidate, of the concepts of both, take the place
    of what the nearest say.

    Args:
        found: The evidence, ``[candidates, 3]``.
    """
    weights = np.array(WEIGHTS)
    if query.knowledge:
        weights = np.array(_KNOWN_WEIGHTS)
        shared = [jaccard(set(query.knowledge), set(one.question.knowledge)) for one in candidates]
        found = np.column_stack([found[:, :2], shared])
    return found @ (weights / weights.sum())


def words_of(question: Question) -> str:
    """Those by which stem and options are searched."""
    return " ".join(search_words(question.content))


def character_runs(words: str) -> dict[str, float]:
    """Each run of characters of the words of a question, and its share of a unit vector; none of no words.

    A run counts by the root of how often it occurs. Words that are alike but for an ending share most of their runs,
    and their order counts a little.
    """
    if not words:
        return {}
    counts = Counter(words[start : start + _RUN] for start in range(max(1, len(words) - _RUN + 1)))
    total = sum(counts.values())
    return {run: (count / total) ** 0.5 for run, count in counts.items()}


def in_common(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Cosine of two texts' :func:`character_runs`, 0 to 1."""
    if len(other) < len(one):
        one, other = other, one
    return sum(share * other[run] for run, share in one.items() if run in other)


#: Candidates that are scored at a time: between two of these the clock is looked at.
_AT_ONCE = 8

#: Query, candidates and their evidence ``[candidates, 3]`` (`tqnet.search.ranking`) -> the probability that each is
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
