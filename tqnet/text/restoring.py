"""Case and spaces that a tokenizer drops, taken from the text that was rewritten."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

#: A token as the vocabulary has it, and where it stands in its text, as (start, end).
Placed = tuple[str, tuple[int, int]]

_INNER = "##"
_BEGINS = re.compile(r"(?:^|[.?!])[\s\"'(]*$")
_CLOSES = tuple(".,;:?!)%]}'’")
_OPENS = tuple("($[{")


def restore(text: str, tokens: Sequence[Placed], made: Sequence[str]) -> str:
    """The word pieces ``made`` as a text, written as ``text`` writes them wherever it has them.

    Runs of pieces that both have keep case and spaces: "$1,200", "km/h", "120-page". A piece that stands elsewhere
    keeps its case, but for a common word that began a sentence. New words are in small letters, and a sentence begins
    with a capital if that of ``text`` does.

    Args:
        tokens: Those of ``text``.
    """
    places = _places([token for token, _ in tokens], made)
    capitals = bool(tokens) and text[tokens[0][1][0]].isupper()
    written = ""
    for at, token in enumerate(made):
        place, before = places[at], places[at - 1] if at else None
        if place is not None and before is not None and place == before + 1:
            gap = text[tokens[before][1][1] : tokens[place][1][0]]
        else:
            gap = _gap(written, token)
        written += gap
        begins = _BEGINS.search(written[-4:]) is not None and (not written or gap != "")
        new = token.removeprefix(_INNER) if place is None else _as_written(text, tokens[place], begins)
        written += new[:1].upper() + new[1:] if begins and capitals else new
    return written


def _places(own: Sequence[str], made: Sequence[str]) -> list[int | None]:
    """Where the like of each made token stands: in a run that both have, behind the one before it, or first of all."""
    places: list[int | None] = [None] * len(made)
    for block in SequenceMatcher(None, own, made, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            places[block.b + offset] = block.a + offset
    first = {token: place for place, token in reversed(list(enumerate(own)))}
    for at, token in enumerate(made):
        if places[at] is None:
            behind = (before + 1) if at and (before := places[at - 1]) is not None else len(own)
            places[at] = behind if own[behind : behind + 1] == [token] else first.get(token)
    return places


def _gap(written: str, token: str) -> str:
    if not written or token.startswith(_INNER) or token in _CLOSES or written.endswith(_OPENS):
        return ""
    return " "


def _as_written(text: str, token: Placed, begins: bool) -> str:
    start, end = token[1]
    word = text[start:end]
    was_first = _BEGINS.search(text[max(0, start - 4) : start]) is not None
    if was_first and not begins and word.istitle() and word.lower() in ENGLISH_STOP_WORDS and word != "I":
        return word.lower()
    return word
