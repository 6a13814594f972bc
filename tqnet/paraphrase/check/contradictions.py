"""What two texts say of the same number, where one contradicts the other."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol, Self, TypeVar

from tqnet.paraphrase.check.difference import Change, Difference, Part


class Statement(Protocol):
    """What a text says of a number, as it has it."""

    @property
    def said(self) -> str: ...
    def contradicts(self, other: Self, /) -> bool: ...


S = TypeVar("S", bound=Statement)


def contradictions(before: Mapping[Fraction, S], after: Mapping[Fraction, S]) -> list[Difference]:
    """Each statement of the original with that of the paraphrase about the same value, where they contradict."""
    return [
        Difference(Part.NUMBER, Change.CHANGED, said.said, after[value].said)
        for value, said in before.items()
        if value in after and said.contradicts(after[value])
    ]
