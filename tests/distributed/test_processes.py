"""Two processes compute what one does, train, go on after a kill to the bit, and stop together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from tests.distributed.conftest import Group
from tests.distributed.group import results
from tests.recipes.conftest import Run, run_recipe
from tests.recipes.test_interruption import wait_for
from tests.word_problems import write_problems
from tqnet.config import ConfigError
from tqnet.solver.model import load_solver
from tqnet.training import processes

STEPS = ["run.batch_size=8", "run.accumulate=2", "run.epochs=2", "run.log_every=1"]


def test_two_processes_compute_what_one_does(group: Group, model_folder: str, tmp_path: Path) -> None:
    """Gradients, queues, decisions."""
    group.run("measure", model_folder, str(tmp_path))
    first, second = (torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2))
    alone: dict[str, dict[str, Any]] = results(model_folder)
    assert first.keys() == second.keys() == alone.keys()
    assert first["flags"]["any"].tolist() == second["flags"]["any"].tolist() == [True, False]
    for case in alone.keys() - {"flags"}:
        expected, actual = alone[case].pop("gradients"), first[case].pop("gradients")
        largest = max(float(gradient.abs().max()) for gradient in expected.values())
        assert largest > 1e-3, case
        for name, gradient in expected.items():
            assert torch.equal(actual[name], second[case]["gradients"][name]), f"{case}: {name}"
            # Sums of two halves round otherwise than one sum: compared on the scale of the largest.
            assert (actual[name] - gradient).abs().max() < 2e-5 * largest, f"{case}: {name}"
        for name, value in alone[case].items():
            message = f"{case}: {name}"
            assert torch.equal(first[case][name], second[case][name]), message
            torch.testing.assert_close(first[case][name], value, rtol=1e-4, atol=1e-5, msg=message)


def test_moco_goes_on_after_a_kill(group: Group, small_bank: Path, tmp_path: Path) -> None:
    """Both streams, so that a process may have no figure; two micro-batches a step."""
    moco = [f"data.bank={small_bank}", *STEPS, "mode=seq", "queue=8", "run.max_steps=4", "run.save_every=3"]
    uninterrupted = Run(tmp_path / "whole")
    group.run("recipe", "pretrain.moco", *moco, f"run.out={uninterrupted.out}")
    generators = uninterrupted.state["generators"]
    assert len(generators) == 2
    assert not torch.equal(*(state["torch"] for state in generators))  # each has a dropout of its own
    assert json.loads((uninterrupted.out / "run.json").read_text())["processes"] == 2
    assert uninterrupted.model.encode(["Find $x$."]).shape == (1, 48)
    assert "visual/top1" in next(record for record in uninterrupted.records if "loss" in record)
    killed = uninterrupted.killed(tmp_path / "killed")
    assert killed.state["step"] == 3
    group.run("recipe", "pretrain.moco", *moco, f"run.out={killed.out}", "run.resume=true")
    assert killed.same_weights(uninterrupted)
    assert killed.losses == uninterrupted.losses


def test_a_solver_with_contrast_and_then_without(group: Group, tmp_path: Path) -> None:
    """Behind an encoder that reads figures; both processes evaluate, and one writes the log and the model."""
    few = [*STEPS, f"data.bank={write_problems(tmp_path / 'problems.jsonl')}", "run.max_steps=2"]
    first, second = Run(tmp_path / "first"), Run(tmp_path / "second")
    group.run("recipe", "finetune.solver", *few, "alpha=5", f"run.out={first.out}")
    assert [record["questions"] for record in first.records if "contrastive" in record] == [48, 96]  # triples
    group.run("recipe", "finetune.solver", *few, f"model.start={first.out / 'model'}", f"run.out={second.out}")
    assert [record["questions"] for record in second.records if "equation" in record] == [16, 32]
    assert [record["step"] for record in second.records if "valid/answers" in record] == [0, 2]
    assert load_solver(second.out / "model").solve(["Tom had 3 pens and bought 5 more."])[0].equation


def test_the_ranker_and_its_folds(group: Group, small_bank: Path, tmp_path: Path) -> None:
    """Pairs without an analysis leave a process without the other tasks; every fold is judged by both."""
    few = ["model.visual=null", "queries=16", "similar=2", "retrieved=2", "max_length=48", "folds=2"]
    settings = [f"data.bank={small_bank}", *STEPS, *few, "run.max_steps=2", f"run.out={tmp_path}"]
    group.run("recipe", "finetune.ranker", *settings)
    pairs = (tmp_path / "pairs.jsonl").read_text().splitlines()
    judged = [np.load(tmp_path / "folds" / str(fold) / "probabilities.npy") for fold in (0, 1)]
    assert sum(map(len, judged)) == len(pairs)
    assert all(((chances > 0) & (chances < 1)).all() for chances in judged)
    assert [record["questions"] for record in Run(tmp_path).records if "loss" in record] == [16, 32]


def test_a_signal_to_one_process_stops_both(group: Group, small_bank: Path, tmp_path: Path) -> None:
    few = [*STEPS, f"data.bank={small_bank}", "run.max_steps=500", "run.epochs=500", "model.visual=null"]
    group.run("interrupted", "finetune.similar", *few, f"run.out={tmp_path}")
    run = Run(tmp_path)
    assert run.state["step"] == 3
    assert max(record["step"] for record in run.records) == 3


def test_weights_that_a_batch_does_not_reach(group: Group, small_bank: Path, tmp_path: Path) -> None:
    """Momentum and decay move them in one process as in two, where zero gradients come from the all-reduce."""
    plain = [
        "model.dropout=0",
        "model.visual_norm=group",
        "model.pooling=gated",
        "optim.name=sgd",
        "optim.lr=0.05",
        "optim.weight_decay=0.1",
    ]
    settings = [f"data.bank={small_bank}", *plain, *STEPS, "run.accumulate=1", "run.max_steps=5", "run.save_every=5"]
    alone, both = Run(tmp_path / "alone"), Run(tmp_path / "both")
    run_recipe("finetune.similar", *settings, f"run.out={alone.out}")
    group.run("recipe", "finetune.similar", *settings, f"run.out={both.out}")
    assert both.losses == pytest.approx(alone.losses, rel=1e-4)
    for name, weight in alone.state["trained"].items():
        torch.testing.assert_close(both.state["trained"][name], weight, rtol=1e-4, atol=1e-5, msg=name)


def test_missing_processes_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``accelerate launch --cpu --num_processes 3`` leaves it to its one process."""
    called: list[list[str]] = []
    monkeypatch.setattr(processes, "PartialState", lambda: SimpleNamespace(num_processes=1))
    monkeypatch.setattr(os, "execv", lambda path, words: called.append(words))
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    processes.start_missing_processes()
    assert not called
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setattr(processes, "_launch_words", lambda: ["--cpu", "--num_processes", "3", "pretrain/moco.py"])
    processes.start_missing_processes()
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "3"]
    assert called == [torchrun + sys.orig_argv[1:]]
    monkeypatch.setattr(processes, "_launch_words", lambda: [])
    with pytest.raises(ConfigError, match="several processes were requested but one was started"):
        processes.start_missing_processes()


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_quesco_as_its_recipe_says(
    processes: int, launch: Callable[..., Any], finish: Callable[[subprocess.Popen[str]], str], tmp_path: Path
) -> None:
    """The command and the settings that a user has, for two steps."""
    accelerate = ["accelerate.commands.launch", "--cpu", "--num_processes", str(processes)]
    recipe = ["pretrain/quesco.py", "--config", "configs/quesco/sample.yaml", f"run.out={tmp_path}"]
    finish(launch(*accelerate, *recipe, "run.max_steps=2", "queue=64", "run.log_every=1"))
    run = Run(tmp_path)
    assert json.loads((tmp_path / "run.json").read_text())["processes"] == processes
    logged = [record for record in run.records if "loss" in record]
    assert [record["questions"] for record in logged] == [32, 64]
    assert {f"similarity/rank {rank}" for rank in range(5)} <= logged[0].keys()
    queue = run.state["state"]["queue"]  # of all processes, as long as they fill it
    assert int(queue["valid"]) == len(set(queue["ids"].tolist())) == 64
    assert run.model.encode(["Find $x$."]).shape[0] == 1


@pytest.mark.slow
def test_processes_end_with_the_launcher(launch: Callable[..., Any], small_bank: Path, tmp_path: Path) -> None:
    """On processors, torchrun takes the place of the launcher's process."""
    long = ["run.max_steps=5000", "run.epochs=5000", "run.log_every=1", *("model.text=scratch", "model.visual=null")]
    accelerate = ["accelerate.commands.launch", "--cpu", "--num_processes", "2", "pretrain/mlm.py"]
    launcher, run = launch(*accelerate, f"data.bank={small_bank}", f"run.out={tmp_path}", *long), Run(tmp_path)
    wait_for(launcher, lambda: (tmp_path / "metrics.jsonl").exists() and len(run.losses) > 1)
    children = psutil.Process(launcher.pid).children(recursive=True)
    launcher.terminate()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    assert len(children) == 3  # torchrun and two processes
    assert run.state["step"] >= 1
