"""What a run leaves behind and goes on from: checkpoints, provenance, its log; and how it stops."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from tqnet.config import ConfigError
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank
from tqnet.training.checkpoint import _write, checkpoints, load_checkpoint, save_checkpoint, sweep
from tqnet.training.config import DataConfig
from tqnet.training.logging import MetricsLog
from tqnet.training.processes import Interrupted, Signals
from tqnet.training.provenance import Provenance


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


@dataclass
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    temperature: float = 0.1


def provenance(bank: QuestionBank, start: Path) -> Provenance:
    return Provenance(Config(model=ModelConfig(start=str(start))), bank)


@pytest.fixture
def start(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_setting_that_is_new_was_at_its_default(tiny_bank: QuestionBank, start: Path) -> None:
    now = provenance(tiny_bank, start)
    before = {name: value for name, value in now.identity.items() if name != "temperature"}
    now.check(before, "here")
    with pytest.raises(ConfigError, match=r"temperature: 0\.1 before, 0\.2 now"):
        Provenance(Config(model=now.config.model, temperature=0.2), tiny_bank).check(before, "here")


def test_a_run_of_before_goes_on_whatever_the_defaults_of_its_models_are(tiny_bank: QuestionBank, start: Path) -> None:
    started = provenance(tiny_bank, start)
    started.check({**started.identity, "model.text": "minilm", "model.max_length": 64}, "here")
    new = Provenance(Config(model=ModelConfig(text="minilm", pooling="tokens")), tiny_bank)
    new.check({**new.identity, "model.text": None, "model.pooling": None}, "here")
    with pytest.raises(ConfigError, match=r"model\.text: 'me5' before, 'minilm' now"):
        new.check({**new.identity, "model.text": "me5"}, "here")


def test_what_a_run_starts_from_is_known_by_its_content(tiny_bank: QuestionBank, start: Path) -> None:
    before = provenance(tiny_bank, start).identity
    (start / "README.md").write_text("says nothing that a run depends on")
    moved = start.rename(start.with_name("moved"))
    provenance(tiny_bank, moved).check(before, "here")
    (moved / "model.safetensors").write_bytes(b"trained anew")
    with pytest.raises(ConfigError, match=r"model\.start: '\w{16}' before, '\w{16}' now"):
        provenance(tiny_bank, moved).check(before, "here")


def test_several_files_are_known_by_their_content(tiny_bank: QuestionBank, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.csv", "two.csv")]
    for file in files:
        file.write_text("original,paraphrase\n")
    config = Config(data=DataConfig(bank="bank", held_out=list(map(str, files))))
    before = Provenance(config, tiny_bank).identity
    config.data.held_out = [str(file.rename(file.with_suffix(".moved.csv"))) for file in files]
    Provenance(config, tiny_bank).check(before, "here")
    files[1].with_suffix(".moved.csv").write_text("original,paraphrase,label\n")
    with pytest.raises(ConfigError, match=r"data\.held_out: \['\w{16}', '\w{16}'\] before"):
        Provenance(config, tiny_bank).check(before, "here")
    config.data.held_out = ["missing.csv"]
    with pytest.raises(FileNotFoundError, match=r"^data\.held_out: missing\.csv: no such file"):
        Provenance(config, tiny_bank).check(before, "here")


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


class Hostile:
    """Runs code when it is unpickled."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


def test_a_checkpoint_runs_no_code(tmp_path: Path, accelerator: Accelerator) -> None:
    torch.save({"trained": {}, "generators": Hostile(tmp_path / "run")}, tmp_path / "step-00000001.pt")
    with pytest.raises(ConfigError, match=r"step-00000001\.pt: holds more than tensors and plain values"):
        load_checkpoint(tmp_path, accelerator)
    assert not (tmp_path / "run").exists()


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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_twice_a_run_ends_at_once(number: signal.Signals, code: int) -> None:
    before = signal.getsignal(number)
    with Signals() as signals:
        signal.raise_signal(number)
        assert signals.number == number
        assert signals.exit_code == code
        with pytest.raises(Interrupted) as caught:
            signal.raise_signal(number)
    assert caught.value.code == code
    assert signal.getsignal(number) == before
