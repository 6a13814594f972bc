"""What a search is restricted to: ``difficulty<=3``, ``type=choice|blank``, ``concept=Algebra/Equations``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

#: Fields by which one may filter, and what their values are.
FIELDS: dict[str, type] = {
    "id": str,
    "concept": str,
    "difficulty": float,
    "type": str,
    "language": str,
    "source": str,
    "figures": int,
}
_ORDERED = ("<", "<=", ">", ">=")
_CONDITION = re.compile(r"\s*(?P<field>\w+)\s*(?P<sign><=|>=|!=|=|<|>)(?!=)\s*(?P<value>.*?)\s*", re.DOTALL)


class FilterError(ValueError):
    """A filter that cannot be read, or asks about a field that there is not."""


@dataclass(frozen=True)
class Filter:
    """One condition; those of a search hold together.

    Attributes:
        field: One of :data:`FIELDS`. ``concept`` is a set: it equals a value that it contains.
        sign: ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``.
        values: With ``=``, one of them; with ``!=``, none of them; otherwise there is only one. A question that does
            not say its difficulty, type, language or source meets no condition on it but ``!=``.
    """

    field: str
    sign: str
    values: tuple[str | float | int, ...]

    def __post_init__(self) -> None:
        if self.field not in FIELDS:
            raise FilterError(f"filter: there is no field {self.field!r}; there are {', '.join(FIELDS)}")
        if self.sign in _ORDERED and (FIELDS[self.field] is str or len(self.values) > 1):
            raise FilterError(f"filter: {self.field}{self.sign}: only one number is more or less than another")


def read_filter(text: str) -> Filter:
    """A condition as a user writes it; ``|`` parts values of which one is meant.

    Raises:
        FilterError: It is none, its field is unknown, or its value is of another type.
    """
    found = _CONDITION.fullmatch(text)
    if not found or not found["value"]:
        raise FilterError(
            f"filter: {text!r} is not of the form FIELD=VALUE, such as difficulty<=3 or type=choice|blank"
        )
    kind = FIELDS.get(found["field"], str)
    values = found["value"].split("|") if kind is str else re.split(r"\s*\|\s*", found["value"])
    return Filter(found["field"], found["sign"], tuple(_value(kind, value, text) for value in values))


def _value(kind: type, value: str, text: str) -> str | float | int:
    if kind is str:
        return value
    try:
        read = float(value)
    except ValueError:
        read = math.nan
    if not abs(read) < 2**53:
        raise FilterError(f"filter: {text!r}: {value!r} is no number")
    if kind is int and not read.is_integer():
        raise FilterError(f"filter: {text!r}: {value!r} is no whole number")
    return int(read) if kind is int else read
