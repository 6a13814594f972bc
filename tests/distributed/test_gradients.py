"""Two processes compute what one does on the joined batch: gradients, queues, decisions."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

HELPERS = Path(__file__).parent / "helpers.py"
Results = dict[str, dict[str, Any]]


@pytest.fixture
def together(
    launch: Callable[..., subprocess.Popen[str]],
    finish: Callable[[subprocess.Popen[str]], str],
    model_folder: str,
    tmp_path: Path,
) -> list[Results]:
    """What both processes measured."""
    finish(launch(str(HELPERS), model_folder, str(tmp_path)))
    return [torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2)]


@pytest.fixture
def alone(model_folder: str) -> Results:
    """What one process measures."""
    spec = importlib.util.spec_from_file_location("distributed_helpers", HELPERS)
    assert spec is not None
    assert spec.loader is not None
    helpers = sys.modules["distributed_helpers"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(helpers)
    return helpers.measure(model_folder)


def test_two_processes_compute_what_one_does(together: list[Results], alone: Results) -> None:
    first, second = together
    assert first.keys() == second.keys() == alone.keys()
    assert first["flags"]["any"].tolist() == second["flags"]["any"].tolist() == [True, False]
    for case in alone.keys() - {"flags"}:
        expected, found = alone[case].pop("gradients"), first[case].pop("gradients")
        largest = max(float(gradient.abs().max()) for gradient in expected.values())
        assert largest > 1e-3, case
        for name, gradient in expected.items():
            message = f"{case}: {name}"
            assert torch.equal(found[name], second[case]["gradients"][name]), message
            # Sums of two halves round otherwise than one sum: compared on the scale of the largest.
            assert (found[name] - gradient).abs().max() < 2e-5 * largest, message
        for name, value in alone[case].items():
            message = f"{case}: {name}"
            assert torch.equal(first[case][name], second[case][name]), message
            torch.testing.assert_close(first[case][name], value, rtol=1e-4, atol=1e-5, msg=message)
