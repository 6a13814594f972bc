"""Answer queries from an index, for ``tqnet search`` and ``tqnet serve`` alike."""

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
from tqnet.search.precomputed import precomputed_candidates
from tqnet.search.ranking import Rank
from tqnet.search.records import Filter, record_question, unit
from tqnet.search.rerank import Rerank
from tqnet.search.retrieval import CANDIDATES, SOURCES, Candidate, Retriever

#: Id of a typed query.
TYPED = "(query)"


class QueryError(ValueError):
    """A query that cannot be answered."""


class UnknownIdError(QueryError):
    """The index has no question with this id."""


@dataclass(frozen=True)
class Query:
    """A query.

    Attributes:
        vector: ``[width]``; None to search by text alone.
        notes: For the user, such as that figures were not read.
        known: It is a question of the index, whose candidates may be precomputed.
    """

    question: Question
    vector: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    known: bool = False


@dataclass(frozen=True)
class Answer:
    """The answer to a query.

    Attributes:
        candidates: Best first.
        notes: On the query, and on deviations from the request.
        dropped: Candidates that re-ranking left out, each with the reason in its notes.
        late: There was no time to rank; a repeated query may be ranked.
    """

    query: Query
    candidates: list[Candidate]
    notes: tuple[str, ...] = ()
    dropped: tuple[Candidate, ...] = ()
    late: bool = False


class Searcher:
    """Answers queries from the current state of an index, even if it is replaced meanwhile.

    Args:
        encode: Encodes queries that are not in the index; without it these are searched by text.
        reads_figures: ``encode`` reads figures too.
        rank: The ranking stage.
        merging: See :class:`Retriever`.
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
        self._index, self._retrieve = index, Retriever(index.engine, merging)
        self.encode, self.reads_figures, self.rank = encode, reads_figures, rank
        self._reopening = threading.Lock()

    @property
    def index(self) -> Index:
        """The index that is in the folder now.

        Raises:
            IndexFolderError: There is none, or one of another model.
            EngineError: Its records cannot be read.
        """
        return self._current()[0]

    def _current(self) -> tuple[Index, Retriever]:
        with self._reopening:
            if self._index.replaced():
                new = Index(self._index.folder)
                new.check_model(self._index.manifest.model, self._index.manifest.digest)
                self._index, self._retrieve = new, Retriever(new.engine, self._merging)
            return self._index, self._retrieve

    def state(self) -> Hashable | None:
        """Return a value that changes whenever the index may give other answers; None if that cannot be told."""
        index = self.index
        version = index.engine.version()
        return None if version is None else (index.written, version)

    def by_id(self, id: str) -> Query:
        """Return the query for questions similar to a question of the index.

        Raises:
            UnknownIdError: The index does not have it.
        """
        rows = self.index.engine.get([id]).to_pylist()
        if not rows:
            raise UnknownIdError(f"id: the index has no question {id!r}")
        return Query(record_question(rows[0]), np.array(rows[0]["vector"], dtype=np.float32), known=True)

    def queries(self, questions: Sequence[Question], by: Sequence[str] = SOURCES) -> Iterator[Query]:
        """Yield queries for questions similar to ``questions``, which are encoded if vectors are searched.

        Raises:
            QueryError: A question has figures alone, and they cannot be read.
        """
        encode = self.encode if "vector" in by else None
        if any(question.images and not question.content.strip() for question in questions):
            if encode is None:
                raise QueryError("figures have no text to be searched by; search by vector, or give a text")
            if not self.reads_figures:
                raise QueryError("the model of this index reads no figures; give a text")
        if encode is None:
            yield from map(Query, questions)
            return
        note = "the model of this index reads no figures: the text alone is searched"
        for question, vector in zip(questions, unit(encode(questions)), strict=True):
            yield Query(question, vector, (note,) if question.images and not self.reads_figures else ())

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
        """Return the ``k`` best candidates: retrieved, ranked and re-ranked.

        Args:
            by: The sources to search, of :data:`SOURCES`.
            candidates: How many to retrieve, ``k`` at least.
            rerank: The re-rank stage; None keeps the order of ranking.
        """
        retrieved, notes = self._retrieved(query, max(candidates, k), where, by), query.notes
        ranked = self.rank(query.question, retrieved) if self.rank else retrieved
        if ranked is None:
            notes += ("there was no time to rank: this is the order of retrieval",)
        results, dropped = (rerank or Rerank())(query.question, retrieved if ranked is None else ranked)
        return Answer(query, results[:k], notes, tuple(dropped), late=ranked is None)

    def _retrieved(self, query: Query, n: int, where: Sequence[Filter], by: Sequence[str]) -> list[Candidate]:
        index, retrieve = self._current()
        if query.known and not where and set(by) == set(SOURCES) and self._merging == "score":
            candidates = precomputed_candidates(index, query.question.id, n)
            if candidates is not None:
                return candidates
        return retrieve(query.question, query.vector, n, where, by=by)


def typed_question(text: str, images: Sequence[str] = ()) -> Question:
    """Return a typed query as a question; files that an ``<img>`` in the text names are not opened.

    Raises:
        QueryError: It is empty.
    """
    if not text.strip() and not images:
        raise QueryError("text: is empty")
    # A bank's question has a stem, a query may be a figure alone.
    question = read_question({"id": TYPED, "stem": text.strip() or "-"})
    return replace(question, stem=question.stem if text.strip() else "", images=tuple(images))


def shown(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as JSON, without the paths of figures."""
    question = candidate.question
    return {
        "id": question.id,
        "score": round(candidate.score, 6),
        "cosine": candidate.cosine,
        "words": candidate.bm25,
        "evidence": candidate.likeness,
        "rank": candidate.probability,
        "why": candidate.why,
        **{name: getattr(question, name) for name in ("stem", "options", "difficulty", "type", "knowledge")},
        "figures": len(question.images),
    }
