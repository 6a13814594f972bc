"""A cache bounded by bytes: entries of a search differ in size a hundredfold."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """A thread-safe cache of the most recently used values.

    Args:
        room: Maximum number of bytes of all values.
        size: Value -> its size in bytes.
        most: Maximum number of values; None for any number.
    """

    def __init__(self, room: int, size: Callable[[V], int], most: int | None = None):
        self._room, self._size, self._most = room, size, most
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return a value; None if it is not kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def keep(self, key: K, value: V) -> None:
        """Store a value, replacing that of the same key, and drop the least recently used beyond the bounds."""
        size = self._size(value)
        with self._lock:
            self.bytes += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while self.bytes > self._room or (self._most is not None and len(self._values) > self._most):
                self.bytes -= self._values.popitem(last=False)[1][1]
