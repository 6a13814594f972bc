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
        step: Step of the model that was kept.
        valid: Scores of that model on ``valid``; empty if none chose it.
        before: The same scores before the first step.
        questions: Questions seen, counted once per epoch.
        minutes: Minutes of the steps, without evaluations; None if not logged.
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
    lost = None
    while lost is None:
        stage = _read_stage(run)
        if stage is None or run.resolve() in seen:
            lost = f"{run.name}, whose training is unknown"
            break
        seen.add(run.resolve())
        stages.append(stage)
        if not (start := stage.model.get("start")):
            break
        folder, digest = _start_folder(str(start), run, stage), stage.facts.get("start")
        if folder is None:
            lost = f"{short_name(str(start))}, which no longer exists"
        elif digest and digest != content_digest(folder):
            lost = f"{short_name(str(start))}, which has changed since"
        else:
            run = folder.parent
    return Lineage(tuple(reversed(stages)), lost)


def _read_stage(run: Path) -> Stage | None:
    """Read the training of a run's folder; None if it holds none."""
    try:
        facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
        settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    if not isinstance(facts, dict) or not isinstance(settings, dict):
        return None
    recipe = facts.get("recipe")
    if not recipe:  # an early version recorded only the command
        script = Path(next(iter(shlex.split(str(facts.get("command", "")))), ""))
        recipe = "/".join(script.parts[-2:]) if script.suffix == ".py" else "training"
    return Stage(recipe, run.resolve().name, settings, facts, **_progress(run / "metrics.jsonl"))


def short_name(path: str) -> str:
    """Return a path's name without its folders; RUN for RUN/model."""
    parts = [part for part in Path(path).parts if part not in ("/", ".", "..")]
    if len(parts) > 1 and parts[-1] == "model":
        return parts[-2]
    return parts[-1] if parts else path


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
        name: Name of a model in it; by default the last.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is of another kind, or lacks the model.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        stages, mteb = document.get("stages"), document.get("mteb")
        bank = str((document.get("made_by") or {}).get("bank", "an unnamed bank"))
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{file}: not results of tqnet evaluate ({error})") from None
    if isinstance(mteb, Mapping):
        scores = [(f"{task}, {metric}", score) for task, row in mteb.items() for metric, score in row.items()]
        return {f"{_AFTERWARDS}mteb": [(label, f"{score:.4f}") for label, score in scores]}
    if not isinstance(stages, Mapping) or not stages:
        raise ValueError(f"{file}: not results of tqnet evaluate stages or of tqnet evaluate mteb")
    if name is not None and name not in stages:
        raise ValueError(f"{file}: --name: {name!r} is not one of {', '.join(stages)}")
    measured = stages[next(reversed(stages)) if name is None else name]
    rows = []
    if similar := measured.get("similar"):
        overall, where = similar["overall"], f"similar questions, {similar.get('split') or 'all splits'}"
        rows = [
            (f"{where}: {label.format(k=similar['k'], depth=similar['depth'])}", f"{overall[metric]:.3f}")
            for metric, label in _SEARCH.items()
            if overall.get(metric) is not None
        ]
        rows.append((f"{where}: queries", f"{overall['queries']:,}"))
    for level in (measured.get("probe") or {}).get("levels", []):
        label = f"knowledge points by a linear probe, level {level['level']}: micro F1"
        rows.append((label, f"{level['scores']['micro_f1']:.3f}"))
    return {f"{_AFTERWARDS}{bank}": rows}


def model_facts(folder: Path) -> dict[str, Any]:
    """Return the facts in a model's folder, read without loading the weights.

    ``architecture``, ``text_encoder``, ``visual``, ``fusion``, ``parameters``, ``width`` of a vector, ``max_length`` in
    text tokens, ``max_images`` of a question, ``image_size``, and if pre-training was ``transductive``: read the
    unlabelled questions of valid and test. What cannot be read is None.
    """
    config, processor = _json(folder / "config.json"), _json(folder / "processor_config.json")
    text = _in_bert_terms(config.get("text_config") or {})
    visual = config.get("visual_backbone") if config.get("fusion") != "none" else None
    shape = f"{text.get('num_hidden_layers')} layers of {text.get('hidden_size')}"
    return {
        "architecture": config.get("model_type", "unknown"),
        "text_encoder": text and f"{text.get('model_type', 'bert')} ({shape}, {text.get('vocab_size'):,} tokens)",
        "visual": visual,
        "fusion": config.get("fusion") if visual else None,
        "parameters": _parameters(folder),
        "width": config.get("hidden_size") or text.get("hidden_size") or config.get("d_model"),
        "max_length": processor.get("max_length"),
        "max_images": (processor.get("max_images") or config.get("max_images")) if visual else None,
        "image_size": config.get("image_size"),
        "transductive": config.get("transductive"),
    }


def _in_bert_terms(text: dict[str, Any]) -> dict[str, Any]:
    """Return a text encoder's settings with BERT's names for its sizes, such as DistilBERT's ``dim``."""
    from transformers import CONFIG_MAPPING

    if text.get("model_type") not in CONFIG_MAPPING:
        return text
    names = CONFIG_MAPPING[text["model_type"]].attribute_map
    return text | {name: text.get(theirs) for name, theirs in names.items() if name not in text}


def _json(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


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
