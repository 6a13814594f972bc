"""The trainings that a suite asks for, each once however many rows share it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from tqnet.bench.suite import Row, Settings, Stage, Suite, beside, typed
from tqnet.libraries import precision
from tqnet.training.config import RunConfig
from tqnet.training.provenance import flat, lasting
from tqnet.version import __version__

#: Raised when the same settings come to train other weights, by more than rounding.
_TRAIN = 2

#: More passes than any budget asks for: ``run.max_steps`` ends a training.
_EPOCHS = 1_000_000

#: Settings ``data.*`` of a stage that name files, which may lie beside the bank.
_BESIDE = ("rewrites", "valid_pairs")


@dataclass(frozen=True)
class Training:
    """A stage of a row with a seed.

    Attributes:
        key: 12 hex digits of all that its weights depend on: settings, seed, bank, and the trainings before it. Where
            the settings leave the precision to the machine, it is not one of them: it changes no more than rounding.
        settings: All of the recipe's settings but for the folders of this run and of those before.
        before: What it goes on from: a whole model, a visual stream, or both; and a masked language model.
    """

    stage: Stage
    key: str
    settings: Settings
    before: tuple[Training, ...] = ()

    @property
    def folder(self) -> str:
        """Named by precision too: a machine with another cannot go on where this one has stopped."""
        return f"{self.stage.name}-{self.key}-{precision(self.settings['run'].get('precision', 'auto'))}"

    def configuration(self, root: Path) -> Settings:
        """The recipe's configuration where trainings lie in folders of ``root``."""
        own: Settings = {"run": {"out": str(root / self.folder), "resume": True}}
        own["model"] = {}
        for given in self.before:
            folder = root / given.folder
            if given.stage.gives == "masked_model":
                own["masked_model"] = str(folder)
            else:
                own["model"][given.stage.gives] = str(folder / "model")
        return _merged(self.settings, own)


def trainings(
    suite: Suite, row: Row, seed: int, bank: str, fingerprint: str, others: Mapping[str, str] | None = None
) -> list[Training]:
    """The trainings of a row in order; ``fingerprint`` is that of the questions at ``bank``.

    A visual stream waits for the first stage that sees figures: rows with and without one share the stages of text.

    Args:
        others: Bank that a stage names -> fingerprint of its questions.

    Raises:
        SuiteError: ``run`` of a stage is not as a recipe wants it.
        FileNotFoundError: A file that its settings name is not there.
    """
    chain: list[Training] = []
    waiting: dict[str, Training] = {}  # what it gives -> a training that no stage has gone on from yet
    for number, name in enumerate(row.stages, 1):
        stage = suite.stages[name]
        takes = [] if stage.gives == "visual_start" else ["start"]
        takes += ["masked_model"] if stage.gives == "start" else []
        takes += ["visual_start"] if stage.sees != "text" or number == len(row.stages) else []
        before = tuple(given for gives, given in waiting.items() if gives in takes)
        settings = _merged(
            {
                "model": _model(suite, row, before),
                "data": _data(suite, stage, row, bank),
            },
            stage.settings,
            row.settings.get(name, {}),
        )
        settings = _merged(settings, {"data": _found(settings["data"], bank)})
        run = typed(RunConfig, {"out": ""} | (settings.get("run") or {}), f"row {row.name}: stage {name}: run")
        steps = max(1, stage.questions // (run.batch_size * run.accumulate * stage.per_item))
        length = {"epochs": _EPOCHS, "max_steps": steps}
        settings = _merged(settings, {"run": length | {"seed": seed}, "data": {"bank": stage.bank or bank}})
        key = _digest(stage.recipe, settings, (others or {})[stage.bank] if stage.bank else fingerprint, before)
        training = Training(stage, key, settings, before)
        chain.append(training)
        waiting = {gives: given for gives, given in waiting.items() if given not in before} | {stage.gives: training}
    return chain


def _data(suite: Suite, stage: Stage, row: Row, bank: str) -> Settings:
    own = {"show": _show(stage, row), "similar_level": stage.similar_level or suite.similar_level}
    held_out = suite.held_out(bank)
    return suite.data | own | ({"held_out": held_out} if held_out else {})


def _found(data: Settings, bank: str) -> Settings:
    """The files that ``data`` names, where they are."""
    return {name: beside(bank, file) for name in _BESIDE if (file := data.get(name))}


def _show(stage: Stage, row: Row) -> str:
    """``all`` where the stage sees no difference: taken apart or shuffled, texts and figures stay what they are."""
    return "all" if row.show in ("shuffled", stage.sees) and stage.sees != "all" else row.show


def _model(suite: Suite, row: Row, before: tuple[Training, ...]) -> Settings:
    """The model's shape, for as long as no stage before gives a whole model."""
    return {} if any(given.stage.gives == "start" for given in before) else _merged(suite.model, row.model)


def _merged(*parts: Settings) -> Settings:
    merged: Any = OmegaConf.to_container(OmegaConf.merge(*parts))
    return merged


def _digest(recipe: str, settings: Settings, fingerprint: str, before: tuple[Training, ...]) -> str:
    run = {"eval_every": RunConfig.eval_every} | settings["run"]
    if run.get("precision") == "auto":
        del run["precision"]
    decides = lasting(flat(settings | {"run": run})) | {"run.eval_every": run["eval_every"]}  # which state is kept
    known = [_TRAIN, __version__, recipe, decides, fingerprint, [given.key for given in before]]
    return hashlib.blake2b(json.dumps(known, sort_keys=True).encode(), digest_size=6).hexdigest()
