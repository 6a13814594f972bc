"""What the benchmark of QuesCo's parts clocks."""

from __future__ import annotations

from pathlib import Path

from tests.bench.quesco import augmentation, loss
from tqnet.augment.strategies import GROUPS
from tqnet.questions import QuestionBank

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"


def test_its_parts() -> None:
    bank = QuestionBank.load(SAMPLE).select(range(40))
    assert loss(bank, batch_size=4, size=100, dimension=8) > 0
    found = augmentation(bank, probability=1.0)
    assert found.keys() == {*GROUPS, "all"}
    assert all(milliseconds > 0 for milliseconds in found.values())
