"""The facts of a card: a model's trainings, later evaluations, and its configuration, read from their files."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from safetensors import SafetensorError, safe_open

from tqnet.evaluation.plots import questions_and_pace, read_series
from tqnet.files import content_digest

#: Prefix of metrics on ``valid``.
_VALID = "valid/"


@dataclass(frozen=True)
class Stage:
    """A training.

    Attributes:
        recipe: The script, ``finetune/similar.py``.
        run: Name of its folder.
        settings: All of them, nested.
        facts: run.json: bank, versions, processes and machine.
        steps: Optimizer steps.
        step: Of the model that was kept.
        valid: Scores of that model on ``valid``; empty if none chose it.
        before: The same scores before the first step.
        questions: Questions seen, counted once per epoch.
        minutes: Of the steps, without evaluations; None if not logged.
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
        return self.settings.get("model") or {}

    @property
    def languages(self) -> dict[str, int]:
        """Language -> number of questions; empty if the bank does not say."""
        return dict(self.bank.get("languages") or {})


@dataclass(frozen=True)
class Lineage:
    """Trainings in order, the model's own last; ``lost`` says which folder the first started from, if it is unknown."""

    stages: tuple[Stage, ...] = ()
    lost: str | None = None


def lineage(run: Path) -> Lineage:
    """Return the training in the folder ``run``, and those before it as far as their folders still exist."""
    stages: list[Stage] = []
    seen: set[Path] = set()
    while True:
        stage = read_stage(run)
        if stage is None or run.resolve() in seen:
            return Lineage(tuple(reversed(stages)), f"{run.name}, whose training is unknown")
        seen.add(run.resolve())
        stages.append(stage)
        start = stage.model.get("start")
        if not start:
            return Lineage(tuple(reversed(stages)))
        folder = _start_folder(str(start), run, stage)
        if folder is None:
            return Lineage(tuple(reversed(stages)), f"{short_name(str(start))}, which no longer exists")
        digest = stage.facts.get("start")
        if digest and digest != content_digest(folder):
            return Lineage(tuple(reversed(stages)), f"{short_name(str(start))}, which has changed since")
        run = folder.parent


def read_stage(run: Path) -> Stage | None:
    """Read the training of a run's folder; None if it holds none."""
    try:
        facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
        settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    if not isinstance(facts, dict) or not isinstance(settings, dict):
        return None
    return Stage(_recipe(facts), run.resolve().name, settings, facts, **_progress(run / "metrics.jsonl"))


def short_name(path: str) -> str:
    """Return a path's name without its folders; RUN for RUN/model."""
    parts = [part for part in Path(path).parts if part not in ("/", ".", "..")]
    if len(parts) > 1 and parts[-1] == "model":
        return parts[-2]
    return parts[-1] if parts else path


def _recipe(facts: Mapping[str, Any]) -> str:
    if recipe := facts.get("recipe"):
        return str(recipe)
    words = shlex.split(str(facts.get("command", "")))  # an early version recorded only the command
    return "/".join(Path(words[0]).parts[-2:]) if words and words[0].endswith(".py") else "training"


def _progress(log: Path) -> dict[str, Any]:
    try:
        series = read_series(log)
    except OSError:
        return {}
    progress: dict[str, Any] = {}
    if "questions" in series:
        questions, pace = questions_and_pace(series)
        steps = int(series["questions"][0][-1])
        progress = {"questions": questions, "minutes": questions / pace / 60, "steps": steps, "step": steps}
    # The first metric chooses, among states after a step, and the first of equal ones.
    scores = {
        name: dict(zip(*map(list, pair), strict=True)) for name, pair in series.items() if name.startswith(_VALID)
    }
    chooser = {step: score for step, score in next(iter(scores.values()), {}).items() if step > 0}
    if chooser:
        best = max(chooser, key=lambda step: (chooser[step], -step))
        progress["step"] = int(best)
        progress["valid"] = {name: by_step[best] for name, by_step in scores.items() if best in by_step}
        progress["before"] = {name: by_step[0] for name, by_step in scores.items() if 0 in by_step}
    return progress


def _start_folder(start: str, run: Path, stage: Stage) -> Path | None:
    """Find the folder that a stage started from, relative to here or to where its command ran."""
    out = str((stage.settings.get("run") or {}).get("out", ""))
    candidates = [Path(start)]
    if out and not Path(out).is_absolute() and run.resolve().parts[-len(Path(out).parts) :] == Path(out).parts:
        candidates.append(run.resolve().parents[len(Path(out).parts) - 1] / start)
    return next((folder for folder in candidates if (folder / "config.json").is_file()), None)


#: Metric of similar-question search -> its name.
_SEARCH = {"precision": "P@{k}", "mrr": "MRR@{depth}", "recall": "R@{k}", "ndcg": "nDCG@{k}"}

#: (metric, score).
Rows = Sequence[tuple[str, str]]

#: Prefix of the titles of later evaluations.
_AFTERWARDS = "Measured afterwards: "

#: A section of a card, and a row of its table.
_SECTION = re.compile(rf"^## ({_AFTERWARDS}.+)\n\n((?:\|.*\|\n)+)", re.MULTILINE)
_ROW = re.compile(r"^\| (.*) \| (.*) \|$", re.MULTILINE)


def stated_measured(markdown: str) -> dict[str, Rows]:
    """Read title -> rows of later evaluations from a card."""
    return {title: _ROW.findall(table)[2:] for title, table in _SECTION.findall(markdown)}


def read_measured(file: Path, name: str | None = None) -> dict[str, list[tuple[str, str]]]:
    """Return title -> rows of (metric, score) of an evaluation.

    Args:
        file: results.json of ``tqnet evaluate stages`` or ``tqnet evaluate mteb``.
        name: Of a model in it; by default the last.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is of another kind, or lacks the model.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        of_stages, of_mteb = document.get("stages"), document.get("mteb")
        bank = str((document.get("made_by") or {}).get("bank", "an unnamed bank"))
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{file}: not results of tqnet evaluate ({error})") from None
    if isinstance(of_mteb, Mapping):
        rows = [
            (f"{task}, {metric}", f"{score:.4f}")
            for task, scores in of_mteb.items()
            for metric, score in scores.items()
        ]
        return {f"{_AFTERWARDS}mteb": rows}
    if not isinstance(of_stages, Mapping) or not of_stages:
        raise ValueError(f"{file}: not results of tqnet evaluate stages or of tqnet evaluate mteb")
    if name is not None and name not in of_stages:
        raise ValueError(f"{file}: --name: {name!r} is none of {', '.join(of_stages)}")
    chosen = of_stages[name] if name is not None else list(of_stages.values())[-1]
    return {f"{_AFTERWARDS}{bank}": [*_search(chosen.get("similar")), *_probe(chosen.get("probe"))]}


def _search(similar: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if not similar:
        return []
    scores, where = similar["overall"], f"similar questions, {similar.get('split') or 'all splits'}"
    rows = [
        (f"{where}: {label.format(k=similar['k'], depth=similar['depth'])}", f"{scores[metric]:.3f}")
        for metric, label in _SEARCH.items()
        if scores.get(metric) is not None
    ]
    return [*rows, (f"{where}: queries", f"{scores['queries']:,}")]


def _probe(probe: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [
        (f"knowledge points by a linear probe, level {level['level']}: micro F1", f"{level['scores']['micro_f1']:.3f}")
        for level in (probe or {}).get("levels", [])
    ]


@dataclass(frozen=True)
class ModelFacts:
    """Facts in a model's folder, read without loading the weights.

    Attributes:
        parameters: Of all weights; None if they cannot be read.
        width: Of a vector.
        max_length: Text tokens; None if unknown.
        max_images: Figures of a question; 0 if it reads none.
        transductive: Pre-training read the unlabelled questions of valid and test.
    """

    architecture: str
    text_encoder: str | None
    visual: str | None
    fusion: str | None
    parameters: int | None
    width: int | None
    max_length: int | None
    max_images: int
    image_size: int | None
    transductive: bool

    @classmethod
    def of(cls, folder: Path) -> ModelFacts:
        config = _json(folder / "config.json")
        processor = _json(folder / "processor_config.json")
        text = config.get("text_config") or {}
        visual = config.get("visual_backbone") if config.get("fusion") != "none" else None
        return cls(
            architecture=str(config.get("model_type", "unknown")),
            text_encoder=_text_encoder(text),
            visual=visual,
            fusion=config.get("fusion") if visual else None,
            parameters=_parameters(folder),
            width=config.get("hidden_size") or text.get("hidden_size") or config.get("d_model"),
            max_length=processor.get("max_length"),
            max_images=int(processor.get("max_images") or config.get("max_images") or 0) if visual else 0,
            image_size=config.get("image_size") if visual else None,
            transductive=bool(config.get("transductive")),
        )


def _json(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _text_encoder(config: dict[str, Any]) -> str | None:
    if not config:
        return None
    shape = f"{config.get('num_hidden_layers')} layers of {config.get('hidden_size')}"
    return f"{config.get('model_type', 'bert')} ({shape}, {config.get('vocab_size'):,} tokens)"


def _parameters(folder: Path) -> int | None:
    """Count parameters by the headers of the weights' files."""
    total = 0
    for file in folder.glob("*.safetensors"):
        try:
            with safe_open(file, framework="numpy") as tensors:
                total += sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
        except (OSError, SafetensorError):
            return None
    return total or None
