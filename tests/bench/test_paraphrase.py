"""What the benchmark of ParaQD's operators clocks."""

from __future__ import annotations

from tests.bench.paraphrase import measure


def test_its_parts() -> None:
    report = measure(["Tom ran 5 km in May. How many hours did Tom run?", "Ann ate 3 of 7 apples. Why?"], epochs=2)
    assert report["triplets"] == 4
    assert report["triplets_per_second"] > 0
    assert report["operators"]["f4"]["applies"] == 0.5
    assert {"f2", "f3", "f6", "f7", "f8", "f10", "f_a", "f_c", "f_d"} <= report["operators"].keys()
