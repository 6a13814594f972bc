"""Operations of a step, counted and clocked."""

from __future__ import annotations

import time
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from tests.bench import mfu
from tqnet.training.config import RecipeConfig, RunConfig

BATCH, INPUTS, OUTPUTS = 16, 64, 32


def recipe_of(steps: int) -> ModuleType:
    """Steps of a linear layer."""

    def main(config: RecipeConfig) -> None:
        layer = nn.Linear(INPUTS, OUTPUTS)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            layer(torch.ones(BATCH, INPUTS)).sum().backward()
            optimizer.step()

    recipe = ModuleType("linear")
    recipe.__dict__["main"] = main
    return recipe


def test_operations_are_those_of_forward_and_backward(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seconds = iter(range(0, 100, 2))
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    config = RecipeConfig(run=RunConfig(out=str(tmp_path), precision="fp32"))
    found = mfu.utilisation(recipe_of(4), config, peak=1e-6)
    operations = 2 * (2 * BATCH * INPUTS * OUTPUTS)  # forwards, and the gradient of the weights
    assert found["tflop_per_step"] == pytest.approx(operations / 1e12, rel=1e-3)
    assert found["seconds_per_step"] == 2
    assert found["mfu"] == pytest.approx(operations / 2 / 1e6, rel=1e-3)


def test_without_a_data_sheet_the_peak_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mfu, "SIDE", 64)
    peak, by = mfu._peak("fp32")
    assert peak > 0
    assert by == "a product of two fp32 matrices of side 64"
