"""A rule check of paraphrases: it compares two questions by what they say, and names every difference.

The rules are frozen: what they still miss is left to the encoder's score, and no list is extended for single pairs.
"""

from tqnet.paraphrase.check.difference import UNLIKE, Change, Difference, Part, readable

__all__ = ["UNLIKE", "Change", "Difference", "Part", "readable"]
