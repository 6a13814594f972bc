import json
import os
from pathlib import Path
from typing import Any

import pytest

from tqnet.training.logging import MetricsLog


def steps(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def write(folder: Path, resumed: int | None, *numbers: int, project: str | None = None) -> MetricsLog:
    log = MetricsLog(folder, resumed, project, {"seed": 0})
    for number in numbers:
        log.write({"step": number, "loss": 0.5})
    return log


def test_a_resumed_run_drops_what_comes_again(tmp_path: Path) -> None:
    write(tmp_path, None, 10, 20, 30)
    assert steps(tmp_path) == [10, 20, 30]
    write(tmp_path, 20, 30, 40)
    assert steps(tmp_path) == [10, 20, 30, 40]
    with (tmp_path / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 5')  # killed while it wrote
    write(tmp_path, 35, 36)
    assert steps(tmp_path) == [10, 20, 30, 36]
    write(tmp_path, None, 1)
    assert steps(tmp_path) == [1]
    assert os.listdir(tmp_path) == ["metrics.jsonl"]


def test_resumed_without_a_log(tmp_path: Path) -> None:
    write(tmp_path, 7, 8)
    assert steps(tmp_path) == [8]


@pytest.mark.slow
def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An offline run of its own folder, in which the run goes on when it is resumed."""
    wandb: Any = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    ids = []
    for resumed in (None, 2):
        log = write(tmp_path, resumed, 1 if resumed is None else 3, project="tqnet-test")
        ids.append(log.run.id if log.run else None)
        log.close()
    assert wandb.run is None
    assert ids[0] == ids[1] is not None
    folders = list((tmp_path / "wandb").glob("offline-run-*"))
    assert folders
    assert all(list(folder.glob("*.wandb")) for folder in folders)
    assert steps(tmp_path) == [1, 3]
