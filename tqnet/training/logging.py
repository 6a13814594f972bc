"""Log a run's metrics to metrics.jsonl and optionally wandb; measure throughput."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from tqnet.files import atomic

T = TypeVar("T")


class MetricsLog:
    """Appends records to ``metrics.jsonl``; on resume, drops records after the resumed step first.

    wandb resumes the run in ``wandb-id.txt``.
    """

    def __init__(self, folder: Path, resumed_step: int | None, project: str | None, config: dict[str, Any]):
        self.path = folder / "metrics.jsonl"
        kept = []
        if resumed_step is not None and self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
            whole = (line for line in lines if line.endswith("\n"))
            kept = [line for line in whole if json.loads(line)["step"] <= resumed_step]
        with atomic(self.path) as temporary:
            temporary.write_text("".join(kept), encoding="utf-8")
        self.run = None
        if project:
            import wandb

            file = folder / "wandb-id.txt"
            known = file.read_text() if resumed_step is not None and file.exists() else None
            self.run = wandb.init(project=project, dir=folder, config=config, id=known, resume="allow")
            file.write_text(self.run.id)

    def write(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
        if self.run is not None:
            self.run.log(record, step=record["step"])

    def close(self) -> None:
        if self.run is not None:
            self.run.finish()


def peak_memory(device: torch.device) -> float:
    """Return this process's peak memory in MiB: of CUDA on a CUDA device, else resident memory."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


class Pace:
    """Means of metrics, and times, since the last record.

    Attributes:
        sums: Metric -> (sum, count) since the last record; part of a checkpoint.
    """

    def __init__(self, questions_per_step: int):
        self.questions_per_step = questions_per_step
        self.sums: dict[str, tuple[float, int]] = {}
        self._on_device: list[tuple[str, Tensor]] = []
        self.restart(0)

    def restart(self, step: int) -> None:
        """Start the clock at ``step``."""
        self._begun, self._step, self._waited = time.perf_counter(), step, 0.0

    def add(self, values: Mapping[str, float | Tensor]) -> None:
        """Add values; scalars of a device are read by :meth:`pool`, since reading one waits for the device."""
        for name, value in values.items():
            if isinstance(value, Tensor):
                self._on_device.append((name, value.detach()))
            else:
                self._add(name, value, 1)

    def _add(self, name: str, total: float, count: int) -> None:
        before, counted = self.sums.get(name, (0.0, 0))
        self.sums[name] = (before + total, counted + count)

    def pool(self, accelerator: Accelerator) -> None:
        """Read the sums and gather them on the main process; metrics of figures may be missing on some processes."""
        if self._on_device:
            names, values = zip(*self._on_device, strict=True)
            together = torch.stack([value.float().to(accelerator.device) for value in values])
            for name, value in zip(names, together.tolist(), strict=True):
                self._add(name, value, 1)
            self._on_device = []
        if accelerator.num_processes > 1:
            gathered, self.sums = gather_object([self.sums]), {}
            for sums in gathered if accelerator.is_main_process else ():
                for name, (total, count) in sums.items():
                    self._add(name, total, count)

    def wait(self, load: Callable[[], T]) -> T:
        """Run ``load`` and count its time as waiting for data."""
        begun = time.perf_counter()
        loaded = load()
        self._waited += time.perf_counter() - begun
        return loaded

    def pause(self, work: Callable[[], None]) -> None:
        """Run ``work`` off the clock."""
        begun = time.perf_counter()
        work()
        self._begun += time.perf_counter() - begun

    def record(self, step: int, rate: float) -> dict[str, float]:
        """Return the record of ``step`` with learning rate ``rate``, and reset."""
        seconds = time.perf_counter() - self._begun
        record = {
            "questions": step * self.questions_per_step,
            **{name: total / count for name, (total, count) in self.sums.items()},
            "lr": rate,
            "questions_per_second": (step - self._step) * self.questions_per_step / seconds,
            "loader_share": self._waited / seconds,
        }
        self.sums = {}
        self.restart(step)
        return {"step": step} | {name: round(v, 6) if isinstance(v, float) else v for name, v in record.items()}
