"""The clock around a recipe: all of its time is divided."""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.bench.recipe import open_recipe
from tests.bench.shares import PARTS, Stopwatch
from tests.recipes.conftest import ROOT, TINY
from tqnet.config import ConfigError


def test_a_module_is_clocked_forwards_and_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))  # one passes between two looks at the clock
    watch, layer = Stopwatch(), nn.Linear(2, 2)
    watch.watch("text", layer, None)
    for _ in range(2):  # what comes before the end of the first step does not count
        layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
        with torch.no_grad():
            layer(torch.ones(1, 2))
        watch.optimizer_begins()
        watch.optimizer_ends()
    assert watch.steps == 1
    assert watch.seconds == {"text": 2, "keys": 1, "optimizer": 1}
    assert watch.total > sum(watch.seconds.values())


@pytest.mark.slow
def test_all_time_of_a_recipe_is_divided(tmp_path: Path) -> None:
    settings = [*TINY, "data.bank=assets/sample", "queue=32", "run.max_steps=4", f"run.out={tmp_path}"]
    command = [sys.executable, "-m", "tests.bench.shares", "./pretrain/moco.py", *settings]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert found["steps"] == 3
    parts = found["shares_of_time"]
    assert parts.keys() == set(PARTS)
    assert all(0 <= share < 1 for share in parts.values())
    assert sum(parts.values()) == pytest.approx(1, abs=0.01)
    assert all(parts[name] for name in PARTS if name not in ("loss", "other")), parts


def test_a_single_step_is_none_to_clock() -> None:
    settings = ["data.bank=assets/sample", "run.out=out", "run.max_steps=1"]
    with pytest.raises(ConfigError, match=r"run\.max_steps: a single step leaves nothing to clock"):
        open_recipe(argparse.ArgumentParser(), ROOT / "finetune" / "similar.py", settings)
