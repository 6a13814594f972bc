"""Places in a text, and texts rewritten there so that they still read well."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate

from tqnet.augment.edits import edit
from tqnet.text.replacements import as_written
from tqnet.text.spans import Span, formula_spans

_ARTICLE = re.compile(r"\b(an?)(?=\s+$)", re.IGNORECASE)
_SOUNDS_LIKE_A_VOWEL = re.compile(
    r"(?!eu|uni|us[ae]|ugand|ukrain|uk\b|us\b|one\b|once\b)[aeiou]|hour|hono|heir|8|1[18]\b", re.IGNORECASE
)
_SENTENCE_BEGINS = re.compile(r"(?:^|[.?!])\s*$")


class Covered:
    """The characters of a text that some spans hold: ``place in Covered(spans)``, by bisection."""

    def __init__(self, spans: Iterable[Span]):
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))  # of all spans that begin so far

    def __contains__(self, place: int) -> bool:
        begun = bisect_right(self._starts, place)
        return begun > 0 and place < self._ends[begun - 1]


def outside_formulas(text: str, pattern: re.Pattern[str]) -> list[Span]:
    """Where a pattern matches in a text, but for what begins within a LaTeX formula."""
    formulas = Covered(formula_spans(text))
    return [match.span() for match in pattern.finditer(text) if match.start() not in formulas]


def rewrite(text: str, changes: Mapping[Span, str]) -> str:
    """``text`` with each span replaced; what is left out leaves no second space, and its capital to what follows."""
    changed: dict[Span, str] = {}
    for (start, end), new in sorted(changes.items()):
        if new:
            changed[start, end] = new
            continue
        gone = _closed_up(text, start, end)
        changed[gone] = ""
        if text[start].isupper() and _SENTENCE_BEGINS.search(text, 0, start):
            changed[gone[1], gone[1] + 1] = text[gone[1] : gone[1] + 1].upper()
    return edit(text, changed)


def _closed_up(text: str, start: int, end: int) -> Span:
    """A span that is left out, with the space before or behind it that would be one too many."""
    spaced_before = not start or text[start - 1].isspace()
    while spaced_before and end < len(text) and text[end].isspace():
        end += 1
    if end == len(text) or (text[end] in ".,;:?!)%" and not text[end - 1].isspace()):
        while start and text[start - 1].isspace():
            start -= 1
    return start, end


def with_article(text: str, start: int, end: int, new: str) -> tuple[Span, str]:
    """The span and what replaces it, the article before it made to agree: "an hour" becomes "a minute"."""
    article = _ARTICLE.search(text[max(0, start - 8) : start])
    if not article:
        return (start, end), new
    agreeing = as_written("an" if _SOUNDS_LIKE_A_VOWEL.match(new) else "a", article[1])
    begin = max(0, start - 8) + article.start()
    return (begin, end), agreeing + text[begin + len(article[1]) : start] + new
