"""Rank candidates by their features, and the best of them by a model (FSE, "Ranking Module")."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from tqnet.parallel import batched
from tqnet.questions import Question
from tqnet.search.background import Background, Words, words_of
from tqnet.search.figures import with_figures
from tqnet.search.retrieval import Candidate, Concept, Votes, jaccard
from tqnet.text.sentences import search_words

#: The features of a candidate: the cosine of the vectors, the cosines of the texts' character runs, of their words
#: weighted by rarity and of the shapes of their formulas, and the votes of the nearest for its concepts. NOTE: without
#: the query's own concepts, which a typed query lacks: a ranker would see a distribution it was not trained on.
FEATURES = ("cosine", "characters", "words", "formulas", "concepts")

#: Weights of the features without a ranker, and initial weights of a ranker. Chosen on `valid`.
WEIGHTS = (1.0, 0.5, 0.25, 0.2, 0.6)
#: The same for a query with known concepts.
_KNOWN_WEIGHTS = (1.0, 0.5, 0.25, 0.2, 1.5)

#: Likeness that a result must exceed: that of what unrelated queries find (`tqnet.search.calibration`).
FLOOR = 0.0

#: Maximum zero of the likeness scale: a model that tells nothing apart would leave no scale.
_HIGHEST_ZERO = 0.95

#: Parts of formulas that become holes.
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])|\\(?:alpha|beta|gamma|delta|theta|lambda|mu|phi|omega)\b")

#: Number of characters of a run: part of a word, or the end of one and the beginning of the next.
_RUN = 4
#: Base of the hash of a run, modulo 2**64: odd and large, so that collisions are rare.
_BASE = np.uint64(0x9E3779B97F4A7C15)


def pair_features(query: Question, candidates: Sequence[Candidate], words: Words | None = None) -> np.ndarray:
    """Return the `FEATURES` of each candidate, float32 ``[candidates, 5]``; the cosine is 0 without vectors."""
    cosines = np.array([candidate.cosine or 0.0 for candidate in candidates])
    texts = [candidate.terms or search_text(candidate.question) for candidate in candidates]
    concepts = [candidate.question.knowledge for candidate in candidates]
    return features_of(search_text(query), texts, cosines, concepts, words)


def features_of(
    query: str,
    texts: Sequence[str],
    cosines: np.ndarray,
    concepts: Sequence[Collection[Concept]],
    words: Words | None = None,
) -> np.ndarray:
    """Return the `FEATURES`, float32 ``[texts, 5]``, of the search terms of a query and of each candidate."""
    shapes = list(map(formula_shapes, texts))
    columns = [
        cosines,
        shared_runs(query, texts),
        shared_words(query, texts, words or Words()),
        shared_runs(formula_shapes(query), shapes),
    ]
    alike = np.column_stack(columns)
    votes = Votes(dict(enumerate((alike @ WEIGHTS[:-1]).tolist())), concepts.__getitem__)
    return np.column_stack([alike, list(map(votes.share, range(len(texts))))]).astype(np.float32)


def likeness(
    query: Question,
    candidates: Sequence[Candidate],
    features: np.ndarray,
    unrelated: Mapping[str, float] = MappingProxyType({}),
) -> np.ndarray:
    """Return each candidate's likeness without a model: the weighted mean of its features ``[candidates, 5]``.

    If figures were compared, they count, too (`tqnet.search.figures.with_figures`).

    The mean is over the available features: vectors if they were searched, text and formulas if the query has some,
    concepts if a candidate has some. If the query's concepts are known, the share in common replaces the votes of the
    nearest.

    Args:
        unrelated: See `Background`. Scales the likeness so that what unrelated queries find has 0 and the same text has
            1, whatever the model, the bank and the source; the order stays. With known concepts, the zero shrinks:
            unrelated queries find no more by their text, and have no concept in common.
    """
    by_vector = any(candidate.cosine is not None for candidate in candidates)
    text = search_text(query)
    has_concepts = any(candidate.question.knowledge for candidate in candidates) and (by_vector or query.knowledge)
    weights = np.array(_KNOWN_WEIGHTS if query.knowledge else WEIGHTS)
    weights *= (by_vector, bool(text), bool(text), bool(formula_shapes(text)), bool(has_concepts))
    if query.knowledge:
        shared = [jaccard(set(query.knowledge), set(candidate.question.knowledge)) for candidate in candidates]
        features = np.column_stack([features[:, :-1], shared])
    zero = min(unrelated.get("vectors" if by_vector else "words", 0.0), _HIGHEST_ZERO)
    if query.knowledge:
        zero *= weights[:-1].sum() / (weights.sum() or 1.0)
    weights /= weights.sum() or 1.0
    alike = (features @ weights - zero) / (1 - zero)
    return with_figures(query, alike, [candidate.figure for candidate in candidates])


def search_text(question: Question) -> str:
    """Return the search terms of stem and options, as in an index."""
    return " ".join(search_words(question.content))


def formula_shapes(words: str) -> str:
    """Return the whole formulas among search terms, with holes for numbers and names: ``$2x+3=11$`` -> ``$#a+#=#$``."""
    formulas = (word for word in words.split() if len(word) > 1 and word[0] == word[-1] == "$")
    return " ".join(_NAME.sub("a", _NUMBER.sub("#", formula)) for formula in formulas)


def shared_runs(text: str, others: Sequence[str]) -> np.ndarray:
    """Return the cosine of the square roots of the shares of character runs in ``text`` and each of ``others``.

    It is from 0 to 1, ``[others]``. Words that differ in their endings share most of their runs, and word order counts
    a little.
    """
    runs, rows = _runs([text, *others])
    totals = np.maximum(np.bincount(rows, minlength=len(others) + 1), 1)
    known, counts = np.unique(runs[rows == 0], return_counts=True)
    places = np.searchsorted(known, runs)
    shared = (rows > 0) & np.isin(runs, known)
    pairs, repeats = np.unique(rows[shared] * len(known) + places[shared], return_counts=True)
    rows, places = np.divmod(pairs, max(1, len(known)))
    parts = np.sqrt(counts[places] / totals[0] * repeats / totals[rows])
    return np.bincount(rows, weights=parts, minlength=len(others) + 1)[1:]


def shared_words(text: str, others: Sequence[str], words: Words) -> np.ndarray:
    """Return the cosine of the words in ``text`` and each of ``others``, weighted by rarity, 0 to 1 ``[others]``."""
    sets = [words_of(terms) for terms in (text, *others)]
    squares = {word: words.rarity(word) ** 2 for word in set().union(*sets)}
    lengths = [math.sqrt(sum(map(squares.__getitem__, chosen))) or 1.0 for chosen in sets]
    shared = [sum(map(squares.__getitem__, sets[0] & chosen)) for chosen in sets[1:]]
    return np.array(shared, dtype=np.float64) / (lengths[0] * np.array(lengths[1:]))


def _runs(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashed character runs of all texts, and the text index of each; a short text is one run."""
    lengths = np.array([len(text) for text in texts])
    counts = np.where(lengths, np.maximum(lengths - _RUN + 1, 1), 0)
    rows = np.repeat(np.arange(len(texts)), counts)
    padding = "\0" * (_RUN - 1)
    joined = "".join(text + padding for text in texts).encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(joined, np.uint32).astype(np.uint64)
    starts = np.cumsum(lengths + len(padding)) - lengths - len(padding) - np.cumsum(counts) + counts
    places = np.arange(len(rows)) + starts[rows]
    runs = np.zeros(len(rows), np.uint64)
    for character in range(_RUN):
        runs = runs * _BASE + characters[places + character]
    return runs, rows


_NO_BACKGROUND = Background()

#: Number of candidates scored between two checks of the deadline.
_AT_ONCE = 8

#: (query, candidates, features ``[candidates, 5]``) -> probability that each is similar, ``[candidates]``.
Score = Callable[[Question, Sequence[Question], np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Rank:
    """The ranking stage.

    Attributes:
        score: A model that reads query and candidate together; None ranks by likeness.
        first: Number of candidates, by likeness, that the model scores; the others follow.
        deadline: Seconds for the model, including waiting; None for no limit.
    """

    score: Score | None = None
    first: int = 20
    deadline: float | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __call__(
        self, query: Question, candidates: Sequence[Candidate], background: Background = _NO_BACKGROUND
    ) -> list[Candidate] | None:
        """Rank candidates by score, then by likeness, then in the order of retrieval; None past the deadline.

        The model ranks one query at a time: several at once would each take longer.
        """
        if self.score is None:
            return _by_likeness(query, candidates, background)[0]
        end = math.inf if self.deadline is None else time.monotonic() + self.deadline
        if not self._turn.acquire(timeout=-1 if self.deadline is None else self.deadline):
            return None
        try:
            ordered, features = _by_likeness(query, candidates, background)
            scores: list[float] = []
            for rows in batched(range(len(ordered))[: self.first], _AT_ONCE):
                if time.monotonic() >= end:
                    return None
                scores += self.score(query, [ordered[row].question for row in rows], features[rows]).tolist()
            scores = with_figures(query, scores, [candidate.figure for candidate in ordered[: len(scores)]]).tolist()
            if time.monotonic() > end:
                return None
        finally:
            self._turn.release()
        scored = [replace(candidate, probability=p) for candidate, p in zip(ordered, scores, strict=False)]
        return sorted(scored, key=lambda candidate: -(candidate.probability or 0)) + ordered[len(scored) :]


def _by_likeness(
    query: Question, candidates: Sequence[Candidate], background: Background
) -> tuple[list[Candidate], np.ndarray]:
    """Sort candidates by likeness; return them with their features in that order."""
    features = pair_features(query, candidates, background.words)
    alike = likeness(query, candidates, features, background.unrelated)
    order = np.argsort(-alike, kind="stable")
    return [replace(candidates[row], likeness=float(alike[row])) for row in order], features[order]
