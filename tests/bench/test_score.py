"""What the benchmark of scoring clocks."""

from __future__ import annotations

import pytest

from tests.bench.score import report, speeds
from tqnet.modeling.model import TQNetModel
from tqnet.questions.paraphrase_pairs import ParaphrasePair


def test_its_ratios(tiny_model: TQNetModel) -> None:
    pytest.importorskip("spacy")
    pairs = [ParaphrasePair("Tom ran 5 km. How far?", "Tom ran five km. How far?", 1, "1")]
    found = report(speeds(tiny_model, pairs, batch_size=2, precision="fp32", rounds=1))
    assert found["pairs_per_second"].keys() == {"encoding alone", "scoring", "scoring and explaining"}
    assert all(ratio > 0 for ratio in found["ratios"].values())
