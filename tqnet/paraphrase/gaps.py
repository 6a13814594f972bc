"""Words whose noun is missing: "leaving a ." of "leaving a port.", "the sum of and 5" of "the sum of 3 and 5"."""

from __future__ import annotations

import re

from tqnet.paraphrase.difference import Change, Difference, Part

_VERBS = "is|are|was|were|has|have|had|will|would|could|costs|weighs"
_NO_NOUN = rf"{_VERBS}|of|in|on|at|to|from|by|for|with|into|per|and|or|that|which|who|if"
_GAPS = re.compile(
    rf"\b(?:(?P<a>(?-i:(?<!\.)(?<!\.\s)a))|an|the|their|its|my|our|your|every)\s*(?:[.,;:?!](?!m\b)|\b(?:{_NO_NOUN})\b)"
    rf"|\bof\s*(?:[,;]|\b(?:and|or|in|from|to|for|{_VERBS})\b)",
    re.IGNORECASE,
)
#: Where there is a "b", "a" is a name.
_NAMES = re.compile(r"\bb\b", re.IGNORECASE)


def missing_nouns(original: str, paraphrase: str) -> list[Difference]:
    """The first words without their noun which the original has not so: who rewords a text leaves none."""
    known = {_plain(match) for match in _GAPS.finditer(original)}
    has_names = _NAMES.search(original) or _NAMES.search(paraphrase)
    found = (match for match in _GAPS.finditer(paraphrase) if not (match["a"] and has_names))
    return [
        Difference(Part.WORD, Change.LOST, before=f"the noun of '{_plain(match)}'")
        for match in found
        if _plain(match) not in known
    ][:1]


def _plain(match: re.Match[str]) -> str:
    return " ".join(match[0].lower().split())
