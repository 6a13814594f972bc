"""``tqnet score`` and ``tqnet evaluate paraphrase``, by the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import FAST, Tqnet
from tqnet.paraphrase.evaluation import THRESHOLD

ORIGINAL = "Tom ran 15 miles in 2 hours. How fast was he?"
PARAPHRASE = "Tom ran 15 km in two hrs. How fast was he?"


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    """6 questions, each with a valid paraphrase and an invalid one."""
    file = tmp_path / "set.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("original", "paraphrase", "label"))
        for number in range(3, 9):
            question = f"A box has {number} red pens and 2 blue pens. How many pens does it have?"
            writer.writerow((question, f"How many pens has a box of {number} red pens and two blue ones?", 1))
            writer.writerow((question, "A box has some red pens and 2 blue pens. How many pens does it have?", 0))
    return file


def test_two_texts(model_folder: str, tqnet: Tqnet) -> None:
    pytest.importorskip("spacy")
    score, explanation = tqnet("score", "--model", model_folder, ORIGINAL, PARAPHRASE, *FAST).splitlines()
    assert score.endswith(" (invalid by what was lost or changed)")  # tiny random models find all texts alike
    assert explanation == "changed unit: miles -> km"
    result = tqnet.json("score", "--model", model_folder, ORIGINAL, ORIGINAL, *FAST, "--threshold", "1")
    assert result["score"] == result["checked"] == pytest.approx(1.0)
    assert result["differences"] == []
    assert result["valid"] is False  # not above 1


def test_the_threshold_is_that_of_the_evaluation(
    model_folder: str, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    call = ["score", "--model", model_folder, ORIGINAL, ORIGINAL, *FAST, "--no-explain"]
    assert tqnet(*call) == f"1.000 (valid, above {THRESHOLD:g})\n"
    monkeypatch.setattr("tqnet.paraphrase.evaluation.THRESHOLD", 1.0)
    assert tqnet(*call) == "1.000 (invalid, not above 1)\n"


@pytest.mark.parametrize(
    "pair", [("Why?", "How?"), ("What is a prime?", "Define a prime."), ("小明有5个苹果。", "小明有五个苹果。")]
)
def test_texts_that_say_little_have_a_score(pair: tuple[str, str], model_folder: str, tqnet: Tqnet) -> None:
    result = tqnet.json("score", "--model", model_folder, *pair, "--no-explain", *FAST)
    assert -1 <= result["score"] <= 1
    assert "differences" not in result


def test_a_file_of_pairs(model_folder: str, pairs_file: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    pytest.importorskip("spacy")
    out, call = tmp_path / "scores.jsonl", ["score", "--model", model_folder, "--pairs", pairs_file, *FAST]
    header, *rows, summary = tqnet(*call).splitlines()
    assert header.split() == ["pair", "score", "label", "lost", "or", "changed"]
    assert [row.split()[0] for row in rows] == [str(line) for line in range(2, 14)]
    assert rows[1].endswith("lost number: 3")
    assert summary.startswith("12 pairs, ")
    printed = tqnet(*call, "--json", "--out", out)
    assert out.read_text(encoding="utf-8") == printed
    records = [json.loads(line) for line in printed.splitlines()]
    assert [record["label"] for record in records] == [1, 0] * 6
    assert records[1]["explanation"] == "lost number: 3"
    assert tqnet(*call, "--no-explain", "--out", out).endswith(f" valid (score above 0.5): {out}\n")
    assert "differences" not in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one text"], "give the original and its paraphrase, or --pairs; got 1 texts"),
        (["a", "b", "--pairs", "c.csv"], "give two texts or --pairs, not both"),
        (["a", " "], "pair 1: paraphrase: empty"),
        (["--pairs", "gone.csv"], "gone.csv: no such file"),
        (["a", "b", "--out", "nowhere/scores.jsonl"], "--out: nowhere: no such folder"),
    ],
)
def test_wrong_calls(arguments: list[str], message: str, model_folder: str, tqnet: Tqnet) -> None:
    error = tqnet.fails("score", "--model", model_folder, "--no-explain", *arguments, *FAST)
    assert error == f"tqnet: error: {message}"


def test_a_language_model_that_is_not_there(model_folder: str, tqnet: Tqnet) -> None:
    pytest.importorskip("spacy")
    call = ["score", "--model", model_folder, "a", "b", *FAST, "--language-model", "nosuch"]
    assert "--language-model: " in tqnet.fails(*call)


def test_a_faulty_file_is_named_with_line_and_field(model_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    (tmp_path / "bad.csv").write_text("original,paraphrase\nWhy?,\n")
    error = tqnet.fails("score", "--model", model_folder, "--pairs", tmp_path / "bad.csv", code=1)
    assert error == f"tqnet: error: {tmp_path / 'bad.csv'}:2: paraphrase: empty"


def test_evaluate(model_folder: str, pairs_file: Path, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "out"
    stages = [f"one={model_folder}", f"two={model_folder}"]
    output = tqnet("evaluate", "paraphrase", *stages, "--pairs", pairs_file, "--out", out, *FAST)
    assert "(every pair valid)" in output
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert results["paraphrase"]["set"].keys() == {"one", "two"}
    assert results["paraphrase"]["set"]["one"] == results["paraphrase"]["set"]["two"]
    assert results["paraphrase"]["set"]["one"]["pairs"] == 12
    assert results["made_by"]["command"].startswith("tqnet evaluate paraphrase one=")
    assert "### set" in (out / "results.md").read_text(encoding="utf-8")
    for picture in ("scores-set.png", "triplets-set.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")


def test_evaluate_with_a_look_at_numbers_and_units(
    model_folder: str, pairs_file: Path, tmp_path: Path, tqnet: Tqnet
) -> None:
    pytest.importorskip("spacy")
    call = ["evaluate", "paraphrase", f"one={model_folder}", "--pairs", pairs_file, "--checked", *FAST]
    tqnet(*call, "--out", tmp_path / "out")
    metrics = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["paraphrase"]["set"]
    assert metrics.keys() == {"one", "one, checked"}
    # The invalid ones of this file say "some" where there was a number.
    assert metrics["one, checked"]["mu_invalid"] == -1
    assert metrics["one, checked"]["mu_valid"] == pytest.approx(metrics["one"]["mu_valid"])
    assert metrics["one, checked"]["macro_f1"] == 1


def test_evaluate_by_kind(model_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    pairs = Path(__file__).parents[2] / "assets" / "paraphrase_behaviour.jsonl"
    out = tmp_path / "out"
    output = tqnet("evaluate", "paraphrase", f"one={model_folder}", "--pairs", pairs, "--out", out, *FAST)
    assert "paraphrase_behaviour, by kind" in output
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    metrics = results["paraphrase"]["paraphrase_behaviour"]["one"]
    assert [(kind["label"], kind["pairs"]) for kind in metrics["kinds"]] == [(0, 12)] * 3 + [(1, 12)] * 4 + [(0, 12)]
    valid = metrics["confusion"]["valid"]["called_valid"]
    assert sum(kind["right"] * 12 for kind in metrics["kinds"] if kind["label"]) == pytest.approx(valid)
    assert "| lost number | no | 12 |" in (out / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("stage", "content", "message"),
    [
        ("one", "original,paraphrase\nWhy?,How?\n", "pair 2: label: missing (1 pairs without one)"),
        ("one", "original,paraphrase,label\nWhy?,How?,0\n", "all pairs have the label 0"),
        ("words=tfidf", "original,paraphrase,label\nWhy?,How?,0\n", "tfidf: has no vectors"),
    ],
)
def test_evaluate_needs_vectors_and_labels_of_both_kinds(
    stage: str, content: str, message: str, model_folder: str, tmp_path: Path, tqnet: Tqnet
) -> None:
    (tmp_path / "pairs.csv").write_text(content)
    stage = stage if "=" in stage else f"{stage}={model_folder}"
    call = ["evaluate", "paraphrase", stage, "--out", tmp_path / "out", "--pairs", tmp_path / "pairs.csv"]
    assert message in tqnet.fails(*call)
