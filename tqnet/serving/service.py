"""Searches between the network and the index: counted, kept, never more at a time than there is room for."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tqnet.search.searcher import Query, Searcher, UnknownIdError, typed_question
from tqnet.serving.batching import MicroBatcher
from tqnet.serving.cache import RecentlyUsed
from tqnet.serving.metrics import Metrics
from tqnet.serving.models import QuestionBody, SearchAnswer, Suggestions
from tqnet.serving.requests import Search
from tqnet.serving.settings import Settings
from tqnet.serving.suggestions import suggestions
from tqnet.serving.views import answer_view, question_view
from tqnet.text.markup import figure_png

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
            yield self._searcher.of_index(search.id)
            return
        # The model reads figures from files.
        with tempfile.TemporaryDirectory(prefix="tqnet-") as folder:
            paths = [Path(folder, str(number)) for number in range(len(search.figures))]
            with self._decoding:
                for path, figure in zip(paths, search.figures, strict=True):
                    figure.save(path, self._settings.max_pixels)
            typed = typed_question(search.text, [str(path) for path in paths])
            question = replace(typed, difficulty=search.difficulty)
            yield next(self._searcher.given([question], search.by))

    def question(self, id: str) -> QuestionBody:
        """A question of the index with its solution.

        Raises:
            UnknownIdError: The index has none of this id.
        """
        return question_view(self._searcher.question(id), solution=True)

    def figure(self, id: str, number: int) -> bytes:
        """A question's figure as PNG, counted from 1.

        Raises:
            UnknownIdError: The index has no such question, or it no such figure.
            ValueError: Its file cannot be read.
        """
        images = self._searcher.question(id).images
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
