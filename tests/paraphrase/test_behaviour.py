"""How a trained scorer judges what Table 3 of ParaQD shows, and how people reword, on questions of our own.

    TQNET_PARAPHRASE_MODEL=runs/paraqd/model pytest tests/paraphrase/test_behaviour.py

Losses must score below 0.5, what asks the same above. The pairs that do not are named, and recorded for ``--junitxml``.
The check alone is tried on the same pairs in ``test_check.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tqnet.paraphrase.evaluation import THRESHOLD
from tqnet.questions.paraphrase_pairs import read_paraphrase_pairs

if TYPE_CHECKING:
    from tqnet.paraphrase import ParaphraseScorer

PAIRS = read_paraphrase_pairs(Path(__file__).parents[2] / "assets" / "paraphrase_behaviour.jsonl")


@pytest.fixture(scope="module")
def scorer() -> ParaphraseScorer:
    if not (folder := os.environ.get("TQNET_PARAPHRASE_MODEL")):
        pytest.skip("TQNET_PARAPHRASE_MODEL names no folder of a scorer trained by finetune/paraphrase.py")
    pytest.importorskip("spacy")
    from tqnet.paraphrase import ParaphraseScorer

    return ParaphraseScorer(folder, precision="fp32")


@pytest.mark.parametrize("kind", dict.fromkeys(pair.kind for pair in PAIRS))
def test_what_a_trained_scorer_says(
    kind: str, scorer: ParaphraseScorer, record_property: pytest.RecordProperty
) -> None:
    """Checked, as `tqnet score` judges; what the model's own cosine gets wrong is recorded beside."""
    pairs = [pair for pair in PAIRS if pair.kind == kind]
    scored = scorer.score(pairs)
    wrong, wrong_unchecked = (
        [
            f"{score:.3f}: {pair.original} -> {pair.paraphrase}"
            for pair, score in zip(pairs, scores, strict=True)
            if not (score > THRESHOLD if pair.label else score < THRESHOLD)
        ]
        for scores in ([row.checked for row in scored], [row.score for row in scored])
    )
    record_property("wrong", wrong)
    record_property("wrong_unchecked", wrong_unchecked)
    right = f"{len(pairs) - len(wrong)} of {len(pairs)} right, {len(pairs) - len(wrong_unchecked)} by the cosine alone"
    print("\n".join([f"{kind}: {right}", *wrong_unchecked]))
    assert not wrong, "\n".join(wrong)
