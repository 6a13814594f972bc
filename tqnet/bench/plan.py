"""The trainings that a suite asks for, each once however many rows share it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from tqnet.bench.suite import Row, Settings, Stage, Suite
from tqnet.training.config import RunConfig

#: More passes than any budget asks for: ``run.max_steps`` ends a training.
_EPOCHS = 1_000_000


@dataclass(frozen=True)
class Training:
    """A stage of a row with a seed, after the trainings before it.

    Attributes:
        key: 12 hex digits of all that its weights depend on: settings, seed, bank, and the trainings before it.
        settings: All of the recipe's settings but for the folders of this run and of the one before.
        before: What it goes on from.
    """

    stage: Stage
    key: str
    settings: Settings
    before: Training | None = None

    @property
    def folder(self) -> str:
        return f"{self.stage.name}-{self.key}"

    def configuration(self, root: Path) -> Settings:
        """The recipe's configuration where trainings lie in folders of ``root``."""
        own: Settings = {"run": {"out": str(root / self.folder), "resume": True}}
        if self.before is not None:
            own["model"] = {self.before.stage.gives: str(root / self.before.folder / "model")}
        return _merged(self.settings, own)


def trainings(suite: Suite, row: Row, seed: int, bank: str, fingerprint: str) -> list[Training]:
    """The trainings of a row in order; ``fingerprint`` is that of the questions at ``bank``."""
    chain: list[Training] = []
    for name in row.stages:
        stage, before = suite.stages[name], chain[-1] if chain else None
        settings = _merged(
            {
                "model": _model(suite, row, before),
                "data": suite.data | {"show": _show(stage, row), "similar_level": suite.similar_level},
            },
            stage.settings,
            row.settings.get(name, {}),
        )
        batch = settings.get("run", {}).get("batch_size", RunConfig.batch_size)
        run = {"seed": seed, "epochs": _EPOCHS, "max_steps": max(1, stage.questions // batch)}
        settings = _merged(settings, {"run": run, "data": {"bank": bank}})
        key = _digest(stage.recipe, settings | {"data": settings["data"] | {"bank": fingerprint}}, before)
        chain.append(Training(stage, key, settings, before))
    return chain


def _show(stage: Stage, row: Row) -> str:
    """``all`` where the stage sees no difference: taken apart or shuffled, texts and figures stay what they are."""
    return "all" if row.show in ("shuffled", stage.sees) and stage.sees != "all" else row.show


def _model(suite: Suite, row: Row, before: Training | None) -> Settings:
    """The model's shape, for as long as no stage before gives a whole model."""
    return {} if before is not None and before.stage.gives == "start" else _merged(suite.model, row.model)


def _merged(*parts: Settings) -> Settings:
    merged: Any = OmegaConf.to_container(OmegaConf.merge(*parts))
    return merged


def _digest(recipe: str, settings: Settings, before: Training | None) -> str:
    known = json.dumps([recipe, settings, before.key if before else None], sort_keys=True)
    return hashlib.blake2b(known.encode(), digest_size=6).hexdigest()
