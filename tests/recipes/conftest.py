"""Running recipes for real, with a tiny model on a small bank."""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from accelerate.state import AcceleratorState
from filelock import FileLock

from tests.conftest import SAMPLE
from tqnet.config import load_config
from tqnet.modeling.build import load_model
from tqnet.modeling.model import TQNetModel
from tqnet.training import loop
from tqnet.training.checkpoint import checkpoints
from tqnet.training.config import RecipeConfig
from tqnet.training.optim import complete_gradients

ROOT = Path(__file__).parents[2]

TINY = [
    "model.text=scratch",
    "model.scratch_hidden=48",
    "model.scratch_layers=1",
    "model.fusion_heads=12",
    "model.visual=test_resnet",
    "model.image_size=64",
    "run.batch_size=16",
    "run.precision=fp32",
    "run.threads=1",
]

#: The sample bank, in place of the small one.
WHOLE_SAMPLE = f"data.bank={SAMPLE}"

#: Recipe and settings -> losses at steps 2 and 4. They change with what a recipe draws, hardly with a library.
GOLDEN = {
    ("pretrain.mlm",): [7.464, 7.410],
    ("pretrain.autoencoder", "target=32"): [2.927, 3.031],
    ("pretrain.moco", "queue=64", "bn_splits=1"): [4.032, 4.101],
    ("pretrain.moco", "queue=64", "bn_splits=1", "mode=seq"): [5.159, 5.688],
    ("pretrain.quesco", "queue=64", "bn_splits=1"): [2.514, 3.047],
    ("pretrain.consert",): [3.201, 3.195],
    ("pretrain.disenqnet",): [6.209, 6.305],
    ("pretrain.clip",): [2.783, 2.756],
    ("pretrain.multitask",): [14.594, 14.366],
    ("pretrain.quesnet", "stage=embedding", "target=32"): [6.106, 6.224],
    ("pretrain.quesnet", "stage=holes", "target=32"): [9.362, 9.432],
    ("finetune.similar", "concept_weight=0.5"): [3.848, 3.562],
    ("finetune.similar", "objective=pair"): [0.661, 0.627],
    ("finetune.similar", "frozen=true", "model.visual=null"): [2.255, 2.349],
    ("finetune.knowledge",): [3.704, 3.765],
    ("finetune.pairs",): [1.361, 1.381],
    ("finetune.pairs", "frozen=false"): [1.354, 1.384],
}


@dataclass
class Run:
    """The folder of a run, and its contents."""

    out: Path

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "metrics.jsonl").read_text().splitlines()]

    @property
    def learning(self) -> list[dict[str, Any]]:
        """The records without the figures that change from run to run."""
        machine = {"questions_per_second", "loader_share", "peak_memory_mib"}
        return [{name: record[name] for name in record.keys() - machine} for record in self.records]

    @property
    def losses(self) -> list[float]:
        return [record["loss"] for record in self.records if "loss" in record]

    @property
    def state(self) -> dict[str, Any]:
        return torch.load(checkpoints(self.out / "checkpoints")[-1], weights_only=False)

    @property
    def model(self) -> TQNetModel:
        return load_model(self.out / "model")

    def same_weights(self, other: Run) -> bool:
        """Return whether the last trained weights, and all other state, are equal to the bit."""
        mine, theirs = self.state, other.state
        return _equal(mine["trained"], theirs["trained"]) and _equal(mine["state"], theirs["state"])

    def killed(self, folder: Path) -> Run:
        """Copy to ``folder`` what a process leaves that is killed after the last checkpoint but one."""
        shutil.copytree(self.out, folder)
        checkpoints(folder / "checkpoints")[-1].unlink()
        with (folder / "metrics.jsonl").open("a") as stream:
            stream.write('{"step": ')  # it died while it wrote
        return Run(folder)


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_equal(value, second[name]) for name, value in first.items())
    return torch.equal(first, second) if isinstance(first, torch.Tensor) else bool(first == second)


def run_recipe(name: str, *settings: str) -> None:
    """Run a recipe's ``main`` in this process; a model that is started from keeps its own shape."""
    module = importlib.import_module(name)
    started = any(setting.startswith("model.start=") for setting in settings)
    tiny = [setting for setting in TINY if not (started and setting.startswith("model."))]
    AcceleratorState._reset_state(reset_partial_state=True)
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, RecipeConfig)]
    (config,) = {*kinds} - {RecipeConfig}
    module.main(load_config(config, [], [*tiny, *settings]))


@contextmanager
def every_weight_learns() -> Iterator[None]:
    """Fail if no step reaches a trainable weight: it would decay unused, and DDP would wait for its gradient."""
    trainable, reached = set[str](), set[str]()

    def recorded(module: torch.nn.Module) -> None:
        weights = {name: weight for name, weight in module.named_parameters() if weight.requires_grad}
        trainable.update(weights)
        reached.update(name for name, weight in weights.items() if weight.grad is not None)
        complete_gradients(module)

    with mock.patch.object(loop, "complete_gradients", recorded):
        yield
    assert reached == trainable


@pytest.fixture(autouse=True)
def _clean_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that a recipe sets for its process stays set."""
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    threads = torch.get_num_threads()
    yield
    AcceleratorState._reset_state(reset_partial_state=True)
    torch.set_num_threads(threads)
    logging.disable(logging.NOTSET)


@pytest.fixture
def train(tmp_path: Path, small_bank: Path) -> Callable[..., Run]:
    """Run a recipe with settings, in a folder of its own."""

    def train(name: str, *settings: str, out: str = "run") -> Run:
        folder = tmp_path / out
        run_recipe(name, f"data.bank={small_bank}", f"run.out={folder}", *settings)
        return Run(folder)

    return train


@pytest.fixture
def golden(shared_folder: Path) -> Callable[..., Run]:
    """Return the run of a recipe of `GOLDEN`: four steps on the sample bank, made once for all; do not change it.

    A checkpoint is written after step 3, between two lines of the log.
    """

    def golden(name: str, *settings: str) -> Run:
        folder = shared_folder / f"golden-{hashlib.blake2b(repr((name, settings)).encode(), digest_size=8).hexdigest()}"
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                with every_weight_learns():
                    run_recipe(name, *golden_settings(*settings), f"run.out={folder}.part/{name.rpartition('.')[2]}")
                Path(f"{folder}.part").rename(folder)
        return Run(folder / name.rpartition(".")[2])

    return golden


def golden_settings(*settings: str) -> list[str]:
    steps = ["run.max_steps=4", "run.log_every=2", "run.save_every=3", "optim.lr=1e-3", "optim.text_lr=1e-3"]
    return [WHOLE_SAMPLE, "model.scratch_layers=2", *settings, *steps]


@pytest.fixture
def start(tmp_path: Path, small_bank: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a recipe as a process of its own."""
    started = []

    def start(name: str, *settings: str, out: str = "run") -> subprocess.Popen[str]:
        given = [*TINY, f"data.bank={small_bank}", f"run.out={tmp_path / out}", *settings]
        process = subprocess.Popen(
            [sys.executable, name.replace(".", "/") + ".py", *given],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a process group that a test may signal without ending itself
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
