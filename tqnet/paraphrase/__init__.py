"""ParaQD (Gupta et al. 2022): does a rewritten question still ask the same, and what did it lose?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqnet.paraphrase.check import Change, Difference, Part, readable
    from tqnet.paraphrase.scorer import ParaphraseScore, ParaphraseScorer

__all__ = ["Change", "Difference", "ParaphraseScore", "ParaphraseScorer", "Part", "readable"]


def __getattr__(name: str) -> Any:  # so that the operators' symbols cost the command line nothing
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "scorer" if name.startswith("Paraphrase") else "check"
    return getattr(importlib.import_module(f"tqnet.paraphrase.{room}"), name)
