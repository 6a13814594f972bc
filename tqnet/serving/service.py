"""The search service: batched encoding, a cache of answers, a bounded queue."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Semaphore, Thread
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa

from tqnet.questions import Question, QuestionBank
from tqnet.questions.markup import figure_png
from tqnet.search.build import Encode
from tqnet.search.index import Index
from tqnet.search.kept import Kept
from tqnet.search.retrieval import SOURCES
from tqnet.search.searcher import (
    Follower,
    OpenSearcher,
    Query,
    QueryError,
    Searcher,
    UnknownIdError,
    typed_question,
)
from tqnet.serving.answers import (
    CheckAnswer,
    QuestionBody,
    QuestionHtml,
    SearchAnswer,
    Suggestions,
    answer_view,
    html_view,
    question_view,
    suggestions,
    unknown_concepts,
)
from tqnet.serving.figures import DECODING
from tqnet.serving.judgements import JudgementFile
from tqnet.serving.metrics import Metrics
from tqnet.serving.middleware import Places
from tqnet.serving.requests import PairBody, Search, SearchBody, Settings
from tqnet.serving.writing import IndexWriter


class _Waiting(NamedTuple):
    """A waiting question, the function to encode it with, and its future vector."""

    encode: Encode
    question: Question
    vector: Future[np.ndarray]


class MicroBatcher:
    """Encodes concurrent queries together, in a single thread, for any number of models.

    Args:
        size: Maximum number of questions in a batch.
        wait: Seconds that the first question of a batch waits for others.
        observe: Function called with the size of each batch.
    """

    def __init__(self, size: int, wait: float, observe: Callable[[int], object] = lambda size: None):
        self._size, self._wait, self._observe = size, wait, observe
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._closing, self._closed = Lock(), False
        self._thread = Thread(target=self._work, name="encode", daemon=True)
        self._thread.start()

    def batched(self, encode: Encode) -> Encode:
        """Return ``encode``, run only in the single thread; it raises a RuntimeError after :meth:`close`."""
        return partial(self._wait_for, encode)

    def _wait_for(self, encode: Encode, questions: Sequence[Question] | QuestionBank) -> np.ndarray:
        waiting = [_Waiting(encode, question, Future()) for question in questions]
        with self._closing:
            if self._closed:
                raise RuntimeError("the server is shutting down")
            for item in waiting:
                self._queue.put(item)
        return np.stack([item.vector.result() for item in waiting])

    def close(self) -> None:
        """Encode what is in the queue, and stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            for encode in dict.fromkeys(item.encode for item in batch):  # two models while an index version changes
                self._answer(encode, [item for item in batch if item.encode is encode])

    def _answer(self, encode: Encode, batch: Sequence[_Waiting]) -> None:
        self._observe(len(batch))
        try:
            self._encode(encode, batch)
        except Exception:
            for item in batch:  # so that one question does not fail its whole batch
                try:
                    self._encode(encode, [item])
                except Exception as error:
                    item.vector.set_exception(error)

    def _next(self) -> list[_Waiting]:
        """Return the next batch; empty at the end."""
        item = self._queue.get()
        batch: list[_Waiting] = []
        until = time.monotonic() + self._wait
        while item is not None:
            batch.append(item)
            if len(batch) == self._size:
                return batch
            try:
                item = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                return batch
        if batch:
            self._queue.put(None)
        return batch

    @staticmethod
    def _encode(encode: Encode, batch: Sequence[_Waiting]) -> None:
        for item, vector in zip(batch, encode([item.question for item in batch]), strict=True):
            item.vector.set_result(vector)


#: Maximum side, in pixels, and number of colours of a figure in a response.
_MAX_SIDE = 1200
_COLOURS = 256

#: Maximum number of bytes of cached answers, as JSON (in memory they take four times as much), and of cached figures.
_ANSWERS, _PICTURES = 16 * 2**20, 64 * 2**20

#: Number of batch shapes for which torch's libraries cache prepared matrix products: every number of questions and
#: every text length is a shape, which may take a megabyte. Their default is 1024.
_SHAPES = 64

#: Number of a parameter of glibc's malloc, from malloc.h, and its value: the maximum number of memory arenas. The
#: default is eight per core, and arenas never shrink.
_M_ARENA_MAX, _ARENAS = -8, 4

#: Maximum number of searches that run at a time after encoding, each with some 30 MB; more would not be faster.
_AT_ONCE = max(4, 2 * (os.cpu_count() or 1))

#: Seconds for which suggestions are cached.
_FRESH = 60


def _save_memory() -> None:
    """Bound the caches of libraries in this process; to be called before the first question is encoded."""
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):  # oneDNN's cache, and torch's on top of it
        os.environ.setdefault(name, str(_SHAPES))
    # Arrow's default allocator keeps memory for every thread that ever searched: ten times the memory in use.
    pa.set_memory_pool(pa.system_memory_pool())
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(_M_ARENA_MAX, _ARENAS)


class BusyError(RuntimeError):
    """The queue is full."""


class SearchService:
    """Answers searches from the cache, else from the current version of the index in ``folder``.

    Queries are encoded in batches by a single thread.
    """

    def __init__(self, folder: Path, open_searcher: OpenSearcher, settings: Settings, metrics: Metrics):
        _save_memory()
        self._settings, self._metrics = settings, metrics
        self._batcher = MicroBatcher(settings.batch_size, settings.batch_wait, metrics.batches.observe)

        def open_batched(index: Index) -> Searcher:
            searcher = open_searcher(index)
            return replace(searcher, encode=searcher.encode and self._batcher.batched(searcher.encode))

        self._follower = Follower(folder, open_batched)
        self.writer = IndexWriter(folder, self._follower, settings.batch_size)
        self._answers: Kept[Hashable, SearchAnswer] = Kept(_ANSWERS, _bytes, settings.cache)
        self._pictures: Kept[tuple[str, float], bytes] = Kept(_PICTURES, len)
        self._searching = Semaphore(_AT_ONCE)
        self._turns: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._giving_turns = Lock()
        self._suggestions: tuple[Index, float, Suggestions] | None = None
        self._suggesting = Lock()
        self._judgements = JudgementFile(settings.pairs) if settings.pairs else None
        self._inside = Places()
        metrics.queue.set_function(lambda: len(self._inside))
        metrics.behind.set_function(lambda: self.note is not None)

    def close(self) -> None:
        """Encode what is in the queue, and stop."""
        self._batcher.close()

    def notice_version(self) -> None:
        """Start to open another version of the index if it has become the current one."""
        self._follower.current()

    @property
    def note(self) -> str | None:
        """Why an older version of the index is searched (`Follower`)."""
        return self._follower.note

    @contextmanager
    def room(self, client: str) -> Iterator[None]:
        """Hold a place in the queue; to be called only from the event loop.

        Raises:
            BusyError: The queue is full, or the client has too many places in it.
        """
        if len(self._inside) >= self._settings.queue:
            raise BusyError(f"{len(self._inside)} searches are already waiting")
        if self._settings.per_client and self._inside.of(client) >= self._settings.per_client:
            raise BusyError(f"{self._inside.of(client)} searches from this address are already waiting")
        with self._inside.hold(client):
            yield

    def answer(self, search: Search) -> SearchAnswer:
        """Search the current index.

        Raises:
            UnknownIdError: The index has no such question.
            QueryError: The query has only figures, and the search is by text.
            EngineError, IndexFolderError: The index cannot be read.
        """
        searcher = self._follower.current()
        # The state before the search: after a concurrent write, the cached answer is never used.
        state = searcher.state()
        key = (state, search.key)
        if (cached := self._answers.get(key)) is not None:
            self._metrics.hits.inc()
            return cached
        self._metrics.misses.inc()
        with self._query(searcher, search) as query, self._searching:
            answer = searcher.answer(
                query,
                search.body.k,
                search.where,
                offset=search.body.offset,
                by=search.by,
                rerank=search.rerank,
                duplicates=search.body.duplicates,
                fold=search.body.fold,
                floor=self._settings.floor if search.body.floor is None else search.body.floor,
            )
        view = answer_view(answer, ids_only=search.body.ids_only)
        view.notes += unknown_concepts(searcher.index, search.where, partial(self._suggestions_of, searcher.index))
        if state is not None and not answer.late:
            self._answers.keep(key, view)
        return view

    def check_question(self, search: Search) -> CheckAnswer:
        """Tell whether the index already has a question; raises the errors of :meth:`answer`."""
        only = search.body.model_copy(
            update={"duplicates": "only", "filters": [], "by": "both", "exact_spelling": True}
        )
        answer = self.answer(replace(search, body=only, where=(), by=SOURCES, rerank=None))
        nearest = answer.duplicates[0].relation if answer.duplicates else None
        return CheckAnswer(relation=nearest, duplicates=answer.duplicates, notes=answer.notes)

    @contextmanager
    def _query(self, searcher: Searcher, search: Search) -> Iterator[Query]:
        if search.body.id is not None:
            yield searcher.by_id(search.body.id)
            return
        # The model reads figures from files.
        with tempfile.TemporaryDirectory(prefix="tqnet-") as folder:
            paths = [Path(folder, str(number)) for number in range(len(search.figures))]
            with self._turn_of(search.client):
                for path, figure in zip(paths, search.figures, strict=True):
                    figure.save(path, self._settings.max_pixels)
            question = replace(_typed(search.body, [str(path) for path in paths]), difficulty=search.body.difficulty)
            yield next(searcher.queries([question], search.by, correct=not search.body.exact_spelling))

    def _turn_of(self, client: str) -> Lock:
        """Return the lock of a client: its figures wait only for one another, so others need not wait for all."""
        with self._giving_turns:
            return self._turns.setdefault(client, Lock())

    def question(self, id: str) -> QuestionBody:
        """Return a question with its solution; UnknownIdError if there is none."""
        return question_view(self._follower.current().by_id(id).question, solution=True)

    def judge(self, pair: PairBody) -> None:
        """Keep a judgement.

        Raises:
            UnknownIdError: The index has no such question.
            QueryError: There is no query, more than one, or it is the result itself.
        """
        if self._judgements is None:
            raise UnknownIdError("this server keeps no judgements")
        if (pair.text is None) == (pair.id is None) or pair.id == pair.result:
            raise QueryError("the query is either text, or the id of another question of the index")
        searcher = self._follower.current()
        result = searcher.by_id(pair.result).question
        if pair.id is None:
            self._judgements.write(_typed(pair), result, pair.label, typed=True)
        else:
            self._judgements.write(searcher.by_id(pair.id).question, result, pair.label, typed=False)

    def figure(self, id: str, number: int) -> bytes:
        """Return a question's figure, counted from 1, as PNG.

        Raises:
            UnknownIdError: There is no such question or figure, or its file cannot be read.
        """
        images = self._follower.current().by_id(id).question.images
        if not 1 <= number <= len(images):
            raise UnknownIdError(f"question {id!r} has {len(images)} figures, no figure {number}")
        path = images[number - 1]
        try:
            key = path, os.path.getmtime(path)
            if (picture := self._pictures.get(key)) is None:
                with DECODING:
                    picture = figure_png(path, _MAX_SIDE, _COLOURS)
                self._pictures.keep(key, picture)
            return picture
        except (OSError, ValueError):
            raise UnknownIdError(f"figure {number} of question {id!r} cannot be read") from None

    def check(self) -> None:
        """Check that the index can be read; EngineError or IndexFolderError if not."""
        self._follower.current().index.engine.count()

    def suggestions(self) -> Suggestions:
        """Return the values to filter by, at most a minute old."""
        return self._suggestions_of(self._follower.current().index)

    def _suggestions_of(self, index: Index) -> Suggestions:
        now = time.monotonic()
        with self._suggesting:  # slow on a large index: once for all requests
            kept = self._suggestions
            if kept is None or kept[0] is not index or now - kept[1] > _FRESH:
                fresh = suggestions(index)
                fresh.judgements = self._judgements is not None
                kept = self._suggestions = (index, now, fresh)
            return kept[2]


def _bytes(answer: SearchAnswer) -> int:
    return len(answer.model_dump_json())


def _typed(body: SearchBody | PairBody, figures: Sequence[str] = ()) -> Question:
    return replace(typed_question(body.text or "", figures), options=tuple(body.options))


def render_typed(search: Search) -> QuestionHtml:
    """Return a typed query as HTML; QueryError if it has no text."""
    return html_view(_typed(search.body))
