"""Where a text may be cut in two: between its sentences and clauses, in English and Chinese, never in a formula."""

from __future__ import annotations

import re

from tqnet.text.latex import prose

CLAUSE_ENDS = re.compile(r"[,;](?=\s|$)|[，；]")
SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)|[。！？．]|\n\s*\n")  # a single new line may be but a long line's
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|fig|no|st|mr|mrs|ms|dr|(?-i:[A-Z]))$", re.IGNORECASE)
_MARKS = " \t\r\n.,;。，；．"


def cuts(text: str, start: int, end: int, ends: re.Pattern[str]) -> list[tuple[int, int]]:
    """Where ``ends`` matches in the prose of ``text[start:end]``, outside of brackets: (start, end) of each mark.

    A question mark belongs to what it ends, so its cut is behind it.
    """
    depth, found = 0, []
    pattern = re.compile(rf"(?P<open>[(（\[])|(?P<close>[)）\]])|{ends.pattern}")
    for first, last in prose(text):
        for match in pattern.finditer(text, max(first, start), min(last, end)):
            if match["open"] or match["close"]:
                depth = max(0, depth + (1 if match["open"] else -1))
            # A dot may belong to an abbreviation or an initial.
            elif not depth and not (
                match[0] == "." and _ABBREVIATED.search(text[max(0, match.start() - 8) : match.start()])
            ):
                found.append((match.start() + (match[0] in "?？"), match.end()))
    return found


def halves(text: str) -> list[tuple[str, str]]:
    """Every way to cut a text into two consecutive segments: between sentences, or clauses where it has but one.

    The marks at the ends of both segments are left out, but for question marks: a comma or a full stop would tell
    which of the two is the first.
    """
    return _halves(text, SENTENCE_ENDS) or _halves(text, CLAUSE_ENDS)


def _halves(text: str, ends: re.Pattern[str]) -> list[tuple[str, str]]:
    pairs = ((text[:cut].strip(_MARKS), text[after:].strip(_MARKS)) for cut, after in cuts(text, 0, len(text), ends))
    return [pair for pair in pairs if all(map(_says_something, pair))]


def _says_something(segment: str) -> bool:
    """A blank to be filled in or an empty bracket does not."""
    return any(map(str.isalnum, segment))
