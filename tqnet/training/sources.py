"""What recall searches a bank by, where there need be no index of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tqnet.evaluation.baselines import Bm25Ranker
from tqnet.evaluation.ranking import VectorRanker
from tqnet.questions import QuestionBank
from tqnet.search.concepts import NEAREST, Votes
from tqnet.search.evidence import EVIDENCE, WEIGHTS, character_runs, in_common, words_of
from tqnet.search.index import Index
from tqnet.search.recall import CANDIDATES, TEXT_WEIGHT


class Sources:
    """What recall searches a bank by.

    Args:
        vectors: Of its questions, ``[n, width]``.
    """

    def __init__(self, bank: QuestionBank, vectors: np.ndarray):
        self._bank = bank
        self._text = Bm25Ranker([question.content for question in bank], bank.ids)
        self._vector = VectorRanker(vectors, bank.ids)
        self._knowledge = [question.knowledge for question in bank]
        self._runs: dict[int, dict[str, float]] = {}

    def candidates(self, query: int, count: int) -> list[int]:
        """The first ``count`` of what recall finds by its score, by the evidence, best first: what a ranker reads.

        NOTE: its text is BM25 of the words as they stand, where an index has formulas in one form. Nor does it look for
        the query's concepts, as a search for a question of the index does (``tqnet search --id``): where questions are
        similar that share them, nothing would be left to rank.
        """
        asked, everyone = np.array([query]), np.arange(len(self._bank))
        cosines, words = (source.scores(asked, everyone)[0] for source in (self._vector, self._text))
        words[query] = 0.0
        order = np.argsort(-(cosines + TEXT_WEIGHT * words / (words.max() or 1.0)), kind="stable")
        found = order[order != query][: max(count, CANDIDATES)]
        alike = self.evidence(np.full(len(found), query), found) @ WEIGHTS
        return found[np.argsort(-alike, kind="stable")][:count].tolist()

    def evidence(self, query: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        """Of each candidate of its query, float32 ``[p, 3]``, equal to :func:`tqnet.search.evidence.evidence`."""
        found = np.zeros((len(query), len(EVIDENCE)), dtype=np.float32)
        for one in np.unique(query).tolist():
            rows = np.flatnonzero(query == one)
            others = candidate[rows].tolist()
            cosines = self._vector.scores(np.array([one]), np.arange(len(self._bank)))[0]
            cosines[one] = -1.0  # it does not say itself what it is about
            found[rows, 0] = cosines[others]
            found[rows, 1] = [in_common(self._of(one), self._of(other)) for other in others]
            nearest = {at: float(cosines[at]) for at in np.argsort(-cosines, kind="stable")[:NEAREST].tolist()}
            found[rows, 2] = list(map(Votes(nearest, self._knowledge.__getitem__).share, others))
        return found

    def _of(self, question: int) -> dict[str, float]:
        if question not in self._runs:
            self._runs[question] = character_runs(words_of(self._bank[question]))
        return self._runs[question]


class SourcesOfBanks:
    """`Sources` of banks that have questions in common: the vector of each is found once.

    Args:
        vectors: Of the questions of a bank, ``[n, width]``.
    """

    def __init__(self, vectors: Callable[[QuestionBank], np.ndarray]):
        self._found_by = vectors
        self._vectors: dict[str, np.ndarray] = {}

    def __call__(self, bank: QuestionBank) -> Sources:
        new = bank.select([at for at, id in enumerate(bank.ids) if id not in self._vectors])
        if len(new):
            self._vectors |= dict(zip(new.ids, self._found_by(new), strict=True))
        return Sources(bank, np.stack([self._vectors[id] for id in bank.ids]))


def vectors_of_index(folder: Path, bank: QuestionBank) -> np.ndarray:
    """Those of the questions of ``bank``, ``[n, width]``.

    Raises:
        ValueError: The index lacks one.
    """
    engine = Index(folder).engine
    found = {row["id"]: row["vector"] for row in engine.get(bank.ids, ["id", "vector"]).to_pylist()}
    if missing := [id for id in bank.ids if id not in found]:
        raise ValueError(f"{folder} has no question {missing[0]!r} ({len(missing):,} are missing)")
    return np.array([found[id] for id in bank.ids], dtype=np.float32)
