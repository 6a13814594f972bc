"""Whether a rewritten question still asks the same, and what it lost (ParaQD, Gupta et al. 2022)."""

from tqnet.paraphrase.check.difference import Change, Difference, Part, readable
from tqnet.paraphrase.scorer import ParaphraseScore, ParaphraseScorer

__all__ = ["Change", "Difference", "ParaphraseScore", "ParaphraseScorer", "Part", "readable"]
