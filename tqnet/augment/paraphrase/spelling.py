"""Numbers written out: "25%" as "twenty-five percent", "$5.25" as "five dollars and twenty-five cents"."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from num2words import num2words

from tqnet.text.numbers import Kind, Number

_LEADING = re.compile(r"\$?\s*(?P<minus>[-−–])?(?P<digits>\d[\d,\s]*(?<!\s)(?:\.\d+)?|\.\d+)(?P<rest>\D*)$")
#: Longer ones are no quantities, and nobody would read them out.
_DIGITS = 13


def spelled_out(text: str, number: Number) -> str | None:
    """The words for a number in digits, without its sign; None where it is better left: 007, a date, a time of day.

    ``num2words`` knows no fractions: they are put together of its cardinals and ordinals.
    """
    if number.spelled or number.kind in (Kind.DATE, Kind.CLOCK, Kind.MULTIPLE):
        return None
    written = text[number.start : number.end]
    if len(re.sub(r"\D", "", written)) > _DIGITS:
        return None
    if number.kind is Kind.ORDINAL:
        return _words(str(number.value), "ordinal")
    if "/" in written:
        return _fraction(number.value, written)
    leading = _LEADING.match(written.rstrip("$"))
    if not leading or re.match(r"0\d", leading["digits"]):
        return None
    words = _words(re.sub(r"[,\s]", "", leading["digits"]), "cardinal")
    return ("minus " if leading["minus"] else "") + words + leading["rest"]


def dollars_and_cents(value: Fraction, unit: str, units: str) -> str | None:
    """ "five dollars and twenty-five cents" where the amount has exactly two decimals, else None."""
    cents = value * 100
    if cents.denominator != 1 or value.denominator == 1 or value < 1:
        return None
    whole, rest = divmod(int(cents), 100)
    amount = f"{_words(str(whole), 'cardinal')} {unit if whole == 1 else units}"
    return f"{amount} and {_words(str(rest), 'cardinal')} {'cent' if rest == 1 else 'cents'}"


def _fraction(value: Fraction, written: str) -> str | None:
    whole, over, under = re.fullmatch(
        r"[-−–]?(?:(\d+)[\s-]+)?(\d+)\s?/\s?(\d+)(?:st|nd|rd|th)?", written.strip("$ ")
    ).groups()  # type: ignore[union-attr]
    if int(under) == 1 or value < 0:
        return None
    if int(under) >= 100:
        part = f"{_words(over, 'cardinal')} over {_words(under, 'cardinal')}"
        return None if whole else part
    name = "half" if int(under) == 2 else _words(under, "ordinal")
    plural = "" if int(over) == 1 else "s"
    part = f"{_words(over, 'cardinal')} {'halve' if plural and name == 'half' else name}{plural}"
    return f"{_words(whole, 'cardinal')} and {part}" if whole else part


@lru_cache(10_000)
def _words(number: str, to: str) -> str:
    return str(num2words(Decimal(number) if "." in number else int(number), to=to)).replace(",", "")
