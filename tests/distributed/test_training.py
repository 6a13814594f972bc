"""Recipes on two processes: they train, go on after a kill to the bit, and stop together."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from tests.word_problems import write_problems
from tqnet.modeling.build import load_model
from tqnet.solver.model import load_solver

Launch = Callable[..., subprocess.Popen[str]]
Finish = Callable[[subprocess.Popen[str]], str]

TINY = [
    "data.bank=assets/sample",
    "model.text=scratch",
    "model.scratch_hidden=48",
    "model.scratch_layers=2",
    "model.fusion_heads=12",
    "model.visual=resnet10t",
    "model.image_size=64",
    "run.batch_size=8",
    "run.accumulate=2",
    "run.max_steps=6",
    "run.log_every=3",
    "run.save_every=2",
    "run.precision=fp32",
    "run.threads=1",
]
MOCO = ["pretrain/moco.py", *TINY, "mode=seq", "queue=32", "bn_splits=1"]


def last_state(out: Path) -> dict[str, Any]:
    newest = sorted((out / "checkpoints").glob("step-*.pt"))[-1]
    return torch.load(newest, weights_only=False)


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_moco_trains_and_goes_on_after_a_kill(
    launch: Launch, finish: Finish, kill_when: Callable[..., None], tmp_path: Path
) -> None:
    """Both streams, so that a process may have no figure; two micro-batches a step."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    finish(launch(*MOCO, f"run.out={whole}"))
    expected = last_state(whole)
    assert len(expected["generators"]) == 2
    assert not torch.equal(*(of["torch"] for of in expected["generators"]))  # each has a dropout of its own
    assert json.loads((whole / "run.json").read_text())["processes"] == 2
    assert load_model(whole / "model").encode(["Find $x$."]).shape == (1, 48)
    assert [record["step"] for record in records(whole) if "loss" in record] == [3, 6]
    assert "visual/top1" in next(r for r in records(whole) if "loss" in r)

    process = launch(*MOCO, f"run.out={killed}")
    kill_when(process, lambda: (killed / "checkpoints" / "step-00000002.pt").exists())
    assert last_state(killed)["step"] < 6
    finish(launch(*MOCO, f"run.out={killed}", "run.resume=true"))

    found = last_state(killed)
    for part in ("trained", "state"):
        assert_equal(expected[part], found[part])
    losses = [[record["loss"] for record in records(out) if "loss" in record] for out in (whole, killed)]
    assert losses[0] == losses[1]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_quesco_as_its_recipe_says(processes: int, launch: Launch, finish: Finish, tmp_path: Path) -> None:
    """The command and the settings that a user has, for two steps."""
    accelerate = ["accelerate.commands.launch", "--cpu", "--num_processes", str(processes)]
    recipe = ["pretrain/quesco.py", "--config", "configs/quesco/sample.yaml", f"run.out={tmp_path}"]
    few = ["run.max_steps=2", "queue=64", "run.log_every=1", "data.distractors=0"]
    finish(launch(*recipe, *few, launcher=accelerate))
    assert json.loads((tmp_path / "run.json").read_text())["processes"] == processes
    assert [record["questions"] for record in records(tmp_path) if "loss" in record] == [32, 64]
    assert {f"similarity/rank {rank}" for rank in range(5)} <= next(r for r in records(tmp_path) if "loss" in r).keys()
    queue = last_state(tmp_path)["state"]["queue"]  # of all processes, as long as they fill it
    assert int(queue["valid"]) == len(set(queue["ids"].tolist())) == 64
    assert load_model(tmp_path / "model").encode(["Find $x$."]).shape[0] == 1


@pytest.mark.slow
def test_a_solver_with_contrast_and_then_without(launch: Launch, finish: Finish, tmp_path: Path) -> None:
    """Behind an encoder that reads figures; both processes evaluate, and one writes the log and the model."""
    few = [*TINY, f"data.bank={write_problems(tmp_path / 'problems.jsonl')}", "run.max_steps=2", "run.log_every=1"]
    first, second = tmp_path / "first", tmp_path / "second"
    finish(launch("finetune/solver.py", *few, "alpha=5", f"run.out={first}"))
    assert [record["questions"] for record in records(first) if "contrastive" in record] == [48, 96]  # triples
    finish(launch("finetune/solver.py", *few, f"model.start={first / 'model'}", f"run.out={second}"))
    assert [record["questions"] for record in records(second) if "equation" in record] == [16, 32]
    assert [record["step"] for record in records(second) if "valid/answers" in record] == [0, 2]
    assert load_solver(second / "model").solve(["Tom had 3 pens and bought 5 more."])[0].equation


@pytest.mark.slow
def test_accelerate_launch_starts_as_many_processes_as_it_is_asked_for(
    launch: Launch, finish: Finish, tmp_path: Path
) -> None:
    accelerate = ["accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    finish(launch(*MOCO, f"run.out={tmp_path}", "run.max_steps=1", launcher=accelerate))
    assert json.loads((tmp_path / "run.json").read_text())["processes"] == 2


@pytest.mark.slow
def test_a_signal_to_one_process_stops_both(launch: Launch, tmp_path: Path) -> None:
    endless = ["finetune/similar.py", *TINY, f"run.out={tmp_path}", "run.max_steps=500", "run.epochs=500"]
    process = launch(*endless)
    lines: list[str] = []
    assert process.stdout is not None
    while not (tmp_path / "metrics.jsonl").exists() or not (tmp_path / "metrics.jsonl").stat().st_size:
        assert process.poll() is None, "".join(lines) + process.stdout.read()[-3000:]
    workers = [p for p in psutil.Process(process.pid).children() if "finetune/similar.py" in p.cmdline()]
    ranks = {int(worker.environ()["RANK"]): worker for worker in workers}
    ranks[1].send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert "stopped at step" in output
    assert process.returncode != 0
    assert "exitcode  : 143" in output
    saved = last_state(tmp_path)["step"]
    assert saved < 500
    assert all(record["step"] <= saved for record in records(tmp_path))


def assert_equal(expected: Any, found: Any) -> None:
    """Nested dicts of tensors, to the bit."""
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        if isinstance(value, dict):
            assert_equal(value, found[name])
        else:
            assert torch.equal(value, found[name]), name


@pytest.mark.slow
def test_the_ranker_and_its_folds(launch: Launch, finish: Finish, tmp_path: Path) -> None:
    """Pairs without an analysis leave a process without the other tasks; every fold is judged by both."""
    few = ["queries=16", "similar=2", "retrieved=2", "concept=1", "random=1", "max_length=48", "folds=2"]
    finish(launch("finetune/ranker.py", *TINY, *few, "run.max_steps=2", "run.log_every=1", f"run.out={tmp_path}"))
    pairs = (tmp_path / "pairs.jsonl").read_text().splitlines()
    judged = [np.load(tmp_path / "folds" / str(fold) / "probabilities.npy") for fold in (0, 1)]
    assert sum(map(len, judged)) == len(pairs)
    assert all(((of > 0) & (of < 1)).all() for of in judged)
    assert [record["questions"] for record in records(tmp_path) if "loss" in record] == [16, 32]
    assert len(last_state(tmp_path)["generators"]) == 2
