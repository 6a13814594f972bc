"""The numbers of a text by their values."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from tqnet.paraphrase.check.amounts import Measured
from tqnet.text.numbers import Number


def by_value(measured: Measured) -> dict[Fraction, list[Number]]:
    """Value -> the numbers that have it, in their order; 25% is a quarter."""
    found: dict[Fraction, list[Number]] = defaultdict(list)
    for number in measured.numbers:
        found[value_of(number)].append(number)
    return dict(found)


def value_of(number: Number) -> Fraction:
    """25% is a quarter."""
    return number.value / 100 if number.sign == "%" else number.value


def written(measured: Measured, number: Number) -> str:
    """As a text writes it."""
    return measured.text[slice(*number.outer)].strip()
