"""Work over all cores."""

from __future__ import annotations

import os

from tqnet.parallel import over_cores


def _summed(numbers: list[int]) -> tuple[int, int]:
    return sum(numbers), os.getpid()


def test_many_batches_are_shared_and_come_in_order() -> None:
    sums, processes = zip(*over_cores(_summed, range(100), size=2), strict=True)
    assert sums == tuple(range(1, 200, 4))
    assert os.getpid() not in processes


def test_few_batches_are_worked_on_here() -> None:
    assert list(over_cores(_summed, range(5), size=3)) == [(3, os.getpid()), (7, os.getpid())]


def _added(shared: list[int], numbers: list[int]) -> tuple[int, int]:
    return shared[0] + sum(numbers), id(shared)


def test_what_is_shared_is_read_once_by_a_worker() -> None:
    sums, objects = zip(*over_cores(_added, range(100), size=2, shared=[1000]), strict=True)
    assert sums == tuple(range(1001, 1200, 4))
    assert len(set(objects)) <= (os.cpu_count() or 1)
    assert [total for total, _ in over_cores(_added, range(5), size=3, shared=[1000])] == [1003, 1007]
