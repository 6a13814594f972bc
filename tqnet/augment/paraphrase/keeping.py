"""What a model's rewriting of a question keeps, and which rewritings are worth keeping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tqnet.augment.paraphrase.numbers import Number, find_numbers
from tqnet.augment.paraphrase.problem import Problem
from tqnet.augment.paraphrase.sentences import asked_question
from tqnet.augment.paraphrase.units import Unit, find_units

#: What a positive may lose, in the order in which it is looked for.
LOSSES = ("number", "unit", "name", "question")


def loss_of(problem: Problem, text: str, in_order: bool = False) -> str | None:
    """The first of LOSSES that ``text`` has lost or changed against a question; None where it has none.

    Numbers are compared by value, units by name, in whatever way either is written; names as they are written. Of the
    question it is only seen that there still is one.

    Args:
        in_order: Numbers and units must also come in the same order. In a translation they may not: a clause moves, and
            its number with it. Where words were merely restored, a number in another place is another number.
    """
    numbers = find_numbers(text)
    if _values(problem.numbers, in_order) != _values(numbers, in_order):
        return "number"
    if _names(problem.units, in_order) != _names(find_units(text, numbers), in_order):
        return "unit"
    if not all(re.search(rf"(?<!\w){re.escape(entity.name)}(?!\w)", text) for entity in problem.entities):
        return "name"
    if problem.question is not None and asked_question(text) is None:
        return "question"
    return None


def _values(numbers: Iterable[Number], in_order: bool) -> list[Fraction]:
    values = [number.value for number in numbers]
    return values if in_order else sorted(values)


def _names(units: Iterable[Unit], in_order: bool) -> list[str]:
    names = [unit.name for unit in units]
    return names if in_order else sorted(names)


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
