"""What speaks for a candidate before a model has read it beside the query; what a ranker starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from tqnet.questions import Question
from tqnet.search.recall import Candidate
from tqnet.text.words import search_words

#: The cosine of the vectors, and that of the runs of characters. NOTE: not BM25, which depends on what else is in an
#: index and on which concepts of the query are known; the ranker would be asked other numbers than it was trained on.
EVIDENCE = ("cosine", "characters")

#: What each is worth in the order that a ranker starts from; training changes them.
WEIGHTS = (1.0, 1.0)

#: Characters of a run: a part of a word, or the end of one and the beginning of the next.
_RUN = 4


def evidence(query: Question, candidates: Sequence[Candidate]) -> np.ndarray:
    """`EVIDENCE` of each candidate, float32 ``[candidates, 2]``; a cosine of 0 where vectors were not asked."""
    own = character_runs(query)
    found = [(one.cosine or 0.0, in_common(own, character_runs(one.question))) for one in candidates]
    return np.array(found, dtype=np.float32).reshape(-1, len(EVIDENCE))


def character_runs(question: Question) -> dict[str, float]:
    """Each run of characters of the words by which stem and options are searched, and its share of a unit vector.

    A run counts by the root of how often it occurs. Words that are alike but for an ending share most of their runs,
    and their order counts a little.
    """
    text = " ".join(search_words(question.content))
    counts = Counter(text[start : start + _RUN] for start in range(max(1, len(text) - _RUN + 1)))
    total = sum(counts.values())
    return {run: (count / total) ** 0.5 for run, count in counts.items()}


def in_common(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Cosine of two texts' :func:`character_runs`, 0 to 1."""
    if len(other) < len(one):
        one, other = other, one
    return sum(share * other[run] for run, share in one.items() if run in other)
