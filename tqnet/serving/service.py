"""Searches between the network and the index: counted, kept, never more at a time than there is room for."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tqnet.questions import Question, QuestionBank
from tqnet.questions.markup import figure_png
from tqnet.search.build import Encode
from tqnet.search.searcher import Query, Searcher, UnknownIdError, typed_question
from tqnet.serving.models import QuestionBody, SearchAnswer, Suggestions, answer_view, question_view, suggestions
from tqnet.serving.requests import Search, Settings

# Queries that come at the same time are encoded together.


class _Waiting(NamedTuple):
    question: Question
    vector: Future[np.ndarray]


class MicroBatcher:
    """Encodes in one thread what many ask for, and so is an `Encode` itself.

    Args:
        encode: Is called from that thread alone.
        size: Questions of a batch, at most.
        wait: Seconds that the first of a batch waits for others.
        observe: Is told the size of each batch.
    """

    def __init__(self, encode: Encode, size: int, wait: float, observe: Callable[[int], object] = lambda size: None):
        self._encode, self._size, self._wait, self._observe = encode, size, wait, observe
        self._asked: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._closing, self._closed = Lock(), False
        self._thread = Thread(target=self._work, name="encode", daemon=True)
        self._thread.start()

    def __call__(self, questions: Sequence[Question] | QuestionBank) -> np.ndarray:
        """Vectors ``[questions, width]``.

        Raises:
            RuntimeError: It is closed.
        """
        asked = [_Waiting(question, Future()) for question in questions]
        with self._closing:
            if self._closed:
                raise RuntimeError("the server is shutting down")
            for one in asked:
                self._asked.put(one)
        return np.stack([one.vector.result() for one in asked])

    def close(self) -> None:
        """Encode what waits, and end."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._asked.put(None)
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            self._observe(len(batch))
            try:
                self._answer(batch)
            except Exception as error:
                if len(batch) == 1:
                    batch[0].vector.set_exception(error)
                else:  # one question must not fail those that happen to come with it
                    self._one_by_one(batch)

    def _next(self) -> list[_Waiting]:
        """The next batch; an empty one at the end."""
        first = self._asked.get()
        batch: list[_Waiting] = []
        until = time.monotonic() + self._wait
        while first is not None:
            batch.append(first)
            if len(batch) == self._size:
                return batch
            try:
                first = self._asked.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                return batch
        if batch:
            self._asked.put(None)
        return batch

    def _answer(self, batch: Sequence[_Waiting]) -> None:
        vectors = self._encode([one.question for one in batch])
        for one, vector in zip(batch, vectors, strict=True):
            one.vector.set_result(vector)

    def _one_by_one(self, batch: Sequence[_Waiting]) -> None:
        for one in batch:
            try:
                self._answer([one])
            except Exception as error:
                one.vector.set_exception(error)


# Answers that were given lately.


T = TypeVar("T")


class RecentlyUsed(Generic[T]):
    """At most ``size`` values by key; those that have not been asked for the longest are forgotten first."""

    def __init__(self, size: int):
        self._size, self._kept, self._lock = size, OrderedDict[Hashable, T](), Lock()

    def get(self, key: Hashable) -> T | None:
        """The value of ``key``, if it is still there."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, value: T) -> None:
        """Remember it."""
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)


# What an operator watches, as Prometheus reads it.


#: Seconds.
_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Those of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "tqnet_requests", "Requests by endpoint and status", ["endpoint", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "tqnet_request_seconds", "Until the answer", ["endpoint"], buckets=_LATENCIES, registry=self._registry
        )
        self.queue = Gauge("tqnet_queue_length", "Searches that wait or run", registry=self._registry)
        self.batches = Histogram("tqnet_batch_size", "Queries encoded at once", buckets=_SIZES, registry=self._registry)
        self.hits = Counter("tqnet_cache_hits", "Searches answered from the cache", registry=self._registry)
        self.misses = Counter("tqnet_cache_misses", "Searches that were carried out", registry=self._registry)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)


#: Pixels of the longer side of a figure that is shown.
_LARGEST = 1200
_COLOURS = 256

#: Seconds for which what one may filter by is not looked up again.
_FRESH = 60


class BusyError(RuntimeError):
    """More searches than there is room for."""


class SearchService:
    """Answers from the cache, else by the searcher, whose queries are encoded in batches.

    Args:
        searcher: Its `Searcher.encode` is called from one thread alone.
    """

    def __init__(self, searcher: Searcher, settings: Settings, metrics: Metrics):
        self._settings, self._metrics = settings, metrics
        self._batcher = searcher.encode and MicroBatcher(
            searcher.encode, settings.batch_size, settings.batch_wait, metrics.batches.observe
        )
        self._searcher = Searcher(
            searcher.index, self._batcher, reads_figures=searcher.reads_figures, rank=searcher.rank
        )
        self._answers: RecentlyUsed[SearchAnswer] = RecentlyUsed(settings.cache)
        self._pictures: RecentlyUsed[bytes] = RecentlyUsed(200)
        self._suggestions: tuple[float, Suggestions] | None = None
        self._suggesting = threading.Lock()
        self._decoding = threading.Lock()  # one large figure at a time fits into memory
        self._inside = 0
        metrics.queue.set_function(lambda: self._inside)

    def close(self) -> None:
        """Finish what waits to be encoded."""
        if self._batcher:
            self._batcher.close()

    @contextmanager
    def room(self) -> Iterator[None]:
        """A place in the queue; to be asked for in the event loop alone.

        Raises:
            BusyError: There is none.
        """
        if self._inside >= self._settings.queue:
            raise BusyError(f"{self._inside} searches are waiting already")
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def answer(self, search: Search) -> SearchAnswer:
        """What is found by the index as it is now.

        Raises:
            UnknownIdError: The index has no such question.
            QueryError: Figures alone, which the model does not look at.
            EngineError, IndexFolderError: The index cannot be read.
        """
        # The state is that of before the search: a write meanwhile makes the kept answer one that nobody asks for.
        state = self._searcher.state()
        key = (state, search.key)
        if state is not None and (kept := self._answers.get(key)) is not None:
            self._metrics.hits.inc()
            return kept
        self._metrics.misses.inc()
        with self._query(search) as query:
            answer = self._searcher.answer(query, search.k, search.where, by=search.by, rerank=search.rerank)
        found = answer_view(answer)
        if state is not None and not answer.late:
            self._answers.put(key, found)
        return found

    @contextmanager
    def _query(self, search: Search) -> Iterator[Query]:
        if search.id is not None:
            yield self._searcher.by_id(search.id)
            return
        # The model reads figures from files.
        with tempfile.TemporaryDirectory(prefix="tqnet-") as folder:
            paths = [Path(folder, str(number)) for number in range(len(search.figures))]
            with self._decoding:
                for path, figure in zip(paths, search.figures, strict=True):
                    figure.save(path, self._settings.max_pixels)
            typed = typed_question(search.text, [str(path) for path in paths])
            question = replace(typed, difficulty=search.difficulty)
            yield next(self._searcher.queries([question], search.by))

    def question(self, id: str) -> QuestionBody:
        """A question of the index with its solution.

        Raises:
            UnknownIdError: The index has none of this id.
        """
        return question_view(self._searcher.by_id(id).question, solution=True)

    def figure(self, id: str, number: int) -> bytes:
        """A question's figure as PNG, counted from 1.

        Raises:
            UnknownIdError: The index has no such question, or it no such figure.
            ValueError: Its file cannot be read.
        """
        images = self._searcher.by_id(id).question.images
        if not 1 <= number <= len(images):
            raise UnknownIdError(f"question {id!r} has {len(images)} figures, and no figure {number}")
        path = images[number - 1]
        key = (path, os.stat(path).st_mtime_ns if os.path.isfile(path) else None)
        if (kept := self._pictures.get(key)) is not None:
            return kept
        with self._decoding:
            picture = figure_png(path, _LARGEST, _COLOURS)
        self._pictures.put(key, picture)
        return picture

    def check(self) -> None:
        """Whether the index can be read.

        Raises:
            EngineError, IndexFolderError: It cannot.
        """
        self._searcher.index.engine.count()

    def suggestions(self) -> Suggestions:
        """Values to filter by, as they were a minute ago or later."""
        with self._suggesting:  # looking takes long in a large index: once for all who ask
            if self._suggestions is None or time.monotonic() - self._suggestions[0] > _FRESH:
                found = suggestions(self._searcher.index)
                self._suggestions = (time.monotonic(), found)
            return self._suggestions[1]
