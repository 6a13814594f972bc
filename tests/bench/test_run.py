"""A two-row suite on the sample bank: run, interrupted, resumed, and with a row that fails."""

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

from tqnet.bench.plan import trainings as plan
from tqnet.bench.run import Bench
from tqnet.bench.runner import Runner, TrainingError
from tqnet.bench.scores import precision
from tqnet.bench.suite import Row, Stage, Suite, SuiteError, load_suite
from tqnet.evaluation.sources import Encoding
from tqnet.questions import QuestionBank

ROOT = Path(__file__).parents[2]
TRAINING = {"run": {"batch_size": 16, "log_every": 2, "save_every": 2, "threads": 1, "precision": "fp32"}}
STAGES = {
    "mlm": {"recipe": "pretrain/mlm.py", "questions": 64, "settings": TRAINING},
    "scl": {"recipe": "finetune/similar.py", "questions": 320, "settings": TRAINING},
}
SUITE = {
    "title": "Two ways",
    "bank": str(ROOT / "assets" / "sample"),
    "model": {
        "text": "scratch",
        "scratch_hidden": 48,
        "scratch_layers": 1,
        "fusion_heads": 12,
        "visual": "resnet10t",
        "image_size": 64,
        "max_length": 64,
    },
}
ROWS = {
    "0": {"name": "TF-IDF", "source": "tfidf"},
    "1": {"name": "SCL", "stages": ["mlm", "scl"], "paper": 0.8386},
    "2": {"name": "Pair", "stages": ["mlm", "scl"], "settings": {"scl": {"objective": "pair"}}},
}

ENCODING = Encoding(batch_size=32, device="cpu", precision="fp32")


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts ``tqnet bench`` on the suite of ``rows``."""

    def start(rows: dict[str, Any], *arguments: str) -> subprocess.Popen[str]:
        for folder, files in (("suite", rows), ("stages", STAGES)):
            (tmp_path / folder).mkdir(exist_ok=True)
            for name, content in files.items():
                (tmp_path / folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
        (tmp_path / "suite.yaml").write_text(yaml.safe_dump(SUITE))
        command = [sys.executable, "-m", "tqnet.cli", "bench", "--suite", str(tmp_path / "suite.yaml")]
        command += ["--out", str(tmp_path / "out"), "--recipes", str(ROOT), "--precision", "fp32", *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TQNET_CACHE": str(tmp_path / "cache")}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def results(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "out" / "suite" / "results.json").read_text())["rows"]


def trainings(folder: Path, name: str) -> list[Path]:
    return sorted((folder / "out" / "trainings").glob(f"{name}-*"))


@pytest.mark.slow
def test_cross_validation(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    """Every labelled question of the bank is in the test of one fold."""
    output, errors = start({"0": ROWS["0"]}, "--folds", "3").communicate(timeout=300)
    assert "over 3 folds" in output, errors
    kept = results(tmp_path)["TF-IDF"]["kept"]
    folds = [json.loads((tmp_path / "out" / "scores" / f"{key}.json").read_text())["scores"] for key in kept]
    assert [fold["fold"] for fold in folds] == [1, 2, 3]
    bank = QuestionBank.load(ROOT / "assets" / "sample")
    tested = sum(len(fold["probe"][0]["groups"]) for fold in folds)
    assert 0.9 * len(bank) < tested <= len(bank)  # without doubles and what has no label
    assert json.loads((tmp_path / "out" / "suite" / "results.json").read_text())["made_by"]["bank"].startswith(
        "sample,"
    )


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

    output, errors = start(ROWS, "--seeds", "1").communicate(timeout=300)
    assert "| SCL | 0.8386 |" in (tmp_path / "out" / "suite" / "results.md").read_text(), errors[-3000:]
    assert "Two ways" in output
    rows = results(tmp_path)
    assert all(len(row["p@5"]) == 1 for row in rows.values())
    assert rows["SCL"]["p@5"] != rows["Pair"]["p@5"]
    assert mlm.stat().st_mtime_ns == written  # shared by both rows, and not run again
    assert len(trainings(tmp_path, "mlm")) == 1
    assert "pretrain/mlm.py" not in errors
    steps = [json.loads(line)["step"] for line in (trainings(tmp_path, "scl")[0] / "metrics.jsonl").open()]
    assert steps[-1] == 20
    cost = rows["Pair"]["costs"][0]
    assert [stage["questions"] for stage in cost] == [64, 320]
    assert all(stage["pace"] > 0 and stage["peak_memory_mib"] > 50 for stage in cost)
    assert all(stage["wall_seconds"] > 0.5 * stage["questions"] / stage["pace"] for stage in cost)
    assert cost[0]["valid_precision"] is None
    log = [json.loads(line) for line in (trainings(tmp_path, "scl")[0] / "metrics.jsonl").open()]
    pair = [
        json.loads(line) for line in (tmp_path / "out" / "trainings" / cost[1]["training"] / "metrics.jsonl").open()
    ]
    assert log[0]["step"] == pair[0]["step"] == 0
    assert cost[1]["valid_precision"] == max(record.get("valid/p@5", 0) for record in pair if record["step"])
    assert cost[0]["parameters"] == cost[1]["parameters"] > 1e5

    # Elsewhere, with no more than what was measured, the same table comes out without a training.
    suite = load_suite(tmp_path / "suite.yaml")
    bench = Bench(suite, suite.bank, tmp_path / "new", ROOT, ENCODING, [tmp_path / "out" / "scores"], "fp32")
    *_, again = bench.run(1)
    assert {result.row.name: result.to_dict() for result in again} == rows
    assert [folder.name for folder in (tmp_path / "new").iterdir()] == ["scores"]


@pytest.mark.slow
def test_a_row_that_fails_takes_no_other_with_it(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    broken = {"name": "broken", "stages": ["mlm"], "settings": {"mlm": {"mask": 2.0}}}
    whole = {"name": "whole", "stages": ["mlm"], "settings": {"mlm": {"data": {"transductive": True}}}}
    process = start({"1": broken, "2": whole})
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors[-3000:]
    rows = results(tmp_path)
    assert "mask: must be less than 1, not 2.0" in rows["broken"]["errors"][0]
    assert len(rows["whole"]["p@5"]) == 1
    assert "broken failed" in output
    assert "whole: pre-training has read the questions of valid and test" in output


def test_rows_are_measured_by_the_pairs_that_they_are_trained_on(tmp_path: Path) -> None:
    """As by groups, where the pairs say what the groups do."""
    bank = QuestionBank.load(ROOT / "assets" / "sample")
    members: dict[str, list[str]] = {}
    for name, group in zip(bank.ids, bank.column("group"), strict=True):
        members.setdefault(group or name, []).append(name)
    pairs = [{"a": a, "b": b, "similar": 1} for of in members.values() for a in of for b in of if a < b]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))

    def measured(data: dict[str, Any]) -> float:
        suite = Suite("T", SUITE["bank"], data=data, rows=[Row("words", source="tfidf")])
        *_, (result,) = Bench(suite, suite.bank, tmp_path / "out", ROOT, ENCODING).run(1)
        spread = precision(result.scores)
        assert spread is not None
        return spread.mean

    by_pairs = measured({"pairs": str(tmp_path / "pairs.jsonl")})
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs[: len(pairs) * 2 // 3])))
    assert measured({"pairs": str(tmp_path / "pairs.jsonl")}) != by_pairs  # other pairs are other scores
    assert measured({}) == by_pairs


def test_settings_at_fault_end_it_before_the_first_training(tmp_path: Path) -> None:
    stages = {"scl": Stage("finetune/similar.py", 64, name="scl")}
    rows = [Row("a", ["scl"]), Row("b", ["scl"], settings={"scl": {"run": {"batch_size": 0}}})]
    suite = Suite("T", SUITE["bank"], rows=rows, stages=stages, name="table")
    with pytest.raises(SuiteError, match=r"row b: stage scl: run: batch_size: must be greater than or equal to 1"):
        Bench(suite, suite.bank, tmp_path, ROOT, ENCODING)
    with pytest.raises(FileNotFoundError, match="--scores nowhere: no such folder"):
        Bench(suite, suite.bank, tmp_path, ROOT, ENCODING, [Path("nowhere")])
    suite.data = {"on_error": "perhaps"}
    with pytest.raises(SuiteError, match=r"table: data: on_error: must be 'stop' or 'skip', not 'perhaps'"):
        Bench(suite, suite.bank, tmp_path, ROOT, ENCODING)


def test_a_training_under_way_is_left_alone(tmp_path: Path) -> None:
    suite = Suite("T", "BANK", rows=[Row("a", ["mlm"])], stages={"mlm": Stage("pretrain/mlm.py", 64, name="mlm")})
    (training,) = plan(suite, suite.rows[0], 0, "BANK", "0")
    folder = tmp_path / training.folder
    folder.mkdir()
    with FileLock(folder / "lock"), pytest.raises(TrainingError, match="another process trains here"):
        Runner(tmp_path, ROOT).run(training)
