"""The sentences of a question and the one that asks."""

from __future__ import annotations

import re

from tqnet.text.sentences import SENTENCE_ENDS, cuts
from tqnet.text.spans import Span, unspaced_money

#: What a dot behind does not end, beside what `tqnet.text.sentences` knows: "rs . 150", "5 sq . ft", "l . c . m".
_ABBREVIATED = re.compile(r"\b(?:rs|sq|cu|mr|mrs|ms|dr|st|no|vs|[ap]\s?\.?\s?m|[a-z]\s?\.\s?[a-z])\s*$", re.IGNORECASE)
_INITIAL = re.compile(r"\b[a-z]\s?(?:\.|$)", re.IGNORECASE)
#: These may end a sentence, unless a word in small letters follows in a text that has capitals.
_ABBREVIATED_UNIT = re.compile(r"\b(?:ft|in|yd|oz|lbs?|hrs?|mins?|secs?|cm|kg|km|approx|etc)\s?$", re.IGNORECASE)
_ASKS = re.compile(
    r"[?？]|\b(?:find|calculate|determine|compute|evaluate|solve|express|estimate|simplify|work out|write down|what|"
    r"which|how (?:many|much|long|far|old|fast|often|tall))\b|[:=]\s*$|\b(?:is|are|as|be|equals?|of|by)\s*[.:=]?\s*$"
    r"|求|多少|几|计算|化简",
    re.IGNORECASE,
)


def sentences(text: str) -> list[Span]:
    """Where the sentences of a text are, with the marks that end them; formulas and abbreviations stay whole."""
    found, position = [], 0
    has_capitals = any(map(str.isupper, text))
    readable = unspaced_money(text)
    for _, end in cuts(readable, 0, len(readable), SENTENCE_ENDS):
        before, after = text[:end].rstrip(), text[end:].lstrip()
        if before.endswith("."):
            before = before[:-1]
            if not after and _ABBREVIATED.search(before):
                continue
            if _INITIAL.search(before[-4:]) and _INITIAL.match(after):
                continue
            goes_on = after[:1].islower() and has_capitals
            if _ABBREVIATED.search(before[-8:]) or (goes_on and _ABBREVIATED_UNIT.search(before[-8:])):
                continue
        found += _trimmed(text, position, end)
        position = end
    return found + _trimmed(text, position, len(text))


def asked_question(text: str) -> Span | None:
    """The sentence that asks: the last one with a question mark, else the last one that demands something, if any."""
    spans = sentences(text)
    marked = [span for span in spans if text[slice(*span)].rstrip().endswith(("?", "？"))]
    asking = marked or [span for span in spans if _ASKS.search(text, *span)]
    return asking[-1] if asking else None


def _trimmed(text: str, start: int, end: int) -> list[Span]:
    """A span without white space around it, where anything is left that says something."""
    body = text[start:end]
    if not any(map(str.isalnum, body)):
        return []
    return [(start + len(body) - len(body.lstrip()), start + len(body.rstrip()))]
