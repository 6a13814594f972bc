"""Launching two processes for real, and never waiting for them for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from accelerate.state import AcceleratorState

from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank

ROOT = Path(__file__).parents[2]
TIMEOUT = 100
TORCHRUN = ["torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


@pytest.fixture
def launch() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a script on two processes; whatever still runs at the end of a test is killed."""
    started = []

    def launch(*arguments: str, launcher: Sequence[str] = TORCHRUN) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", *launcher, *arguments]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        return process

    yield launch
    for process in started:
        kill_tree(process)


@pytest.fixture(autouse=True)
def _fresh_state() -> Iterator[None]:
    """accelerate keeps its first settings for the life of a process."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model whose batch norm stands still, so that a gradient is that of the joined batch."""
    folder = tmp_path_factory.mktemp("model")
    bank = QuestionBank.load(ROOT / "assets" / "sample")
    shape = ModelConfig(
        text="scratch",
        scratch_hidden=48,
        scratch_layers=2,
        fusion_heads=12,
        visual="resnet10t",
        visual_norm="frozen",
        image_size=64,
    )
    model, _ = build_model(shape, (question.content for question in bank))
    model.save_pretrained(folder)
    return str(folder)


def kill_tree(process: subprocess.Popen[str]) -> None:
    """SIGKILL to a launcher and its workers, which have sessions of their own."""
    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in family:
        member.kill()
    psutil.wait_procs(family, timeout=10)


def wait_until(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    """Waits for something to be true of a running process."""
    deadline = time.monotonic() + TIMEOUT
    while not reached():
        assert process.poll() is None, process.communicate()[0][-3000:]
        assert time.monotonic() < deadline, "hangs"
        time.sleep(0.005)


@pytest.fixture
def finish() -> Callable[[subprocess.Popen[str]], str]:
    """Waits for a launched run to end well and returns what it printed; a hang fails."""

    def finish(process: subprocess.Popen[str]) -> str:
        try:
            output, _ = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            kill_tree(process)
            pytest.fail(f"hangs: {process.communicate()[0][-3000:]}")
        assert process.returncode == 0, output[-3000:]
        return output

    return finish


@pytest.fixture
def kill_when() -> Callable[[subprocess.Popen[str], Callable[[], bool]], None]:
    """Waits for something to be true of a running process and then kills it and its workers."""

    def kill_when(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
        wait_until(process, reached)
        kill_tree(process)

    return kill_when
