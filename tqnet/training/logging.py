"""Where a run's numbers go: a line per record in metrics.jsonl, and wandb when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tqnet.files import atomic


class MetricsLog:
    """Appends records to ``metrics.jsonl``; on resume, records after the resumed step are dropped first.

    wandb goes on with the run whose id is in ``wandb-id.txt``.
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


class NoMetrics:
    """What other processes than the first write to."""

    def write(self, record: dict[str, Any]) -> None: ...

    def close(self) -> None: ...
