"""The card of linear probes: classifiers of knowledge points on the vectors of another model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from huggingface_hub import ModelCard, ModelCardData

from tqnet.cards.folder import CARD, put
from tqnet.cards.lineage import short_name
from tqnet.cards.snippets import PROBE
from tqnet.evaluation.probe import ProbeResult
from tqnet.files import content_digest
from tqnet.questions import QuestionBank


def write_probe_card(out: Path, model: str, bank: QuestionBank, result: ProbeResult, table: str) -> bool:
    """Write README.md beside probes, unless one is there that is not tqnet's.

    Args:
        out: Folder with level-1, level-2, ...
        model: Folder of the model whose vectors they read.
        bank: What they were fitted and scored on.
        table: Their scores as Markdown.

    Returns:
        Whether it was written.
    """
    counts = Counter(language or "not told" for language in bank.column("language"))
    levels = [level.level for level in result.levels]
    named = ", ".join(f"`level-{level}`" for level in levels)
    splits = "the bank's own" if result.drawn is None else f"drawn by group with seed {result.drawn}"
    blocks = [
        f"# Probes of {short_name(model)}",
        f"Linear classifiers of knowledge points, made with `finetune/probe.py` of tqnet, one for each level of the "
        f"hierarchy: {named}. They read the vectors of one model and of no other: {short_name(model)}, files "
        f"`{content_digest(Path(model))}`.",
        "## Data",
        f"{bank.name}, {len(bank):,} questions ("
        + ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
        + f"), fingerprint `{bank.fingerprint}`; splits: {splits}. Fitted on `train`, penalty and threshold chosen on "
        "`valid`, scored on `test`.",
        "## Scores on test",
        table,
        "## Limits",
        "They know the concepts of their `train` questions and no others, and no language or subject but those of the "
        "bank. They are no encoder: other libraries load the model whose vectors they read.",
        "## Use",
        f"```python\n{PROBE.format(level=levels[0], model=short_name(model)).strip()}\n```",
    ]
    codes = sorted({language for language in bank.column("language") if language})
    head = ModelCardData(language=codes or None, library_name="tqnet", license="unknown", tags=["tqnet", "education"])
    return put(out / CARD, str(ModelCard(f"---\n{head.to_yaml()}\n---\n\n" + "\n\n".join(blocks) + "\n")))
