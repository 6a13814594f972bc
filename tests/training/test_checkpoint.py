import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from tqnet.config import ConfigError
from tqnet.training.checkpoint import _write, checkpoints, load_checkpoint, replace_folder, save_checkpoint, sweep


@pytest.fixture
def accelerator() -> Iterator[Accelerator]:
    AcceleratorState._reset_state(reset_partial_state=True)
    yield Accelerator(cpu=True)
    AcceleratorState._reset_state(reset_partial_state=True)


def test_the_last_ones_are_kept(tmp_path: Path, accelerator: Accelerator) -> None:
    assert load_checkpoint(tmp_path, accelerator) is None
    for step in (5, 10, 15, 20):
        save_checkpoint(tmp_path, step, {"weights": torch.full((2,), float(step))}, accelerator, keep=2)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000015.pt", "step-00000020.pt"]
    state = load_checkpoint(tmp_path, accelerator)
    assert state is not None
    assert state["weights"].tolist() == [20, 20]
    assert list(state) == ["weights"]


def test_a_failure_leaves_the_old_one(
    tmp_path: Path, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(tmp_path, 1, {"weights": torch.ones(2)}, accelerator, keep=1)

    def full_disk(state: object, path: Path) -> None:
        Path(path).write_bytes(b"half a file")
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full_disk)
        with pytest.raises(OSError, match="no space left"):
            save_checkpoint(tmp_path, 2, {"weights": torch.zeros(2)}, accelerator, keep=1)
    assert os.listdir(tmp_path) == ["step-00000001.pt"]
    with pytest.raises(OSError, match="is the disk full"):
        _write({"weights": torch.zeros(10**6)}, Path("/dev/full"))
    # What a process that was killed leaves behind is no checkpoint either.
    for name in (".step-00000003.pt.77.tmp", "step-00000004.pt.tmp", "step-5.pt", "step-00000006.pth"):
        (tmp_path / name).write_bytes(b"half a file")
    state = load_checkpoint(tmp_path, accelerator)
    assert state is not None
    assert state["weights"].tolist() == [1, 1]
    sweep(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [
        "step-00000001.pt",
        "step-00000004.pt.tmp",
        "step-00000006.pth",
        "step-5.pt",
    ]


def test_a_checkpoint_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def seen_sync(number: int) -> None:
        done.append(os.readlink(f"/proc/self/fd/{number}"))
        sync(number)

    def seen_replace(old: Path, new: Path) -> None:
        done.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", seen_sync)
    monkeypatch.setattr(os, "replace", seen_replace)
    save_checkpoint(tmp_path, 1, {}, accelerator, keep=1)
    assert done == [str(tmp_path / f".step-00000001.pt.{os.getpid()}.tmp"), "rename", str(tmp_path)]


def test_generators_go_on_where_they_were(tmp_path: Path, accelerator: Accelerator) -> None:
    def draw() -> list[float]:
        return [random.random(), float(np.random.rand()), float(torch.rand(()))]

    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(3)
    draw()
    save_checkpoint(tmp_path, 1, {}, accelerator, keep=1)
    expected = draw()
    draw()
    load_checkpoint(tmp_path, accelerator)
    assert draw() == expected


def test_another_number_of_processes(tmp_path: Path, accelerator: Accelerator) -> None:
    save_checkpoint(tmp_path, 1, {}, accelerator, keep=1)
    state = torch.load(tmp_path / "step-00000001.pt", weights_only=False)
    torch.save({"generators": state["generators"] * 2}, tmp_path / "step-00000002.pt")
    with pytest.raises(ConfigError, match="written by 2 processes, resumed by 1"):
        load_checkpoint(tmp_path, accelerator)


@pytest.mark.parametrize("before", [True, False])
def test_replace_folder(before: bool, tmp_path: Path) -> None:
    final, temporary = tmp_path / "model", tmp_path / ".model.tmp"
    if before:
        final.mkdir()
        (final / "old").touch()
    temporary.mkdir()
    (temporary / "new").touch()
    replace_folder(temporary, final)
    assert os.listdir(tmp_path) == ["model"]
    assert os.listdir(final) == ["new"]
