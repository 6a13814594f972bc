"""A model's rewritings of a question: those of its sentences put together, the farthest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def farthest_first(text: str, candidates: Iterable[str]) -> list[str]:
    """Distinct candidates by Levenshtein distance from ``text``, the farthest first (ParaQD, A.1), never ``text``.

    Texts that differ in their spaces alone are one; what has no letter and no digit is no text.
    """
    from spacy.matcher.levenshtein import levenshtein

    distinct: dict[str, str] = {}
    for candidate in candidates:
        distinct.setdefault(" ".join(candidate.split()), candidate.strip())
    distinct.pop(" ".join(text.split()), None)
    left = [candidate for candidate in distinct.values() if any(map(str.isalnum, candidate))]
    return sorted(left, key=lambda candidate: -levenshtein(text, candidate))


def joined(gaps: Sequence[str], parts: Sequence[Sequence[str]]) -> list[str]:
    """Rewritings of a text from those of its parts: the first of each, the second of each, and so on to the longest.

    Args:
        gaps: What stands before each part, and behind the last.
        parts: Of each part its rewritings, one at least; the last stands in where there are no more.
    """
    count = max(map(len, parts), default=0)
    return [
        "".join(gap + own[min(rank, len(own) - 1)] for gap, own in zip(gaps, parts, strict=False)) + gaps[-1]
        for rank in range(count)
    ]
