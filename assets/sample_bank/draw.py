"""The random numbers of one question, the same on every machine and independent of every other question."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A small random source with the draws that templates need.

    Attributes:
        member: Which member of its group the question is; phrases are dealt out by it.
        turn: Where the deal starts, one for the whole group.
    """

    def __init__(self, key: str, member: int = 0, turn: int = 0):
        self._random = random.Random(key)
        self.member = member
        self.turn = turn

    def num(self, low: int, high: int, step: int = 1) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return self._random.randrange(low, high + 1, step)

    def nonzero(self, low: int, high: int) -> int:
        return self.pick(*(k for k in range(low, high + 1) if k))

    def distinct(self, low: int, high: int, count: int, step: int = 1) -> list[int]:
        """Different whole numbers in random order."""
        return self.some(range(low, high + 1, step), count)

    def some(self, items: Sequence[T], count: int) -> list[T]:
        rest = list(items)
        return [rest.pop(self._random.randrange(len(rest))) for _ in range(count)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.some(items, len(items))

    def pick(self, *items: T) -> T:
        return items[self._random.randrange(len(items))]

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def real(self, low: float, high: float) -> float:
        return low + (high - low) * self._random.random()

    def letters(self, count: int) -> list[str]:
        """Names for the points of a figure, from one of the usual runs."""
        runs = ["ABCDEFGH", "PQRSTUVW", "KLMNPQRS", "DEFGHJKL", "XYZWUVST"]
        run = self.pick(*runs)
        return list(run[:count])
