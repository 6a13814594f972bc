"""Fold results that a teacher would see as one: a template with different numbers or figures, parts of an exercise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tqnet.questions import Question
from tqnet.search.retrieval import Candidate

#: Length of a lead-in that makes two questions parts of one exercise: a story, not an instruction.
_LEAD_IN = 120


def folded(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that are not like one of higher rank, each with those of lower rank that are like it.

    Texts are alike if they differ only in numbers or figures, or begin with the same story.
    """
    places: dict[str, int] = {}
    groups: list[list[Candidate]] = []
    for candidate in candidates:
        keys = list(_keys(candidate))
        place = next((places[key] for key in keys if key in places), len(groups))
        if place == len(groups):
            groups.append([])
        groups[place].append(candidate)
        for key in keys:
            places.setdefault(key, place)
    return [replace(first, folded=tuple(others)) for first, *others in groups]


def _keys(candidate: Candidate) -> Iterator[str]:
    if candidate.template:
        yield candidate.template
    lead_in = _lead_in(candidate.question)
    if lead_in:
        yield lead_in


def _lead_in(question: Question) -> str:
    """Return the beginning of a long stem, "" for a short one."""
    text = " ".join(question.stem[: 3 * _LEAD_IN].lower().split())
    return text[:_LEAD_IN] if len(text) > _LEAD_IN else ""
