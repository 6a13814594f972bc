"""Check whether a rewritten question still asks the same, and what it lost (ParaQD, Gupta et al. 2022)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqnet.paraphrase.check.difference import Change, Difference, Part, readable
    from tqnet.paraphrase.scorer import ParaphraseScore, ParaphraseScorer

__all__ = ["Change", "Difference", "ParaphraseScore", "ParaphraseScorer", "Part", "readable"]

_SCORER = {"ParaphraseScore", "ParaphraseScorer"}


def __getattr__(name: str) -> Any:  # torch is imported with the scorer, not before
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "scorer" if name in _SCORER else "check.difference"
    return getattr(importlib.import_module(f"tqnet.paraphrase.{room}"), name)
