"""Batches of questions of like length, prepared in a thread beside the model that reads them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from torch import Tensor

from tqnet.modeling.images import open_figure
from tqnet.modeling.processor import QuestionLike, TQNetProcessor, as_question
from tqnet.questions import Question

#: Questions that are sorted by length at a time; bounds the memory of a bank of any size.
WINDOW = 4096

#: Batches that wait, prepared, for the model.
AHEAD = 4

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """Questions that pass a model together.

    Attributes:
        rows: Their numbers in the bank.
        text: ``input_ids`` and ``attention_mask`` [b, t].
        figures: Paths of each question's figures; empty where no question has any.
        squares: The figures that have been opened already, uint8 [s, s, 3] by path.
    """

    rows: Sequence[int]
    text: dict[str, Tensor]
    figures: Sequence[Sequence[str]]
    squares: dict[str, np.ndarray]

    @property
    def paths(self) -> list[str]:
        """Of all figures, question by question."""
        return [path for of in self.figures for path in of]


def batches(
    processor: TQNetProcessor,
    questions: Iterable[QuestionLike],
    batch_size: int,
    known: Container[str] | None = None,
) -> Iterator[Batch]:
    """Batches of questions of like length, a window of the bank at a time.

    Args:
        known: Paths of figures that need not be opened; None if no figure is read.

    Raises:
        OSError: A figure that cannot be used; the message has its path.
    """
    numbered = enumerate(iter(questions))
    while window := list(islice(numbered, WINDOW)):
        records = [as_question(question) for _, question in window]
        ids = processor.tokenize([record.content for record in records])
        # Longest first, so that memory runs out at once or never; with figures apart from without, since a
        # single figure would pad every other question of its batch by its visual tokens.
        order = sorted(range(len(ids)), key=lambda i: (len(records[i].images), len(ids[i])), reverse=True)
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            rows, text = [window[i][0] for i in chosen], processor.pack_text([ids[i] for i in chosen])
            yield Batch(rows, text, *_figures(processor, [records[i] for i in chosen], known))


def _figures(
    processor: TQNetProcessor, records: Sequence[Question], known: Container[str] | None
) -> tuple[Sequence[Sequence[str]], dict[str, np.ndarray]]:
    """Paths of each record's figures, none where there is not one, and those to be opened, opened."""
    if known is None or not any(record.images for record in records):
        return (), {}
    figures = [processor.kept_images(record.images) for record in records]
    paths = dict.fromkeys(path for of in figures for path in of)
    return figures, {path: processor.image_processor.fit(open_figure(path)) for path in paths if path not in known}


@contextmanager
def ahead(items: Iterable[T], count: int = AHEAD) -> Iterator[Iterator[T]]:
    """``items``, of which up to ``count`` are made ahead, in a thread that ends with the block.

    What ``items`` raises is raised where the item would have come.
    """
    made: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(count)
    left = threading.Event()

    def put(item: T | None, error: BaseException | None = None) -> bool:
        while not left.is_set():
            try:
                made.put((item, error), timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def make() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(None, StopIteration())
        except BaseException as error:  # for the other thread to raise
            put(None, error)

    def taken() -> Iterator[T]:
        while True:
            item, error = made.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]

    thread = threading.Thread(target=make, name="batches", daemon=True)
    thread.start()
    try:
        yield taken()
    finally:
        left.set()
        thread.join()
