"""From a query to its answer, for ``tqnet search`` and ``tqnet serve`` alike."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tqnet.questions import Question
from tqnet.questions.reading import read_question
from tqnet.search.build import Encode
from tqnet.search.index import Index
from tqnet.search.precomputed import Precomputed
from tqnet.search.ranking import Rank
from tqnet.search.records import Filter, question_of, unit
from tqnet.search.rerank import Rerank
from tqnet.search.retrieval import CANDIDATES, SOURCES, Candidate, Recall

#: Id of a query that is no question of the index: none is left out for it.
TYPED = "(query)"

_TEXT_ALONE = "the model of this index reads no figures: the text alone is searched"

_LATE = "there was no time to rank: this is the order of recall"


class QueryError(ValueError):
    """A query that cannot be answered."""


class UnknownIdError(QueryError):
    """The index has no question of this id."""


@dataclass(frozen=True)
class Query:
    """What is looked for.

    Attributes:
        vector: ``[width]``; None if it is looked for by its text alone.
        notes: What the one who asked is to know, such as that figures were not read.
        known: It is a question of the index, whose candidates may have been found beforehand.
    """

    question: Question
    vector: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    known: bool = False


@dataclass(frozen=True)
class Answer:
    """What was found.

    Attributes:
        candidates: Best first.
        notes: Those of the query, and on what was done otherwise than asked.
        dropped: Those that re-ranking has left out, each with the reason in its notes.
        late: There was no time to rank; another time there may be.
    """

    query: Query
    candidates: list[Candidate]
    notes: tuple[str, ...] = ()
    dropped: tuple[Candidate, ...] = ()
    late: bool = False


class Searcher:
    """Answers queries from an index, always from its state of now, even if it has been replaced meanwhile.

    Args:
        encode: Makes the vectors of queries that are no question of the index; without it these are searched by text.
        reads_figures: Whether ``encode`` looks at figures.
        rank: Orders what is recalled anew.
        merging: How what both sources find is merged (:class:`Recall`).
    """

    def __init__(
        self,
        index: Index,
        encode: Encode | None = None,
        *,
        reads_figures: bool = False,
        rank: Rank | None = None,
        merging: str = "score",
    ):
        self._merging = merging
        self._index, self._recall = index, Recall(index.engine, merging)
        self.encode, self.reads_figures, self.rank = encode, reads_figures, rank
        self._reopening = threading.Lock()

    @property
    def index(self) -> Index:
        """That which is in the folder now.

        Raises:
            IndexFolderError: There is none, or one by another model.
            EngineError: Its records cannot be read.
        """
        return self._refreshed()[0]

    def _refreshed(self) -> tuple[Index, Recall]:
        with self._reopening:
            if self._index.replaced():
                new = Index(self._index.folder)
                new.check_model(self._index.manifest.model, self._index.manifest.digest)
                self._index, self._recall = new, Recall(new.engine, self._merging)
            return self._index, self._recall

    def state(self) -> Hashable | None:
        """Differs from an earlier one if the index may give other answers now; None where that cannot be told."""
        index = self.index
        version = index.engine.version()
        return None if version is None else (index.written, version)

    def question(self, id: str) -> Question:
        """A question of the index.

        Raises:
            UnknownIdError: There is none.
        """
        return self.of_index(id).question

    def of_index(self, id: str) -> Query:
        """The query for what is similar to a question of the index.

        Raises:
            UnknownIdError: There is none.
        """
        found = self.index.engine.get([id]).to_pylist()
        if not found:
            raise UnknownIdError(f"id: the index has no question {id!r}")
        vector = np.array(found[0]["vector"], dtype=np.float32)
        return Query(question_of(found[0]["question"], found[0]["images"]), vector, known=True)

    def given(self, questions: Sequence[Question], by: Sequence[str] = SOURCES) -> Iterator[Query]:
        """The queries for what is similar to ``questions``, which are encoded if they are asked for by vector.

        Raises:
            QueryError: One has figures alone, and they are not looked at.
        """
        by_vector = "vector" in by and self.encode is not None
        for question in questions:
            if question.images and not question.content.strip():
                if not by_vector:
                    raise QueryError("figures have no text to be searched by; search by vector, or give a text")
                if not self.reads_figures:
                    raise QueryError("the model of this index reads no figures; give a text")
        if not by_vector or self.encode is None:
            yield from map(Query, questions)
            return
        for question, vector in zip(questions, unit(self.encode(questions)), strict=True):
            unseen = question.images and not self.reads_figures
            yield Query(question, vector, (_TEXT_ALONE,) if unseen else ())

    def answer(
        self,
        query: Query,
        k: int = 5,
        where: Sequence[Filter] = (),
        *,
        by: Sequence[str] = SOURCES,
        candidates: int = CANDIDATES,
        rerank: Rerank | None = None,
    ) -> Answer:
        """The ``k`` best of what is recalled, ranked and re-ranked.

        Args:
            by: The sources that are asked, of :data:`SOURCES`.
            candidates: How many are recalled, if ``k`` are not more.
            rerank: What serves whom the answer is for; None leaves the order of ranking.
        """
        found = self._recalled(query, max(candidates, k), where, by)
        notes, dropped, late = query.notes, [], False
        if self.rank is not None:
            ranked = self.rank(query.question, found)
            found, late = ranked.candidates, ranked.late
            notes += (_LATE,) if late else ()
        if rerank is not None:
            reranked = rerank(query.question, found)
            found, dropped = reranked.candidates, reranked.dropped
        return Answer(query, found[:k], notes, tuple(dropped), late)

    def _recalled(self, query: Query, n: int, where: Sequence[Filter], by: Sequence[str]) -> list[Candidate]:
        index, recall = self._refreshed()
        if query.known and not where and set(by) == set(SOURCES) and self._merging == "score":
            found = Precomputed(index).candidates(query.question.id, n)
            if found is not None:
                return found
        return recall(query.question, query.vector, n, where, by=by)


def typed_question(text: str, images: Sequence[str] = ()) -> Question:
    """A query that someone has typed, with figures or as figures alone.

    Its figures are ``images``: files that an ``<img>`` in the text names are not opened.

    Raises:
        QueryError: There is nothing in it.
    """
    if not text.strip() and not images:
        raise QueryError("text: is empty")
    # A bank's question has a stem; a query may be a figure alone.
    question = read_question({"id": TYPED, "stem": text.strip() or "-"})
    return replace(question, stem=question.stem if text.strip() else "", images=tuple(images))


def shown(candidate: Candidate) -> dict[str, Any]:
    """What an answer says of a candidate, as JSON; no path of a figure."""
    question = candidate.question
    return {
        "id": question.id,
        "score": round(candidate.score, 6),
        "cosine": candidate.cosine,
        "words": candidate.words,
        "evidence": candidate.evidence,
        "rank": candidate.rank,
        "why": candidate.why,
        **{name: getattr(question, name) for name in ("stem", "options", "difficulty", "type", "knowledge")},
        "figures": len(question.images),
    }
