"""ParaQD (Gupta et al. 2022): does a rewritten question still ask the same, and what did it lose?"""

from tqnet.paraphrase.check import Change, Difference, Part, readable
from tqnet.paraphrase.scorer import ParaphraseScore, ParaphraseScorer

__all__ = ["Change", "Difference", "ParaphraseScore", "ParaphraseScorer", "Part", "readable"]
