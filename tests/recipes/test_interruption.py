"""Stopping, being killed and going on; and what must not change a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tqnet.config import ConfigError
from tqnet.training.checkpoint import checkpoints

TIMEOUT = 600


def wait_for(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not reached():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "hangs"
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pretrain.mlm", ["run.precision=bf16", "optim.name=sgd", "model.visual=null"]),
        (
            "pretrain.moco",
            ["queue=32", "model.visual=null", "run.batch_size=8", "run.accumulate=2", "data.workers=1"],
        ),
    ],
)
def test_killed_and_resumed_is_as_if_never_stopped(
    name: str, settings: list[str], train: Callable[..., Any], start: Callable[..., Any], tmp_path: Path
) -> None:
    """The log is every 5 steps and the checkpoint every 3, so that neither hides behind the other."""
    steps = ["run.epochs=4", "run.max_steps=14", "run.log_every=5", "run.save_every=3", "run.eval_every=7"]
    settings = [*settings, *steps]
    folder = tmp_path / "killed" / "checkpoints"
    process = start(name, *settings, out="killed")
    wait_for(process, lambda: (folder / "step-00000003.pt").exists())
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert int(checkpoints(folder)[-1].stem.removeprefix("step-")) < 14
    uninterrupted = train(name, *settings, out="whole")
    resumed = train(name, *settings, "run.resume=true", out="killed")
    assert resumed.same_weights(uninterrupted)
    assert resumed.learning == uninterrupted.learning
    assert len(checkpoints(folder)) == 2


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("finetune.similar", ["chunk=6", "objective=pair", "run.batch_size=8", "run.accumulate=2"]),
        ("pretrain.disenqnet", ["critic_steps=2"]),
    ],
)
def test_resumed_in_a_later_epoch(name: str, settings: list[str], train: Callable[..., Any], tmp_path: Path) -> None:
    """What the runs of `test_golden` leave out: several epochs and evaluations, micro-batches, other precisions."""
    steps = ["run.epochs=4", "run.max_steps=7", "run.log_every=4", "run.save_every=6", "run.eval_every=3"]
    settings = [*settings, *steps]
    uninterrupted = train(name, *settings, out="whole")
    assert uninterrupted.killed(tmp_path / "killed").state["step"] == 6
    resumed = train(name, *settings, "run.resume=true", out="killed")
    assert resumed.same_weights(uninterrupted)
    assert resumed.learning == uninterrupted.learning


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_all_processes_saves_and_ends(
    number: signal.Signals, code: int, start: Callable[..., Any], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    settings = ["run.max_steps=3000", "run.epochs=1000", "run.log_every=1", "data.workers=1", "model.visual=null"]
    process = start("pretrain.mlm", *settings)
    wait_for(process, lambda: (out / "metrics.jsonl").exists() and (out / "metrics.jsonl").stat().st_size > 0)
    os.killpg(process.pid, number)  # with the worker, as a terminal, timeout and batch systems do
    _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    assert "run.resume=true" in errors
    (saved,) = checkpoints(out / "checkpoints")
    assert int(saved.stem.removeprefix("step-")) < 3000


def test_evaluation_disturbs_nothing(train: Callable[..., Any]) -> None:
    """Neither the weights nor the logged means know how often the model is evaluated."""
    settings = [
        "queue=32",
        "model.visual=null",
        "run.epochs=2",
        "run.max_steps=4",
        "run.log_every=3",
    ]
    often = train("pretrain.moco", *settings, "run.eval_every=1", out="often")
    seldom = train("pretrain.moco", *settings, "run.eval_every=4", out="seldom")
    assert often.same_weights(seldom)
    assert often.losses == seldom.losses


@pytest.mark.slow
def test_an_error_in_a_worker_ends_the_run(start: Callable[..., Any], tmp_path: Path) -> None:
    """Workers ignore SIGTERM, by which Python would end those that are left, and then wait for them."""
    records = [{"id": str(i), "stem": f"Find $x$ in figure {i}.", "images": ["cut.png"]} for i in range(64)]
    (tmp_path / "bank.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    (tmp_path / "cut.png").write_bytes(b"no figure")
    settings = ["queue=16", "bn_splits=1", "data.workers=2", "data.verify_images=false"]
    process = start("pretrain.moco", *settings, f"data.bank={tmp_path / 'bank.jsonl'}")
    _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 2  # as without workers
    assert errors.splitlines()[-1] == f"error: {tmp_path / 'cut.png'}: corrupt image"


def test_bf16_loses_as_fp32_does(train: Callable[..., Any]) -> None:
    settings = ["run.max_steps=3", "run.log_every=1", "model.dropout=0"]
    exact = train("pretrain.multitask", *settings, "run.precision=fp32", out="fp32").losses
    rounded = train("pretrain.multitask", *settings, "run.precision=bf16", out="bf16").losses
    assert rounded == pytest.approx(exact, rel=0.02)
    assert rounded != exact


def test_one_chunk_changes_nothing(train: Callable[..., Any]) -> None:
    """Encoded twice, with the same dropout, autocast and batch norm: the weights and statistics are as if once."""
    settings = ["objective=pair", "concept_weight=0.5", "run.precision=bf16"]
    settings += ["run.batch_size=8", "run.accumulate=2", "run.max_steps=2"]
    once = train("finetune.similar", *settings, out="once")
    assert once.same_weights(train("finetune.similar", *settings, "chunk=8", out="twice"))


def test_an_earlier_run_is_neither_overwritten_nor_gone_on_with_as_another(train: Callable[..., Any]) -> None:
    """Everything that the weights depend on must agree; where the run writes and how often it saves need not."""
    settings = ["run.max_steps=4", "run.save_every=2", "model.visual=null"]
    run = train("pretrain.mlm", *settings)
    stale = run.out / "checkpoints" / ".step-00000003.pt.77.tmp"
    stale.write_bytes(b"half a checkpoint")
    before = {path: path.read_bytes() for path in run.out.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match=r"run\.resume=true"):
        train("pretrain.mlm", *settings)
    with pytest.raises(ConfigError) as caught:
        train("pretrain.mlm", *settings, "run.resume=true", "run.seed=7", "optim.lr=0.5", "run.keep=3", "mask=0.2")
    message = str(caught.value)
    assert "mask: 0.15 before, 0.2 now; optim.lr: 0.001 before, 0.5 now; run.seed: 0 before, 7 now" in message
    assert "keep" not in message
    with pytest.raises(ConfigError, match=r"fingerprint of data\.bank: '\w{16}' before, '\w{16}' now"):
        train("pretrain.mlm", *settings, "run.resume=true", "data.transductive=true")
    assert {path: path.read_bytes() for path in run.out.rglob("*") if path.is_file()} == before

    (run.out / "checkpoints" / "step-00000004.pt").unlink()
    train("pretrain.mlm", *settings, "run.save_every=1", "run.log_every=1", "run.keep=3", "run.resume=true")
    assert run.state["step"] == 4
    assert not stale.exists()
