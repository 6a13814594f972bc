"""Two processes compute what one does on the joined batch: gradients, queues, decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.distributed import helpers
from tests.distributed.conftest import Group


def test_two_processes_compute_what_one_does(group: Group, model_folder: str, tmp_path: Path) -> None:
    group.run("measure", model_folder, str(tmp_path))
    first, second = (torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2))
    alone: dict[str, dict[str, Any]] = helpers.measure(model_folder)
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
