"""Two processes for real, and never waiting for them for ever."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from accelerate.state import AcceleratorState

from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank

ROOT = Path(__file__).parents[2]
TIMEOUT = 300


class Group:
    """Two processes of ``tests.distributed.group``, started with the first task and again after one that failed.

    Args:
        folder: Where tasks and answers lie.
    """

    def __init__(self, folder: Path):
        self._folder, self._number = folder, 0
        self._process: subprocess.Popen[str] | None = None

    def run(self, function: str, *arguments: str) -> None:
        """Run a function of ``tests.distributed.group`` in both processes; fail if one raises, ends or hangs."""
        if self._process is None:
            self._folder.mkdir()
            torchrun = ["torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
            command = [sys.executable, "-m", *torchrun, "-m", "tests.distributed.group", str(self._folder)]
            with (self._folder / "log").open("w") as log:
                self._process = subprocess.Popen(
                    command, cwd=ROOT, env=_environment(), stdout=log, stderr=log, text=True
                )
        half, task = (self._folder / f"{self._number}{suffix}" for suffix in (".part", ".json"))
        half.write_text(json.dumps([function, arguments]))
        half.rename(task)
        answers = [self._folder / f"{self._number}.{rank}" for rank in range(2)]
        deadline = time.monotonic() + TIMEOUT
        while not all(answer.exists() for answer in answers):
            if self._process.poll() is not None or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        self._number += 1
        errors = [answer.read_text() if answer.exists() else "hangs, or ended" for answer in answers]
        if any(errors):
            log = (self._folder / "log").read_text()[-3000:]
            self.stop()
            pytest.fail("\n".join([*errors, log]))

    def stop(self) -> None:
        if self._process is not None:
            kill_tree(self._process)
            shutil.rmtree(self._folder)
            self._process, self._number = None, 0


@pytest.fixture(scope="session")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    """The two processes that all tests share."""
    group = Group(tmp_path_factory.mktemp("group") / "tasks")
    yield group
    group.stop()


@pytest.fixture
def launch() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a module of Python; whatever still runs at the end of a test is killed."""
    started = []

    def launch(module: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", module, *arguments]
        process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        return process

    yield launch
    for process in started:
        kill_tree(process)


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


def _environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(ROOT)}


@pytest.fixture(autouse=True)
def _fresh_state() -> Iterator[None]:
    """accelerate keeps its first settings for the life of a process."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model whose batch norm stands still, so that a gradient is that of the joined batch."""
    folder = tmp_path_factory.mktemp("model")
    text = {"text": "scratch", "scratch_hidden": 48, "scratch_layers": 1, "scratch_vocab": 1200, "fusion_heads": 12}
    visual = {"visual": "test_resnet", "visual_norm": "frozen", "image_size": 64}
    bank = QuestionBank.load(ROOT / "assets" / "sample")
    model, _ = build_model(ModelConfig(**text, **visual), (question.content for question in bank))
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
