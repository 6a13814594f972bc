"""Answers that were given lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

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
