"""Writing a card into a trained folder, and leaving alone what somebody else has written there."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from pathlib import Path

from tqnet.cards.lineage import lineage, short_name
from tqnet.cards.measured import Rows, stated_measured
from tqnet.cards.model import ModelFacts
from tqnet.cards.render import Card, stated_licence
from tqnet.files import atomic
from tqnet.modeling.interchange import kind_of

log = logging.getLogger(__name__)

CARD = "README.md"

#: Ends a card that nobody has changed: its digest is that of the text before it.
_MARK = re.compile(r"\n<!-- written by tqnet, ([0-9a-f]{16}); a card that was changed is not written again -->\n$")


def write_card(
    folder: Path,
    licence: str | None = None,
    measured: Mapping[str, Rows] | None = None,
    force: bool = False,
) -> bool:
    """Write README.md into a trained folder, unless one is there that is not tqnet's, or that was changed.

    Args:
        folder: RUN/model: what the card says of trainings is read from the folder around it.
        licence: Of the weights, as the hub names it; by default that of tqnet's card there, or "unknown".
        measured: Title -> rows of (metric, score), of evaluations afterwards; beside those that tqnet's card there has
            under other titles. None where the weights are new, of which those there say nothing.
        force: Write it in any case.

    Returns:
        Whether it was written, or was there as it would be written.

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
    """Write a card whole or not at all; False where another one is kept."""
    if file.exists() and not force and not is_own(file):
        log.warning("%s is kept: it is not tqnet's, or has been changed", file)
        return False
    with atomic(file) as temporary:
        temporary.write_text(text + _mark(text), encoding="utf-8")
    return True


def is_own(file: Path) -> bool:
    """Whether a card is as tqnet wrote it."""
    return _own_text(file) is not None


def _own_text(file: Path) -> str | None:
    """What a card says that is as tqnet wrote it; None of another one."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    found = _MARK.search(text)
    return text[: found.start()] if found is not None and found[1] == _digest(text[: found.start()]) else None


def _mark(text: str) -> str:
    return f"\n<!-- written by tqnet, {_digest(text)}; a card that was changed is not written again -->\n"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
