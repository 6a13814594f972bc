"""Options that carry their letters, and answers that name them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LETTER = re.compile(r"\s*[(（]?([A-Za-z])\s*[.)）、:：．]\s*")


def without_letters(options: Sequence[str]) -> list[str]:
    """``A) 3``, ``B) 4`` as ``3``, ``4``; options that are not lettered in order stay as they are."""
    found = [_LETTER.match(option) for option in options]
    letters = "".join(match[1].upper() if match else " " for match in found)
    if not options or letters != "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]:
        return list(options)
    return [option[match.end() :].strip() for option, match in zip(options, found, strict=True) if match]


def in_one_text(text: str) -> list[str]:
    """``a ) 38 , b ) 27.675 , c ) none`` as its three options; a single one where no letters stand in order."""
    starts: list[re.Match[str]] = []
    for match in re.finditer(r"(?:^|(?<=[\s,;|\['\"]))[(（]?([A-Za-z])\s?[.)）、．]\s*", text):
        if match[1].upper() == chr(ord("A") + len(starts)):
            starts.append(match)
    ends = [match.start() for match in starts[1:]] + [len(text)]
    pieces = [text[start.end() : end] for start, end in zip(starts, ends, strict=False)]
    return [piece.strip(" \t\n,;|'\"]") for piece in pieces] or [text.strip()]
