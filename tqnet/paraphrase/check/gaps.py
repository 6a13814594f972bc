"""Words whose noun is missing: "leaving a ." of "leaving a port.", "the sum of and 5" of "the sum of 3 and 5"."""

from __future__ import annotations

import re

from tqnet.paraphrase.check.difference import Change, Difference, Part

_PREPOSITIONS = "of|in|on|at|to|from|by|for|with|into|per"
_NO_NOUN = rf"is|are|was|were|has|have|had|would|could|weighs|{_PREPOSITIONS}|and|or|that|which|who|if"
_GAPS = re.compile(
    rf"\b(?:(?P<a>(?-i:(?<!\.)(?<!\.\s)a))|(?-i:an)|the|their|its|my|our|your|every)\s*"
    rf"(?:[.,;:?!](?!m\b|\d)|\b(?:{_NO_NOUN})\b(?!-))"
    r"|\bof\s+(?:and|or|from|to|for)\b",
    re.IGNORECASE,
)
#: Where there is a "b", or a sum with it, "a" is a name.
_NAMES = re.compile(
    r"\b[bc]\b|\ba\s*[-+*/=<>^]|[-+*/=<>^\d]\s*a\b(?=\s*[.,:;?!)=+*/-])"
    r"|\b(?i:let|find|if)\s+a(?=\s*(?:[.,:;?!]|(?:be|and|when|if)\b))"
)


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
