"""Preparing in a thread: order, errors, and an end before the last item."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tqnet.modeling.encode import ahead


def test_items_come_in_order_and_from_another_thread() -> None:
    threads = set()

    def items() -> Iterator[int]:
        for number in range(20):
            threads.add(threading.current_thread())
            yield number

    with ahead(items(), 2) as made:
        assert list(made) == list(range(20))
    assert threading.current_thread() not in threads


def test_an_error_is_raised_where_its_item_would_have_come() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("figure.png: no image")

    with ahead(items()) as made:
        assert next(made) == 1
        with pytest.raises(OSError, match=r"figure.png: no image"):
            next(made)


def test_who_stops_early_leaves_no_thread() -> None:
    def forever() -> Iterator[int]:
        while True:
            yield 1

    before = threading.active_count()
    with ahead(forever(), 2) as made:
        assert next(made) == 1
    assert threading.active_count() == before
