"""What speaks for a candidate before a model has read it beside the query; what a ranker starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from tqnet.questions import Question
from tqnet.search.concepts import Votes
from tqnet.search.recall import Candidate
from tqnet.text.words import search_words

#: The cosine of the vectors, that of the runs of characters, and whether a candidate has a concept of the query; where
#: the query has none, how far it has those of the nearest. NOTE: not BM25, which depends on what else is in an index:
#: the ranker would be asked other numbers than it was trained on.
EVIDENCE = ("cosine", "characters", "concepts")

#: What each is worth in the order that a ranker starts from; training changes them. Chosen by the questions of `valid`.
WEIGHTS = (1.0, 0.5, 0.4)

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
    if query.knowledge:
        concepts = [float(not set(query.knowledge).isdisjoint(own)) for own in knowledge]
    else:
        concepts = list(
            map(Votes(dict(enumerate(cosines.tolist())), knowledge.__getitem__).share, range(len(candidates)))
        )
    return np.array([cosines, characters, concepts], dtype=np.float32).reshape(len(EVIDENCE), -1).T


def likeness(evidence: np.ndarray) -> np.ndarray:
    """The weighted mean of the evidence ``[candidates, 3]``, as it is known without a model: ``[candidates]``."""
    return evidence @ (np.array(WEIGHTS) / sum(WEIGHTS))


def words_of(question: Question) -> str:
    """Those by which stem and options are searched."""
    return " ".join(search_words(question.content))


def character_runs(words: str) -> dict[str, float]:
    """Each run of characters of the words of a question, and its share of a unit vector.

    A run counts by the root of how often it occurs. Words that are alike but for an ending share most of their runs,
    and their order counts a little.
    """
    counts = Counter(words[start : start + _RUN] for start in range(max(1, len(words) - _RUN + 1)))
    total = sum(counts.values())
    return {run: (count / total) ** 0.5 for run, count in counts.items()}


def in_common(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Cosine of two texts' :func:`character_runs`, 0 to 1."""
    if len(other) < len(one):
        one, other = other, one
    return sum(share * other[run] for run, share in one.items() if run in other)
