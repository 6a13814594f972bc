"""What speaks for a candidate before a model has read it beside the query; what a ranker starts from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tqnet.questions import Question
from tqnet.search.recall import Candidate, jaccard
from tqnet.text.words import search_words

#: The cosine of the vectors, and the share of words that both have. NOTE: not BM25, which depends on what else is in an
#: index and on which concepts of the query are known; the ranker would be asked other numbers than it was trained on.
EVIDENCE = ("cosine", "words")

#: What each is worth in the order that a ranker starts from; training changes them.
WEIGHTS = (1.0, 0.5)


def evidence(query: Question, candidates: Sequence[Candidate]) -> np.ndarray:
    """`EVIDENCE` of each candidate, float32 ``[candidates, 2]``; a cosine of 0 where vectors were not asked."""
    own = words_of(query)
    found = [(one.cosine or 0.0, jaccard(own, words_of(one.question))) for one in candidates]
    return np.array(found, dtype=np.float32).reshape(-1, len(EVIDENCE))


def words_of(question: Question) -> set[str]:
    """Words, numbers and tokens of formulas in one form, of stem and options."""
    return set(search_words(question.content))
