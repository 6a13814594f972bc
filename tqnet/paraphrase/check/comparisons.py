"""Comparisons that only one of two texts makes: "how many more cats than dogs", "costs $20 more than the ball"."""

from __future__ import annotations

import re
from itertools import chain

from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.relations import COMPARATIVE
from tqnet.text.numbers import CARDINALS

_MORE_THAN = rf"(?:{COMPARATIVE})\b[^.?!]{{0,40}}\bthan\b"
_COMPARISONS = [
    re.compile(comparison, re.IGNORECASE)
    for comparison in (
        rf"\bhow\s+(?:many|much)\s+{_MORE_THAN}",
        rf"(?:\d[\d.,]{{0,12}}|\b(?:{'|'.join(CARDINALS[1:])}|half|twice|dozen))\s+"
        rf"(?:[a-z]+\s+){{0,2}}?{_MORE_THAN}",
    )
]
#: What a text has that makes a comparison in other words.
_COMPARES = re.compile(
    rf"(?:\b(?:{COMPARATIVE}|extra|addition(?:al(?:ly)?)?|(?:years?|months?|weeks?|days?)\s+(?:after|before|earlier|later)|"
    r"another|further|differ\w*|exceed\w*|excess|than|left|remain\w*|requir\w*|need\w*|still|short|lack\w*|miss\w*|"
    r"compar\w+|lead|ahead|behind|gap|beat\w*|by\s+how|margin|surplus|sav(?:e|ed|ing|ings)|above|below|over|under|"
    r"outnumber\w*|subtract\w*|deduct\w*|tak(?:e|es|ing|en)|away|minus|plus|sum|add(?:s|ed|ing)?|chang\w+|increas\w+|decreas\w+|"
    r"r[ai]is\w+|rose|f[ae]ll\w*|gr[eo]w\w*|drop\w*|reduc\w+|lower\w*|gain\w*|los\w+|profit|discount|double\w*|consecutive|"
    r"apart|older|younger|senior|junior|beyond|half|twice|times|percent)\b|\s[-+]\s|%)",
    re.IGNORECASE,
)


def lone_comparisons(original: str, paraphrase: str) -> list[Difference]:
    """The first comparison of one text, where the other one compares nothing."""
    told, retold = (
        next(chain.from_iterable(comparison.finditer(text) for comparison in _COMPARISONS), None)
        for text in (original, paraphrase)
    )
    if told and not _COMPARES.search(paraphrase):
        return [Difference(Part.WORD, Change.LOST, told[0])]
    if retold and not _COMPARES.search(original):
        return [Difference(Part.WORD, Change.NEW, after=retold[0])]
    return []
