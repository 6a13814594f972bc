"""What the check, without a model, makes of questions of our own that are told in other words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase.checks import asks_otherwise
from tqnet.paraphrase.language import is_english
from tqnet.questions.paraphrase_pairs import read_pairs

PAIRS = Path(__file__).parents[2] / "assets" / "paraphrase_rewordings.jsonl"


def test_what_is_reworded_and_what_is_another_question() -> None:
    """The rest is a model's: "half as old" from the other side of "twice as old", another question about the same."""
    pairs = read_pairs(PAIRS)
    valid, english = (
        np.array(of) for of in zip(*((pair.label == 1, is_english(pair.original)) for pair in pairs), strict=True)
    )
    called_invalid = asks_otherwise(pairs)
    assert valid.sum() == (~valid).sum() == 60
    assert (called_invalid & valid & english).sum() <= 3  # of 53
    assert (called_invalid & ~valid & english).sum() >= 34  # of 52
    assert not (called_invalid & valid & ~english).any()
    assert (called_invalid & ~valid & ~english).sum() >= 6  # of 8
