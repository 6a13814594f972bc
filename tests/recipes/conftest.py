"""Running recipes for real, with a tiny model on the sample bank."""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState

from tqnet.config import load_config
from tqnet.modeling.build import load_model
from tqnet.modeling.model import TQNetModel
from tqnet.training.checkpoint import checkpoints

ROOT = Path(__file__).parents[2]

CONFIGS = {
    "pretrain.mlm": "MLMConfig",
    "pretrain.autoencoder": "AutoencoderConfig",
    "pretrain.moco": "MoCoConfig",
    "pretrain.quesco": "QuesCoConfig",
    "pretrain.clip": "CLIPConfig",
    "pretrain.consert": "ConSERTConfig",
    "pretrain.disenqnet": "DisenQNetConfig",
    "pretrain.multitask": "MultiTaskConfig",
    "pretrain.quesnet": "QuesNetPretrainingConfig",
    "pretrain.rewriter": "RewriterConfig",
    "finetune.similar": "SimilarConfig",
    "finetune.knowledge": "KnowledgeConfig",
    "finetune.ranker": "RankerConfig",
    "finetune.pairs": "PairsConfig",
    "finetune.paraphrase": "ParaphraseConfig",
}

TINY = [
    "model.text=scratch",
    "model.scratch_hidden=48",
    "model.scratch_layers=2",
    "model.fusion_heads=12",
    "model.visual=resnet10t",
    "model.image_size=64",
    "run.batch_size=16",
    "run.precision=fp32",
    "run.threads=1",
]


@dataclass
class Run:
    """The folder of a run, and what is in it."""

    out: Path

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "metrics.jsonl").read_text().splitlines()]

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
        """Whether the last trained weights, and all other state, are equal to the bit."""
        mine, theirs = self.state, other.state
        return _equal(mine["trained"], theirs["trained"]) and _equal(mine["state"], theirs["state"])


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_equal(value, second[name]) for name, value in first.items())
    return torch.equal(first, second) if isinstance(first, torch.Tensor) else bool(first == second)


@pytest.fixture(autouse=True)
def _clean_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of its own, and nothing that a recipe sets for its process stays set."""
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    threads = torch.get_num_threads()
    yield
    AcceleratorState._reset_state(reset_partial_state=True)
    torch.set_num_threads(threads)
    logging.disable(logging.NOTSET)


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Run]:
    """Runs a recipe's ``main`` with settings, in this process."""

    def train(name: str, *settings: str, out: str = "run") -> Run:
        module = importlib.import_module(name)
        folder = tmp_path / out
        # A model that is started from brings its own shape.
        started = any(setting.startswith("model.start=") for setting in settings)
        tiny = [setting for setting in TINY if not (started and setting.startswith("model."))]
        given = [*tiny, f"data.bank={ROOT / 'assets' / 'sample'}", f"run.out={folder}", *settings]
        AcceleratorState._reset_state(reset_partial_state=True)
        module.main(load_config(getattr(module, CONFIGS[name]), [], given))
        return Run(folder)

    return train


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a recipe as a process of its own."""
    started = []

    def start(name: str, *settings: str, out: str = "run") -> subprocess.Popen[str]:
        given = [*TINY, f"data.bank={ROOT / 'assets' / 'sample'}", f"run.out={tmp_path / out}", *settings]
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
