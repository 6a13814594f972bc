"""``tqnet score`` and ``tqnet evaluate paraphrase``, by the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tqnet.cli import main
from tqnet.paraphrase.evaluation import THRESHOLD

FAST = ["--device", "cpu", "--precision", "fp32"]


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


def test_two_texts(model_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("spacy")
    assert main(["score", "--model", model_folder, ORIGINAL, PARAPHRASE, *FAST]) == 0
    score, explanation = capsys.readouterr().out.splitlines()
    assert score.endswith(" (invalid by what was lost or changed)")  # tiny random models find all texts alike
    assert explanation == "changed unit: miles -> km"
    assert main(["score", "--model", model_folder, ORIGINAL, ORIGINAL, *FAST, "--json", "--threshold", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["score"] == found["checked"] == pytest.approx(1.0)
    assert found["differences"] == []
    assert found["valid"] is False  # not above 1


def test_the_threshold_is_that_of_the_evaluation(
    model_folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["score", "--model", model_folder, ORIGINAL, ORIGINAL, *FAST, "--no-explain"]
    assert main(call) == 0
    assert capsys.readouterr().out == f"1.000 (valid, above {THRESHOLD:g})\n"
    monkeypatch.setattr("tqnet.paraphrase.evaluation.THRESHOLD", 1.0)
    assert main(call) == 0
    assert capsys.readouterr().out == "1.000 (invalid, not above 1)\n"


def test_texts_that_say_little_have_a_score(model_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("Why?", "How?"), ("What is a prime?", "Define a prime."), ("小明有5个苹果。", "小明有五个苹果。")]
    for pair in pairs:
        assert main(["score", "--model", model_folder, *pair, "--json", "--no-explain", *FAST]) == 0
        found = json.loads(capsys.readouterr().out)
        assert -1 <= found["score"] <= 1
        assert "differences" not in found


def test_a_file_of_pairs(
    model_folder: str, pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("spacy")
    call = ["score", "--model", model_folder, "--pairs", str(pairs_file), *FAST]
    assert main(call) == 0
    header, *rows, summary = capsys.readouterr().out.splitlines()
    assert header.split() == ["pair", "score", "label", "lost", "or", "changed"]
    assert [row.split()[0] for row in rows] == [str(line) for line in range(2, 14)]
    assert rows[1].endswith("lost number: 3")
    assert summary.startswith("12 pairs, ")
    assert main([*call, "--json", "--out", str(tmp_path / "scores.jsonl")]) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "scores.jsonl").read_text(encoding="utf-8") == printed
    records = [json.loads(line) for line in printed.splitlines()]
    assert [record["label"] for record in records] == [1, 0] * 6
    assert records[1]["explanation"] == "lost number: 3"
    assert main([*call, "--no-explain", "--out", str(tmp_path / "scores.jsonl")]) == 0
    assert capsys.readouterr().out.endswith(f" valid (score above 0.5): {tmp_path / 'scores.jsonl'}\n")
    assert "differences" not in (tmp_path / "scores.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one text"], "give the original and its paraphrase, or --pairs; got 1 texts"),
        (["a", "b", "--pairs", "c.csv"], "give two texts or --pairs, not both"),
        (["a", " "], "pair 1: paraphrase: empty"),
        (["--pairs", "gone.csv"], "gone.csv: no such file"),
    ],
)
def test_wrong_calls(arguments: list[str], message: str, model_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--model", model_folder, "--no-explain", *arguments, *FAST]) == 2
    assert capsys.readouterr().err == f"tqnet: error: {message}\n"


def test_a_threshold_beyond_all_cosines(model_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["score", "--model", model_folder, "a", "b", "--threshold", "nan"])
    assert "argument --threshold: 'nan' is not a number" in capsys.readouterr().err


def test_a_language_model_or_a_folder_that_is_not_there(
    model_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("spacy")
    call = ["score", "--model", model_folder, "a", "b", *FAST]
    assert main([*call, "--language-model", "nosuch"]) == 2
    assert "--language-model: " in capsys.readouterr().err
    assert main([*call, "--out", str(tmp_path / "no" / "scores.jsonl")]) == 2
    assert "--out: " in capsys.readouterr().err


def test_a_faulty_file_is_named_with_line_and_field(
    model_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.csv").write_text("original,paraphrase\nWhy?,\n")
    assert main(["score", "--model", model_folder, "--pairs", str(tmp_path / "bad.csv")]) == 1
    assert capsys.readouterr().err == f"tqnet: error: {tmp_path / 'bad.csv'}:2: paraphrase: empty\n"


def test_evaluate(model_folder: str, pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    call = ["evaluate", "paraphrase", f"one={model_folder}", f"two={model_folder}", "--pairs", str(pairs_file), *FAST]
    assert main([*call, "--out", str(out)]) == 0
    assert "(every pair valid)" in capsys.readouterr().out
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert results["paraphrase"]["set"].keys() == {"one", "two"}
    assert results["paraphrase"]["set"]["one"] == results["paraphrase"]["set"]["two"]
    assert results["paraphrase"]["set"]["one"]["pairs"] == 12
    assert results["made_by"]["command"].startswith("tqnet evaluate paraphrase one=")
    assert "### set" in (out / "results.md").read_text(encoding="utf-8")
    for picture in ("scores-set.png", "triplets-set.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")


def test_evaluate_with_a_look_at_numbers_and_units(model_folder: str, pairs_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    call = ["evaluate", "paraphrase", f"one={model_folder}", "--pairs", str(pairs_file), "--checked", *FAST]
    assert main([*call, "--out", str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["paraphrase"]["set"]
    assert found.keys() == {"one", "one, checked"}
    # The invalid ones of this file say "some" where there was a number.
    assert found["one, checked"]["mu_invalid"] == -1
    assert found["one, checked"]["mu_valid"] == pytest.approx(found["one"]["mu_valid"])
    assert found["one, checked"]["macro_f1"] == 1


def test_evaluate_by_kind(model_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = Path(__file__).parents[2] / "assets" / "paraphrase_behaviour.jsonl"
    out = tmp_path / "out"
    call = ["evaluate", "paraphrase", f"one={model_folder}", "--pairs", str(pairs), "--out", str(out), *FAST]
    assert main(call) == 0
    assert "paraphrase_behaviour, by kind" in capsys.readouterr().out
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))["paraphrase"]["paraphrase_behaviour"]["one"]
    assert [(kind["label"], kind["pairs"]) for kind in found["kinds"]] == [(0, 12)] * 3 + [(1, 12)] * 4 + [(0, 12)]
    valid = found["confusion"]["valid"]["called_valid"]
    assert sum(kind["right"] * 12 for kind in found["kinds"] if kind["label"]) == pytest.approx(valid)
    assert "| lost number | no | 12 |" in (out / "results.md").read_text(encoding="utf-8")


def test_evaluate_needs_labels_of_both_kinds(
    model_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "paraphrase", f"one={model_folder}", "--out", str(tmp_path / "out"), "--pairs"]
    for name, content, message in (
        ("none.csv", "original,paraphrase\nWhy?,How?\n", "pair 2: label: missing (1 pairs without one)"),
        ("one.csv", "original,paraphrase,label\nWhy?,How?,0\n", "all pairs have the label 0"),
    ):
        (tmp_path / name).write_text(content)
        assert main([*call, str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err
    assert main([*call[:2], "words=tfidf", *call[3:], str(tmp_path / "one.csv")]) == 2
    assert "tfidf: has no vectors" in capsys.readouterr().err
