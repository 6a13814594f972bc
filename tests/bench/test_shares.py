"""The clock around a recipe: all of its time is divided."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.recipes.conftest import ROOT, TINY


def clock(recipe: str, *settings: str) -> subprocess.CompletedProcess[Any]:
    command = [sys.executable, "-m", "tests.bench.shares", recipe, *TINY, "data.bank=assets/sample", *settings]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_all_time_is_divided(tmp_path: Path) -> None:
    done = clock("pretrain/moco.py", "queue=32", "run.max_steps=4", f"run.out={tmp_path}")
    found = json.loads(done.stdout)
    parts = found["shares_of_time"]
    assert found["steps"] == 3
    assert sum(parts.values()) == pytest.approx(1, abs=0.01)
    assert all(share > 0 for part, share in parts.items() if part != "loss")  # a thousandth may round it away
    assert parts["visual"] > parts["text"]  # a ResNet against two layers of width 48


def test_a_single_step_is_none_to_clock(tmp_path: Path) -> None:
    done = clock("finetune/similar.py", "run.max_steps=1", f"run.out={tmp_path}")
    assert done.returncode == 1
    assert "error: run.max_steps: a single step leaves nothing to clock" in done.stderr
