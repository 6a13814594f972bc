"""What a number in a text is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from tqnet.text.spans import Span

#: Characters of a number; what is longer means none, and Python refuses to read one of some thousands.
LONGEST = 300


class Kind(Enum):
    """MULTIPLE is "twice", DATE the day, month or year of a date, CLOCK a time of day."""

    WHOLE = "whole"
    DECIMAL = "decimal"
    FRACTION = "fraction"
    ORDINAL = "ordinal"
    MULTIPLE = "multiple"
    DATE = "date"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Number:
    """``text[start:end]``, a number.

    Attributes:
        value: Of "25%" 25, of "$2 million" 2,000,000, of "3:30 pm" 15.5.
        spelled: Whether it is written in words.
        sign: "%" for percent, the sign of a currency ("$", "£", "€", "¥", "¢", "₹", which Rs. is too), or nothing.
        before, after: The span of its sign, on one side of it; empty where there is none.
    """

    start: int
    end: int
    value: Fraction
    kind: Kind
    spelled: bool = False
    sign: str = ""
    before: int = 0
    """How many characters of the sign, with a space, stand before it."""
    after: int = 0
    """How many stand behind it."""

    @property
    def span(self) -> Span:
        """Where the number is, without its sign."""
        return self.start, self.end

    @property
    def outer(self) -> Span:
        """Where it is with its sign: "$5", "25 %", "five percent", "five dollars and ten cents"."""
        return self.start - self.before, self.end + self.after
