"""Write cards into folders of models and probes, unless one there is not tqnet's or was edited."""

from __future__ import annotations

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from huggingface_hub import ModelCard, ModelCardData

from tqnet.evaluation.probe import ProbeResult
from tqnet.files import CARD, atomic, content_digest
from tqnet.hub.card import PROBE, Card, stated_licence
from tqnet.hub.lineage import ModelFacts, Rows, lineage, short_name, stated_measured
from tqnet.modeling.interchange import kind_of
from tqnet.questions import QuestionBank

log = logging.getLogger(__name__)

#: Last line of a card, with the digest of the text before it, by which edits are noticed.
_MARK = re.compile(r"\n<!-- written by tqnet, ([0-9a-f]{16}); a card that was changed is not written again -->\n$")


def write_card(
    folder: Path,
    licence: str | None = None,
    measured: Mapping[str, Rows] | None = None,
    force: bool = False,
) -> bool:
    """Write README.md into a trained folder, unless one there is not tqnet's or was edited.

    Args:
        folder: RUN/model; its trainings are read from the folder around it.
        licence: Of the weights, as the hub names it; by default that of the present card, or "unknown".
        measured: Title -> rows of (metric, score) of later evaluations, merged with those of the present card; None for
            new weights, which drops the present ones.
        force: Write it in any case.

    Returns:
        True if the card is up to date.

    Raises:
        FileNotFoundError: The folder holds no model of tqnet's.
        OSError: It cannot be written.
    """
    kind = kind_of(folder)
    path = folder.resolve()
    before = _own_text(folder / CARD) or ""
    card = Card(
        name=short_name(str(path)),
        kind=kind,
        facts=ModelFacts.of(path),
        lineage=lineage(path.parent),
        licence=licence or stated_licence(before) or "unknown",
        measured={} if measured is None else stated_measured(before) | dict(measured),
    )
    return put(folder / CARD, card.markdown(), force)


def put(file: Path, text: str, force: bool = False) -> bool:
    """Write a card atomically; return False if another one is kept."""
    if file.exists() and not force and not is_own(file):
        log.warning("%s is kept: it is not tqnet's, or was edited", file)
        return False
    with atomic(file) as temporary:
        temporary.write_text(text + _mark(text), encoding="utf-8")
    return True


def is_own(file: Path) -> bool:
    """Return True for an unedited card of tqnet's."""
    return _own_text(file) is not None


def _own_text(file: Path) -> str | None:
    """Return the text of an unedited card of tqnet's; None for others."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    mark = _MARK.search(text)
    return text[: mark.start()] if mark is not None and mark[1] == _digest(text[: mark.start()]) else None


def _mark(text: str) -> str:
    return f"\n<!-- written by tqnet, {_digest(text)}; a card that was changed is not written again -->\n"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def write_probe_card(out: Path, model: str, bank: QuestionBank, result: ProbeResult, table: str) -> bool:
    """Write README.md beside linear probes of knowledge points, unless one there is not tqnet's or was edited.

    Args:
        out: Folder with level-1, level-2, ...
        model: Folder of the model whose vectors they read.
        bank: For fitting and scoring.
        table: Scores as Markdown.

    Returns:
        True if it was written.
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
    codes = sorted(filter(None, set(bank.column("language"))))
    head = ModelCardData(language=codes or None, library_name="tqnet", license="unknown", tags=["tqnet", "education"])
    return put(out / CARD, str(ModelCard(f"---\n{head.to_yaml()}\n---\n\n" + "\n\n".join(blocks) + "\n")))
