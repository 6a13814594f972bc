"""Spans of a text, its sentences, and replacements after which it still reads well."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

import yaml

from tqnet.augment.formulas import edit
from tqnet.text.formulas import Span, formula_character_spans, unspaced_money
from tqnet.text.replacements import as_written
from tqnet.text.sentences import SENTENCE_ENDS, cuts

_ARTICLE = re.compile(r"\b(an?)(?=\s+$)", re.IGNORECASE)
_SOUNDS_LIKE_A_VOWEL = re.compile(
    r"(?!eu|uni|us[ae]|ugand|ukrain|uk\b|us\b|one\b|once\b)[aeiou]|hour|hono|heir|8|1[18]\b", re.IGNORECASE
)
SENTENCE_BEGINS = re.compile(r"(?:^|[.?!])\s*$")

#: A dot after these ends no sentence; extends `tqnet.text.sentences`: "rs . 150", "5 sq . ft", "l . c . m".
_ABBREVIATED = re.compile(r"\b(?:rs|sq|cu|mr|mrs|ms|dr|st|no|vs|[ap]\s?\.?\s?m|[a-z]\s?\.\s?[a-z])\s*$", re.IGNORECASE)
_INITIAL = re.compile(r"\b[a-z]\s?(?:\.|$)", re.IGNORECASE)
#: These may end a sentence, unless a word in lower case follows in a text that has capitals.
_ABBREVIATED_UNIT = re.compile(r"\b(?:ft|in|yd|oz|lbs?|hrs?|mins?|secs?|cm|kg|km|approx|etc)\s?$", re.IGNORECASE)
_ASKS = re.compile(
    r"[?？]|\b(?:find|calculate|determine|compute|evaluate|solve|express|estimate|simplify|work out|write down|what|"
    r"which|how (?:many|much|long|far|old|fast|often|tall))\b|[:=]\s*$|\b(?:is|are|as|be|equals?|of|by)\s*[.:=]?\s*$"
    r"|求|多少|几|计算|化简",
    re.IGNORECASE,
)


@cache
def data(name: str) -> dict[str, Any]:
    """Return the word lists of ``data/NAME.yaml``."""
    content: dict[str, Any] = yaml.safe_load((files(__package__) / "data" / f"{name}.yaml").read_text("utf-8"))
    return content


class Covered:
    """The characters of a text that are inside given spans: ``place in Covered(spans)``, by bisection."""

    def __init__(self, spans: Iterable[Span]):
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))  # of all spans that begin so far

    def __contains__(self, place: int) -> bool:
        begun = bisect_right(self._starts, place)
        return begun > 0 and place < self._ends[begun - 1]


def outside_formulas(text: str, pattern: re.Pattern[str]) -> list[Span]:
    """Return the spans that a pattern matches in a text, without those that begin within a LaTeX formula."""
    formulas = Covered(formula_character_spans(text))
    return [match.span() for match in pattern.finditer(text) if match.start() not in formulas]


def rewrite(text: str, changes: Mapping[Span, str]) -> str:
    """Replace spans of ``text``; a deletion leaves no double space, and passes its capital on to what follows."""
    changed: dict[Span, str] = {}
    for (start, end), new in sorted(changes.items()):
        if new:
            changed[start, end] = new
            continue
        deleted = _with_space(text, start, end)
        changed[deleted] = ""
        if text[start].isupper() and SENTENCE_BEGINS.search(text, 0, start):
            changed[deleted[1], deleted[1] + 1] = text[deleted[1] : deleted[1] + 1].upper()
    return edit(text, changed)


def _with_space(text: str, start: int, end: int) -> Span:
    """Return a span to delete, extended by the space before or after it that would be one too many."""
    spaced_before = not start or text[start - 1].isspace()
    while spaced_before and end < len(text) and text[end].isspace():
        end += 1
    if end == len(text) or (text[end] in ".,;:?!)%" and not text[end - 1].isspace()):
        while start and text[start - 1].isspace():
            start -= 1
    return start, end


def with_article(text: str, start: int, end: int, new: str) -> tuple[Span, str]:
    """Return a span and its replacement, both including a preceding article: "an hour" becomes "a minute"."""
    article = _ARTICLE.search(text[max(0, start - 8) : start])
    if not article:
        return (start, end), new
    agreeing = as_written("an" if _SOUNDS_LIKE_A_VOWEL.match(new) else "a", article[1])
    begin = max(0, start - 8) + article.start()
    return (begin, end), agreeing + text[begin + len(article[1]) : start] + new


def sentences(text: str) -> list[Span]:
    """Return the spans of the sentences of a text, including end marks; formulas and abbreviations stay whole."""
    spans, position = [], 0
    has_capitals = any(map(str.isupper, text))
    for _, end in cuts(unspaced_money(text), 0, len(text), SENTENCE_ENDS):
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
        spans.append((position, end))
        position = end
    pieces = ((start, text[start:end]) for start, end in [*spans, (position, len(text))])
    return [
        (start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))
        for start, piece in pieces
        if any(map(str.isalnum, piece))
    ]


def asked_question(text: str) -> Span | None:
    """Return the sentence that asks: the last with a question mark, else the last that demands something, if any."""
    spans = sentences(text)
    marked = [span for span in spans if text[slice(*span)].rstrip().endswith(("?", "？"))]
    asking = marked or [span for span in spans if _ASKS.search(text, *span)]
    return asking[-1] if asking else None
