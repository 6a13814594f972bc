"""A card as Markdown with a head in YAML, as the Hugging Face Hub reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from huggingface_hub import ModelCard, ModelCardData

from tqnet.cards import words
from tqnet.cards.lineage import Lineage, Stage
from tqnet.cards.model import ModelFacts
from tqnet.cards.snippets import snippets
from tqnet.modeling.interchange import ENCODER, PAIRS, RANKER, REWRITER, Kind

#: Task of the hub that a kind does; others have none there.
_PIPELINES = {
    ENCODER.name: "sentence-similarity",
    RANKER.name: "text-ranking",
    PAIRS.name: "text-classification",
    REWRITER.name: "text-generation",
}


@dataclass(frozen=True)
class Card:
    """All that a card says.

    Attributes:
        name: Of the model: its run's folder.
        licence: Of the weights, as the hub names it.
        measured: Title -> rows of (metric, score), of evaluations afterwards.
    """

    name: str
    kind: Kind
    facts: ModelFacts
    lineage: Lineage
    licence: str = "unknown"
    measured: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    def markdown(self) -> str:
        """The whole file."""
        stages = self.lineage.stages
        last = stages[-1] if stages else None
        blocks = [
            f"# {self.name}",
            f"{_article(self.kind.what)}, trained with tqnet; `{self.kind.taken_by}` takes it.",
            _listed(self._model()),
            "## Training",
            f"Start: {words.begins(self.lineage)}.",
            _stages_table(stages),
            "## Data",
            "\n".join(words.data(stages)),
            "## Scores on valid",
            _valid(last),
            *(f"## {title}\n\n{_table(('metric', 'score'), rows)}" for title, rows in self.measured.items()),
            "## Limits",
            _listed(words.limits(self.kind, self.facts, self.lineage)),
            "## Use",
            "Each runs as it stands in this folder, with the package tqnet"
            + (" (and, for the last one, sentence-transformers)." if self.kind is ENCODER else "."),
            *(_code(library, code) for library, code in self._snippets().items()),
            *([_settings(last)] if last else []),
        ]
        return str(ModelCard(f"---\n{self._head().to_yaml()}\n---\n\n" + "\n\n".join(filter(None, blocks)) + "\n"))

    def _head(self) -> ModelCardData:
        tags = ["tqnet", "education", "test-questions"]
        if self.kind is ENCODER:
            tags += ["sentence-transformers", "feature-extraction", *(["multimodal"] if self.facts.visual else [])]
        return ModelCardData(
            language=words.languages(self.lineage.stages) or None,
            library_name="tqnet",
            license=self.licence,
            pipeline_tag=_PIPELINES.get(self.kind.name),
            tags=tags,
        )

    def _snippets(self) -> dict[str, str]:
        return snippets(self.kind, self.facts.visual is not None, self.facts.architecture)

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
    """The licence of the weights that a card of :meth:`Card.markdown` states."""
    licence = ModelCard(markdown, ignore_metadata_errors=True).data.get("license") if markdown else None
    return None if licence in (None, "unknown") else str(licence)


def _article(what: str) -> str:
    return f"An {what}" if what.startswith(tuple("aeiou")) else f"A {what}"


def _stages_table(stages: Sequence[Stage]) -> str:
    header = ("stage", "recipe", "run", "bank", "steps", "kept", "questions seen", "minutes of steps", "machine")
    rows = []
    for stage in stages:
        processes = int(stage.facts.get("processes") or 1)
        machine = stage.facts.get("machine") or words.NOT_STATED
        rows.append(
            (
                words.task(stage.recipe),
                f"`{stage.recipe}`",
                stage.run,
                str(stage.bank.get("name", words.NOT_STATED)),
                f"{stage.steps:,}",
                f"step {stage.step:,}",
                f"{stage.questions:,}",
                words.NOT_STATED if stage.minutes is None else f"{stage.minutes:.1f}",
                f"{machine}, {processes} processes" if processes > 1 else str(machine),
            )
        )
    return _table(header, rows) if rows else ""


def _valid(last: Stage | None) -> str:
    if last is None or not last.valid:
        return "None: the last state is kept, and no score has chosen it."
    rows = [
        (name.removeprefix("valid/"), f"{score:.4f}", f"{last.before[name]:.4f}" if name in last.before else "–")
        for name, score in last.valid.items()
    ]
    return f"After step {last.step:,} of {last.steps:,}, which the first score chose:\n\n" + _table(
        ("metric", "kept model", "before this training"), rows
    )


def _settings(last: Stage) -> str:
    settings: dict[str, Any] = words.without_paths(last.settings)
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True).strip()
    return f"## Settings\n\nOf the last training; of paths the names alone.\n\n```yaml\n{text}\n```"


def _code(library: str, code: str) -> str:
    return f"### {library}\n\n```python\n{code.strip()}\n```"


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines)
