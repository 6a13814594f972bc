"""What the check, without a model, makes of questions of our own that are told in other words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tqnet.paraphrase.check.language import is_english
from tqnet.questions.paraphrase_pairs import read_pairs

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer

PAIRS = Path(__file__).parents[2] / "assets" / "paraphrase_rewordings.jsonl"


def test_what_is_reworded_and_what_is_another_question(explainer: Explainer) -> None:
    """The rest is a model's: another question about the same, "he" for "she"."""
    pairs = read_pairs(PAIRS)
    valid, english = (
        np.array(of) for of in zip(*((pair.label == 1, is_english(pair.original)) for pair in pairs), strict=True)
    )
    explained = explainer.explain([(pair.original, pair.paraphrase) for pair in pairs])
    called_invalid = np.array([any(one.asks_otherwise for one in of.differences) for of in explained])
    assert valid.sum() == (~valid).sum() == 60
    assert (called_invalid & valid & english).sum() <= 1  # of 53
    assert (called_invalid & ~valid & english).sum() >= 35  # of 52
    assert not (called_invalid & valid & ~english).any()
    assert (called_invalid & ~valid & ~english).sum() >= 6  # of 8
