"""The number of a text, and numbers that count nothing: dates and times of day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from tqnet.text.formulas import Span
from tqnet.text.replacements import MONTHS

#: Maximum number of characters of a number; Python refuses to read numbers of several thousand digits.
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
    """A number at ``text[start:end]``.

    Attributes:
        value: 25 for "25%", 2,000,000 for "$2 million", 15.5 for "3:30 pm".
        spelled: True for a number in words.
        sign: "%", the sign of a currency ("$", "£", "€", "¥", "¢", or "₹", also for Rs.), or empty.
        before, after: Number of characters that the sign, with a space, takes before and after the number.
    """

    start: int
    end: int
    value: Fraction
    kind: Kind
    spelled: bool = False
    sign: str = ""
    before: int = 0
    after: int = 0

    @property
    def span(self) -> Span:
        """Span of the number without its sign."""
        return self.start, self.end

    @property
    def outer(self) -> Span:
        """Span of the number with its sign: "$5", "25 %", "five percent", "five dollars and ten cents"."""
        return self.start - self.before, self.end + self.after


#: "may" and "march" are also words.
_WHOLE_MONTHS = "|".join(f"(?-i:{month})" if month in ("March", "May") else month for month in MONTHS)
_MONTH = rf"(?:{_WHOLE_MONTHS}|(?-i:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
_YEAR = r"(?:1[5-9]|20)\d\d"
#: Not "in 2000 boxes", "in 2000.5", "in 2000 %".
_NO_COUNT = r"(?![\w%]|[.,:/]\d|\s?%|\s+[a-z]{3,}s\b)"
_ORDINAL = r"(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"(?<![\w./-])\d{{1,2}}(?P<mark>[/.-])\d{{1,2}}(?P=mark)(?:19|20)?\d\d(?![\w/-])"
    rf"|(?<![\w/-]){_YEAR}-\d{{1,2}}-\d{{1,2}}(?![\w/-])"
    rf"|\b{_MONTH}\s+\d{{1,2}}{_ORDINAL}(?:\s?,\s?|\s+){_YEAR}\b"
    rf"|\b{_MONTH}(?:\s+|,\s?){_YEAR}\b"
    rf"|\b{_MONTH}\s+\d{{1,2}}{_ORDINAL}{_NO_COUNT}"
    rf"|(?<![\w/.,$-])\d{{1,2}}{_ORDINAL}\s+(?:of\s+)?{_MONTH}\b(?:\s?,?\s+{_YEAR}\b)?"
    rf"|\b(?:in|since|year|until|till|during)\s+{_YEAR}{_NO_COUNT}"
    rf"|\b(?:from|between)\s+{_YEAR}\s+(?:to|and|until)\s+{_YEAR}{_NO_COUNT}",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(?<![\w.:/])(?P<hour>\d{1,2})(?:\s?:\s?(?P<minute>[0-5]\d))?\s?(?P<half>[ap])(?:m\b|\s?\.\s?m\b(?:\s?\.)?)"
    r"|(?<![\w.:/])(?P<sharp>\d{1,2}):(?P<zero>0\d)(?![\w:]|\s:)"
    r"|\b(?:at|by|from|until|till|before|after|around)\s(?P<at>\d{1,2}):(?P<past>[0-5]\d)"
    r"(?![\w:]|\s:|\s?[ap]\s?\.?\s?m\b)",
    re.IGNORECASE,
)


def find_dates(text: str) -> Iterator[Number]:
    """Yield separately the days, months and years of dates that are in digits."""
    for date in _DATE.finditer(text):
        for part in re.finditer(r"\d+", date[0]):
            yield Number(date.start() + part.start(), date.start() + part.end(), Fraction(int(part[0])), Kind.DATE)


def find_clock_times(text: str) -> Iterator[Number]:
    """Yield times of day, "3:30 pm" or "at 10:15", in hours."""
    for match in _CLOCK.finditer(text):
        group = next(name for name in ("hour", "sharp", "at") if match[name])
        start, hour = match.start(group), int(match[group])
        if hour > 24:
            continue
        if match["half"]:
            hour = hour % 12 + (12 if match["half"] in "pP" else 0)
        minute = int(match["minute"] or match["zero"] or match["past"] or 0)
        yield Number(start, match.end(), hour + Fraction(minute, 60), Kind.CLOCK)
