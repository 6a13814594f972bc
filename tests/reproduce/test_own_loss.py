"""The example of a loss of one's own: its loss, its recipe, its table."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from torch import Tensor

from examples.own_loss.circle import circle_loss
from tests.losses.conftest import relation, unit
from tests.recipes.conftest import ROOT, TINY, Run, run_recipe

FOLDER = ROOT / "examples/own_loss"


def read_out_loud(features: Tensor, similar: Tensor, m: float, g: float) -> float:
    losses = []
    for s in range(len(features)):
        cosines = {o: float(features[s] @ features[o]) for o in range(len(features)) if o != s}
        pulled = [math.exp(-g * max(0, 1 + m - c) * (c - 1 + m)) for o, c in cosines.items() if similar[s, o]]
        pushed = [math.exp(g * max(0, c + m) * (c - m)) for o, c in cosines.items() if not similar[s, o]]
        if pulled:
            losses.append(math.log(1 + sum(pulled) * sum(pushed)))
    return float(np.mean(losses)) if losses else 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_loss(seed: int) -> None:
    features, similar = unit(6, 4, seed=seed), relation(6, (0, 1), (0, 2), (1, 2), (4, 5))
    expected = read_out_loud(features, similar, 0.25, 8)
    assert circle_loss(features, similar, 0.25, 8).item() == pytest.approx(expected, rel=1e-6)
    assert not circle_loss(features, torch.zeros_like(similar), 0.25, 8)


def test_the_recipe(small_bank: Path, tmp_path: Path) -> None:
    run_recipe("examples.own_loss.circle", f"data.bank={small_bank}", f"run.out={tmp_path}", "run.max_steps=2")
    run = Run(tmp_path)
    assert run.model.encode(["Find $x$."]).shape == (1, 48)
    assert all(math.isfinite(loss) for loss in run.losses)


@pytest.mark.slow
def test_the_table(small_bank: Path, tmp_path: Path) -> None:
    suite = yaml.safe_load((FOLDER / "table.yaml").read_text(encoding="utf-8"))
    model = dict(setting.removeprefix("model.").split("=") for setting in TINY if setting.startswith("model."))
    suite |= {"model": {name: yaml.safe_load(value) for name, value in model.items()}}
    suite |= {"questions": {"circle": 128, "scl": 128}}
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
    command = [sys.executable, "-m", "reproduce.bench", "--suite", str(tmp_path / "table.yaml"), "--recipes", str(ROOT)]
    command += ["--bank", str(small_bank), "--out", str(tmp_path), "--num-processes", "2"]
    subprocess.run(command, check=True, cwd=ROOT)
    rows = json.loads((tmp_path / "table" / "results.json").read_text(encoding="utf-8"))["rows"]
    assert list(rows) == ["TF-IDF", "circle loss", "supervised contrast"]
    facts = [json.loads(file.read_text(encoding="utf-8")) for file in (tmp_path / "trainings").glob("*/run.json")]
    assert [fact["processes"] for fact in facts] == [2, 2]
