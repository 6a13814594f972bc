"""The trainings that a model went through, as their folders tell: run.json, config.yaml and metrics.jsonl."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tqnet.evaluation.curves import questions_and_pace, read_series
from tqnet.files import content_digest

#: Begins the name of what is measured on the questions of ``valid``.
_VALID = "valid/"


@dataclass(frozen=True)
class Stage:
    """One training.

    Attributes:
        recipe: The script, ``finetune/similar.py``.
        run: Name of its folder.
        settings: All of them, nested.
        facts: What run.json says of bank, versions, processes and machine.
        steps: Optimizer steps that were made.
        step: After which of them the model was kept.
        valid: Scores of that model on the questions of ``valid``; empty where none chose it.
        before: The same scores before the first step.
        questions: Questions that were seen, a question once in every epoch.
        minutes: Of steps, without evaluations; None where it was not logged.
    """

    recipe: str
    run: str
    settings: Mapping[str, Any]
    facts: Mapping[str, Any]
    steps: int = 0
    step: int = 0
    valid: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, float] = field(default_factory=dict)
    questions: int = 0
    minutes: float | None = None

    @property
    def bank(self) -> Mapping[str, Any]:
        return self.facts.get("bank") or {}

    @property
    def model(self) -> Mapping[str, Any]:
        """Its settings of the model."""
        return self.settings.get("model") or {}

    @property
    def languages(self) -> dict[str, int]:
        """Language of its questions -> how many; empty where the bank does not say."""
        return dict(self.bank.get("languages") or {})


@dataclass(frozen=True)
class Lineage:
    """Trainings in order, the last one that of the model.

    Attributes:
        lost: What is said of the folder that the first of them started from, where that tells no more.
    """

    stages: tuple[Stage, ...] = ()
    lost: str | None = None


def lineage(run: Path) -> Lineage:
    """The training in the folder ``run``, and those before it as far as their folders are where they were."""
    stages: list[Stage] = []
    seen: set[Path] = set()
    while True:
        stage = read_stage(run)
        if stage is None or run.resolve() in seen:
            return Lineage(tuple(reversed(stages)), f"{run.name}, of which no training is known here")
        seen.add(run.resolve())
        stages.append(stage)
        start = stage.model.get("start")
        if not start:
            return Lineage(tuple(reversed(stages)))
        folder = _found(str(start), run, stage)
        if folder is None:
            return Lineage(tuple(reversed(stages)), f"{short_name(str(start))}, which is no longer where it was")
        digest = stage.facts.get("start")
        if digest and digest != content_digest(folder):
            return Lineage(tuple(reversed(stages)), f"{short_name(str(start))}, which has been changed since")
        run = folder.parent


def read_stage(run: Path) -> Stage | None:
    """What a run's folder tells of its training; None where it is none."""
    try:
        facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
        settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    if not isinstance(facts, dict) or not isinstance(settings, dict):
        return None
    return Stage(_recipe(facts), run.resolve().name, settings, facts, **_progress(run / "metrics.jsonl"))


def short_name(path: str) -> str:
    """What a path is called where nothing else of it may be told: of RUN/model, RUN."""
    parts = [part for part in Path(path).parts if part not in ("/", ".", "..")]
    if len(parts) > 1 and parts[-1] == "model":
        return parts[-2]
    return parts[-1] if parts else path


def _recipe(facts: Mapping[str, Any]) -> str:
    if recipe := facts.get("recipe"):
        return str(recipe)
    words = shlex.split(str(facts.get("command", "")))  # of a version that did not write it apart
    return "/".join(Path(words[0]).parts[-2:]) if words and words[0].endswith(".py") else "training"


def _progress(log: Path) -> dict[str, Any]:
    try:
        series = read_series(log)
    except OSError:
        return {}
    found: dict[str, Any] = {}
    if "questions" in series:
        questions, pace = questions_and_pace(series)
        steps = int(series["questions"][0][-1])
        found = {"questions": questions, "minutes": questions / pace / 60, "steps": steps, "step": steps}
    # The first score is the one that chooses; only a state with a step behind it is kept, and the first of equal ones.
    scores = {name: dict(zip(*map(list, of), strict=True)) for name, of in series.items() if name.startswith(_VALID)}
    chooser = {step: score for step, score in next(iter(scores.values()), {}).items() if step > 0}
    if chooser:
        best = max(chooser, key=lambda step: (chooser[step], -step))
        found["step"] = int(best)
        found["valid"] = {name: of[best] for name, of in scores.items() if best in of}
        found["before"] = {name: of[0] for name, of in scores.items() if 0 in of}
    return found


def _found(start: str, run: Path, stage: Stage) -> Path | None:
    """The folder that a stage started from: from here, or from where its command was given."""
    out = str((stage.settings.get("run") or {}).get("out", ""))
    candidates = [Path(start)]
    if out and not Path(out).is_absolute() and run.resolve().parts[-len(Path(out).parts) :] == Path(out).parts:
        candidates.append(run.resolve().parents[len(Path(out).parts) - 1] / start)
    return next((folder for folder in candidates if (folder / "config.json").is_file()), None)
