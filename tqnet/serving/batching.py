"""Queries that come at the same time are encoded together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import NamedTuple

import numpy as np

from tqnet.questions import Question, QuestionBank
from tqnet.search.build import Encode


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
