"""ParaQD (Gupta et al. 2022): does a rewritten question still ask the same thing, and what did it lose?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tqnet.paraphrase.check import Change, Difference, Part, readable
    from tqnet.paraphrase.scorer import ParaphraseScore, ParaphraseScorer

__all__ = ["Change", "Difference", "ParaphraseScore", "ParaphraseScorer", "Part", "readable"]

#: How ParaQD labels an operator's results: texts that ask the same thing, or texts that do not.
Label = Literal["positive", "negative"]
#: ParaQD's operators by symbol: those for training (Section 3) and those for test sets (Section 4.2).
TRAINING: dict[str, Label] = {f"f{at}": "positive" if at < 5 else "negative" for at in range(1, 11)}
TEST: dict[str, Label] = {f"f_{at}": "positive" if at in "ab" else "negative" for at in "abcde"}


def __getattr__(name: str) -> Any:  # lazy, so that the command line can import the symbols cheaply
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "scorer" if name.startswith("Paraphrase") else "check"
    return getattr(importlib.import_module(f"tqnet.paraphrase.{module}"), name)
