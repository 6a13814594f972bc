"""Answer queries from an index, for both ``tqnet search`` and ``tqnet serve``."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.errors import first_line
from tqnet.questions import Question
from tqnet.questions.reading import read_question
from tqnet.search.build import Encode
from tqnet.search.folding import folded
from tqnet.search.index import Index
from tqnet.search.known import Known, Lookup
from tqnet.search.precomputed import precomputed_candidates
from tqnet.search.ranking import FLOOR, Rank
from tqnet.search.records import Filter, record_question, unit
from tqnet.search.rerank import Rerank
from tqnet.search.retrieval import CANDIDATES, SOURCES, Candidate, Retrieved, Retriever
from tqnet.search.spelling import corrected
from tqnet.search.versions import Versions
from tqnet.text.sentences import excerpt
from tqnet.text.typed import with_formulas

log = logging.getLogger(__name__)

#: What to do with questions that repeat the query.
DUPLICATES = ("show", "hide", "only")

#: Maximum number of results of a query, over all pages.
MOST_RESULTS = 1000

#: Maximum number of characters of a corrected query in its note.
_NOTED = 240

#: Note of an answer without results.
NOTHING_SIMILAR = "nothing similar in this bank"

#: Note on a student if difficulties cannot be compared.
NO_DIFFICULTY = "student has no effect: the query has no difficulty (for a typed one, give difficulty)"

#: Notes of queries whose figures the model does not read, by what is searched.
_LOOKS = "the model of this index reads no figures: the text is searched, and figures that look like the query's"
_LOOKS_ALONE = "the model of this index reads no figures: only figures that look like the query's are searched for"

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
        notes: Notes for the user, such as that figures were not read.
        is_indexed: The query is a question of the index, whose candidates may be precomputed.
    """

    question: Question
    vector: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    is_indexed: bool = False


@dataclass(frozen=True)
class Answer:
    """The answer to a query.

    Attributes:
        candidates: Candidates, best first.
        notes: Notes on the query, and on deviations from the request.
        known: Questions that repeat the query, the nearest first; they are not candidates.
        dropped: Candidates dropped by re-ranking, each with the reason in its notes.
        more: More candidates may follow.
        late: There was no time to rank; a repeated query may be ranked.
    """

    query: Query
    candidates: list[Candidate]
    notes: tuple[str, ...] = ()
    known: tuple[Known, ...] = ()
    dropped: tuple[Candidate, ...] = ()
    more: bool = False
    late: bool = False


@dataclass(frozen=True, eq=False)
class Searcher:
    """Answers queries from a version of an index; `Follower` changes to the next one.

    Attributes:
        encode: Encoder of queries that are not in the index; without it, they are searched by text.
        reads_figures: ``encode`` also reads figures.
        rank: The ranking stage.
        merging: See :class:`Retriever`.
    """

    index: Index
    encode: Encode | None = None
    _: KW_ONLY
    reads_figures: bool = False
    rank: Rank | None = None
    merging: str = "score"

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(thread_name_prefix="known questions")

    @cached_property
    def _retrieve(self) -> Retriever:
        return Retriever(self.index.engine, self.merging, figures=self.index.figures)

    def state(self) -> Hashable | None:
        """Return a value that changes whenever answers of the index may change; None if that is unknown."""
        version = self.index.engine.version()
        return None if version is None else (self.index.written, version, self.index.background.measured)

    def by_id(self, id: str) -> Query:
        """Return the query for questions similar to a question of the index.

        Raises:
            UnknownIdError: The index has no such question.
        """
        rows = self.index.engine.get([id]).to_pylist()
        if not rows:
            raise UnknownIdError(f"id: the index has no question {id!r}")
        return Query(record_question(rows[0]), np.array(rows[0]["vector"], dtype=np.float32), is_indexed=True)

    def queries(
        self, questions: Sequence[Question], by: Sequence[str] = SOURCES, *, correct: bool = False
    ) -> Iterator[Query]:
        """Yield queries for questions similar to ``questions``, which are encoded if vectors are searched.

        Args:
            correct: Correct misspelt words of the stems (`tqnet.search.spelling`), with a note; for typed queries.

        Raises:
            QueryError: A question has only figures, and the search is by text.
        """
        encode = self.encode if "vector" in by else None
        if "vector" not in by and any(map(_is_figure_alone, questions)):
            raise QueryError("figures have no text to be searched by; search by vector, or give a text")
        queries = [self._corrected(question) if correct else Query(question) for question in questions]
        if encode is None:
            yield from queries
            return
        for query, vector in zip(queries, unit(encode([query.question for query in queries])), strict=True):
            if self.reads_figures or not query.question.images:
                yield replace(query, vector=vector)
            elif _is_figure_alone(query.question):
                yield replace(query, notes=(*query.notes, _LOOKS_ALONE))
            else:
                yield replace(query, vector=vector, notes=(*query.notes, _LOOKS))

    def _corrected(self, question: Question) -> Query:
        stem = corrected(question.stem, self.index.background.words)
        if stem == question.stem:
            return Query(question)
        return Query(replace(question, stem=stem), notes=(f'searched for "{excerpt(stem, _NOTED)}"',))

    def answer(
        self,
        query: Query,
        k: int = 5,
        where: Sequence[Filter] = (),
        *,
        offset: int = 0,
        by: Sequence[str] = SOURCES,
        candidates: int = CANDIDATES,
        rerank: Rerank | None = None,
        duplicates: str = "show",
        fold: bool = True,
        floor: float = FLOOR,
    ) -> Answer:
        """Return the ``k`` best candidates after the first ``offset``: retrieved, ranked and re-ranked.

        Args:
            offset: Number of results to skip. Beyond ``candidates``, more are retrieved, up to :data:`MOST_RESULTS`, in
                order of likeness.
            duplicates: One of :data:`DUPLICATES`: show the questions that repeat the query next to the candidates, hide
                them, or show only them, with those that differ in their numbers, whatever the filters.
            fold: Fold candidates into better ones that are like them (`tqnet.search.folding`).
            floor: Likeness that candidates must exceed.
            by: The sources to search, of :data:`SOURCES`.
            candidates: Number of candidates to retrieve, at least ``k``.
            rerank: The re-rank stage; None keeps the order of ranking.
        """
        wanted, end = max(candidates, k), offset + k
        where = () if duplicates == "only" else where
        looking = self._threads.submit(Lookup, self.index.engine, query.question, variants=duplicates == "only")
        (retrieved, near), notes = self._retrieved(query, wanted, where, by), query.notes
        repeats = tuple(looking.result().known(near))
        if duplicates == "only":
            return Answer(query, [], notes, repeats)
        ranked = self.rank(query.question, retrieved, self.index.background) if self.rank else retrieved
        if ranked is None:
            notes += ("there was no time to rank: this is the order of retrieval",)
        repeated = {repeat.question.id for repeat in repeats}

        def select(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
            others = [candidate for candidate in candidates if candidate.question.id not in repeated]
            return (rerank or Rerank())(query.question, others)

        if rerank and rerank.student and query.question.difficulty is None:
            notes += (NO_DIFFICULTY,)
        ordered = retrieved if ranked is None else ranked
        alike = _above(floor, ordered) if _says_something(query.question) else []
        if ordered and not alike:
            notes += (NOTHING_SIMILAR,)
        results, dropped = select(alike)
        groups = folded(results) if fold else results
        is_cut = len(retrieved) >= wanted and len(alike) == len(ordered)
        if is_cut and offset and end >= len(groups):
            beyond = self._beyond(query, retrieved, where, by)
            more, more_dropped = select(_above(floor, beyond))
            results, dropped, is_cut = [*results, *more], [*dropped, *more_dropped], False
            groups = folded(results) if fold else results
        if duplicates == "hide":
            repeats = ()
        shown, more_follow = groups[offset:end], is_cut or len(groups) > end
        return Answer(query, shown, notes, repeats, tuple(dropped), more_follow, late=ranked is None)

    def _beyond(
        self, query: Query, first: Sequence[Candidate], where: Sequence[Filter], by: Sequence[str]
    ) -> list[Candidate]:
        """Return the candidates after the ``first``, by likeness: too many for a model."""
        known = {candidate.question.id for candidate in first}
        retrieved = self._retrieved(query, MOST_RESULTS, where, by).candidates
        rest = [candidate for candidate in retrieved if candidate.question.id not in known]
        rank = self.rank and replace(self.rank, score=None)
        return (rank and rank(query.question, rest, self.index.background)) or rest

    def _retrieved(self, query: Query, n: int, where: Sequence[Filter], by: Sequence[str]) -> Retrieved:
        if query.is_indexed and not where and set(by) == set(SOURCES) and self.merging == "score":
            retrieved = precomputed_candidates(self.index, query.question.id, n)
            if retrieved is not None:
                return retrieved
        return self._retrieve.retrieve(query.question, query.vector, n, where, by=by)


def _above(floor: float, candidates: Sequence[Candidate]) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.likeness is None or candidate.likeness > floor]


def _says_something(question: Question) -> bool:
    """Return False for a query of marks alone, ``?``."""
    return bool(question.images) or any(map(str.isalnum, question.content))


def _is_figure_alone(question: Question) -> bool:
    return bool(question.images) and not question.content.strip()


#: Index -> its searcher, with its model.
OpenSearcher = Callable[[Index], Searcher]

#: Seconds before a version that could not be opened is tried again.
RETRY = 60.0


class Follower:
    """Keeps a searcher of the current version of an index.

    When another version becomes current, it is opened in the background, with its model if that changed, while the old
    version is still searched. If it cannot be opened, the old one remains, and the reason is logged.

    Args:
        open_searcher: Function that opens a searcher; called in a separate thread except for the first version.

    Attributes:
        note: For users: why an older version is searched; None if the current one is, or is being opened.

    Raises:
        IndexFolderError, EngineError: There is no index, or its records cannot be read. Errors of ``open_searcher`` are
            passed on.
    """

    def __init__(self, folder: Path, open_searcher: OpenSearcher):
        self._folder, self._open = folder, open_searcher
        self._searcher = open_searcher(Index(folder))
        self.note: str | None = None
        self._reason = ""
        #: State of the list of versions that could not be followed, and when to try again.
        self._failed: tuple[object, float] = (self._searcher.index.written, math.inf)
        self._opening = threading.Lock()

    def current(self) -> Searcher:
        """Return the searcher; use it for all steps of a request, as the next call may return another version's."""
        if self._is_due() and self._opening.acquire(blocking=False):
            if self._is_due():  # another thread may just have opened it
                written = Versions.written(self._folder)
                threading.Thread(target=self._follow, args=(written,), name="open index", daemon=True).start()
            else:
                self._opening.release()
        return self._searcher

    def _is_due(self) -> bool:
        written, (failed, again) = Versions.written(self._folder), self._failed
        return written != self._searcher.index.written and (written != failed or time.monotonic() > again)

    def _follow(self, written: object) -> None:
        old = self._searcher
        try:
            index = Index(self._folder)
            same_model = index.is_of_model(old.index.manifest.model, old.index.manifest.digest)
            self._searcher = replace(old, index=index) if same_model else self._open(index)
            self.note, self._reason = None, ""
        except Exception as error:
            self._failed = (written, time.monotonic() + RETRY)
            self.note = f"version {old.index.version} of the index is still searched: the current one cannot be opened"
            if (reason := f"{type(error).__name__}: {first_line(error)}") != self._reason:  # once
                log.error("%s: %s: %s", self._folder, self.note, reason)
            self._reason = reason
        finally:
            self._opening.release()


def typed_question(text: str, images: Sequence[str] = ()) -> Question:
    """Return a typed query as a question, recognizing formulas without LaTeX; files of an ``<img>`` are not opened.

    Raises:
        QueryError: The query is empty.
    """
    if not text.strip() and not images:
        raise QueryError("text: is empty")
    # A bank's question needs a stem, but a query may be only a figure.
    question = read_question({"id": TYPED, "stem": text.strip() or "-"})
    return replace(question, stem=with_formulas(question.stem) if text.strip() else "", images=tuple(images))


def known_view(known: Known) -> dict[str, Any]:
    """Return a question that repeats the query as JSON."""
    differs = [{"query": ours, "question": theirs} for ours, theirs in known.differs]
    return {"id": known.question.id, "relation": known.relation, "differs": differs, "stem": known.question.stem}


def shown(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as JSON, without the paths of figures."""
    question = candidate.question
    return {
        "id": question.id,
        "score": round(candidate.relevance, 6),
        "cosine": candidate.cosine,
        "words": candidate.bm25,
        "figure": candidate.figure,
        "evidence": candidate.likeness,
        "rank": candidate.probability,
        "why": candidate.why,
        **{name: getattr(question, name) for name in ("stem", "options", "difficulty", "type", "knowledge")},
        "figures": len(question.images),
        "more": [other.question.id for other in candidate.folded],
    }
