"""The search service: batched encoding, a cache of answers, a bounded queue, metrics."""

from __future__ import annotations

import os
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tqnet.questions import Question, QuestionBank
from tqnet.questions.markup import figure_png
from tqnet.search.build import Encode
from tqnet.search.searcher import Query, Searcher, UnknownIdError, typed_question
from tqnet.serving.answers import QuestionBody, SearchAnswer, Suggestions, answer_view, question_view, suggestions
from tqnet.serving.requests import Search, Settings

#: A question, and its vector when it is encoded.
_Waiting = tuple[Question, "Future[np.ndarray]"]


class MicroBatcher:
    """Encode concurrent queries together, in a single thread; is an `Encode` itself.

    Args:
        encode: Called from that thread alone.
        size: Most questions of a batch.
        wait: Seconds that the first of a batch waits for others.
        observe: Called with the size of each batch.
    """

    def __init__(self, encode: Encode, size: int, wait: float, observe: Callable[[int], object] = lambda size: None):
        self._encode, self._size, self._wait, self._observe = encode, size, wait, observe
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._closing, self._closed = Lock(), False
        self._thread = Thread(target=self._work, name="encode", daemon=True)
        self._thread.start()

    def __call__(self, questions: Sequence[Question] | QuestionBank) -> np.ndarray:
        """Return vectors ``[questions, width]``; RuntimeError after :meth:`close`."""
        waiting: list[_Waiting] = [(question, Future()) for question in questions]
        with self._closing:
            if self._closed:
                raise RuntimeError("the server is shutting down")
            for item in waiting:
                self._queue.put(item)
        return np.stack([vector.result() for _, vector in waiting])

    def close(self) -> None:
        """Encode what is in the queue, and end."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            self._observe(len(batch))
            try:
                self._answer(batch)
            except Exception:
                for item in batch:  # so that one question does not fail the others of its batch
                    try:
                        self._answer([item])
                    except Exception as error:
                        item[1].set_exception(error)

    def _next(self) -> list[_Waiting]:
        """Return the next batch; an empty one at the end."""
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

    def _answer(self, batch: Sequence[_Waiting]) -> None:
        vectors = self._encode([question for question, _ in batch])
        for (_, future), vector in zip(batch, vectors, strict=True):
            future.set_result(vector)


#: Buckets of the histograms: seconds, and queries.
_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Prometheus metrics of a server."""

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
        """Return them in Prometheus' text format."""
        return generate_latest(self._registry)


#: Largest side, in pixels, and colours of a figure in a response.
_LARGEST = 1200
_COLOURS = 256

#: Seconds for which the suggestions are cached.
_FRESH = 60


class BusyError(RuntimeError):
    """The queue is full."""


class SearchService:
    """Answers searches from the cache, or else by ``searcher``, with queries encoded in batches by a single thread."""

    def __init__(self, searcher: Searcher, settings: Settings, metrics: Metrics):
        self._settings, self._metrics = settings, metrics
        self._batcher = searcher.encode and MicroBatcher(
            searcher.encode, settings.batch_size, settings.batch_wait, metrics.batches.observe
        )
        self._searcher = Searcher(
            searcher.index, self._batcher, reads_figures=searcher.reads_figures, rank=searcher.rank
        )
        self._answers: OrderedDict[Hashable, SearchAnswer] = OrderedDict()
        self._caching = Lock()
        self._picture = lru_cache(200)(self._read_picture)
        self._suggestions: tuple[float, Suggestions] | None = None
        self._suggesting = Lock()
        self._decoding = Lock()  # one large figure at a time fits into memory
        self._inside = 0
        metrics.queue.set_function(lambda: self._inside)

    def close(self) -> None:
        """Encode what is in the queue, and end."""
        if self._batcher:
            self._batcher.close()

    @contextmanager
    def room(self) -> Iterator[None]:
        """Hold a place in the queue; to be called from the event loop alone; BusyError if the queue is full."""
        if self._inside >= self._settings.queue:
            raise BusyError(f"{self._inside} searches are waiting already")
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def answer(self, search: Search) -> SearchAnswer:
        """Search the current index.

        Raises:
            UnknownIdError: The index has no such question.
            QueryError: Figures alone, which the model cannot read.
            EngineError, IndexFolderError: The index cannot be read.
        """
        # The state before the search: after a write meanwhile, the cached answer is never used.
        state = self._searcher.state()
        key = (state, search.key)
        with self._caching:
            if key in self._answers:
                self._answers.move_to_end(key)  # the least recently used are dropped first
                self._metrics.hits.inc()
                return self._answers[key]
        self._metrics.misses.inc()
        with self._query(search) as query:
            answer = self._searcher.answer(query, search.body.k, search.where, by=search.by, rerank=search.rerank)
        view = answer_view(answer)
        if state is not None and not answer.late:
            with self._caching:
                self._answers[key] = view
                while len(self._answers) > self._settings.cache:
                    self._answers.popitem(last=False)
        return view

    @contextmanager
    def _query(self, search: Search) -> Iterator[Query]:
        if search.body.id is not None:
            yield self._searcher.by_id(search.body.id)
            return
        # The model reads figures from files.
        with tempfile.TemporaryDirectory(prefix="tqnet-") as folder:
            paths = [Path(folder, str(number)) for number in range(len(search.figures))]
            with self._decoding:
                for path, figure in zip(paths, search.figures, strict=True):
                    figure.save(path, self._settings.max_pixels)
            typed = typed_question(search.body.text or "", [str(path) for path in paths])
            question = replace(typed, difficulty=search.body.difficulty)
            yield next(self._searcher.queries([question], search.by))

    def question(self, id: str) -> QuestionBody:
        """Return a question with its solution; UnknownIdError if the index does not have it."""
        return question_view(self._searcher.by_id(id).question, solution=True)

    def figure(self, id: str, number: int) -> bytes:
        """Return a question's figure, counted from 1, as PNG.

        Raises:
            UnknownIdError: There is no such question or figure, or its file cannot be read.
        """
        images = self._searcher.by_id(id).question.images
        if not 1 <= number <= len(images):
            raise UnknownIdError(f"question {id!r} has {len(images)} figures, and no figure {number}")
        path = images[number - 1]
        try:
            return self._picture(path, os.path.getmtime(path))
        except (OSError, ValueError):
            raise UnknownIdError(f"figure {number} of question {id!r} cannot be read") from None

    def _read_picture(self, path: str, modified: float) -> bytes:
        with self._decoding:
            return figure_png(path, _LARGEST, _COLOURS)

    def check(self) -> None:
        """Check that the index can be read; EngineError or IndexFolderError if not."""
        self._searcher.index.engine.count()

    def suggestions(self) -> Suggestions:
        """Return the values to filter by, a minute old at most."""
        with self._suggesting:  # slow on a large index: once for all requests
            if self._suggestions is None or time.monotonic() - self._suggestions[0] > _FRESH:
                self._suggestions = (time.monotonic(), suggestions(self._searcher.index))
            return self._suggestions[1]
