"""Numbers of a spreadsheet as their cells show them, where a format adds to the number: ``25%``, ``$4.50``, ``1/2``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|(?P<end>;)'
    r"|(?P<ignored>\[[^\]]*\]|_.|\*.)"  # colours, conditions, gaps, fillings
    r"|(?P<fraction>(?P<whole>[#0?]+ +)?[#0?]+ ?/ ?(?P<below>[#0?]{1,5}|\d{1,5}))"
    r"|(?P<number>(?P<integer>[#0?][#0?,]*)(?:\.(?P<decimals>[#0?]*))?(?P<more>[,.]|[Ee][+-])?)|(?P<general>General)"
    r"|(?P<other>.)",
    re.DOTALL,
)

#: Numbers that are shown have no more digits before and after the point than Excel keeps of any.
_LARGEST, _DECIMALS = 1e15, 10


@dataclass(frozen=True)
class _Format:
    """The first section of a format, which is that of positive numbers: texts around a number."""

    before: str
    number: re.Match[str]
    after: str
    percents: int

    def shown(self, value: float) -> str:
        scaled = abs(Decimal(repr(value))) * 100**self.percents
        text = self._fraction(scaled) if self.number["fraction"] else self._decimal(scaled)
        sign = "-" if value < 0 and re.search("[1-9]", text) else ""
        return f"{sign}{self.before}{text}{self.after}".strip()

    def _decimal(self, value: Decimal) -> str:
        if self.number["general"]:
            return f"{value.normalize():f}"
        decimals = self.number["decimals"] or ""
        rounded = value.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
        whole, _, rest = f"{rounded:,f}".partition(".")
        rest = rest[: decimals.count("0")] + rest[decimals.count("0") :].rstrip("0")
        whole = whole if "," in self.number["integer"] else whole.replace(",", "")
        return whole.zfill(self.number["integer"].count("0")) + (f".{rest}" if rest else "")

    def _fraction(self, value: Decimal) -> str:
        below = self.number["below"]
        if below.isdigit() and int(below):
            above, below_shown = int((value * int(below)).to_integral_value(ROUND_HALF_UP)), int(below)
        else:
            above, below_shown = Fraction(value).limit_denominator(10 ** len(below) - 1).as_integer_ratio()
        whole, rest = divmod(above, below_shown) if self.number["whole"] else (0, above)
        parts = [str(whole)] if whole or not rest else []
        return " ".join([*parts, f"{rest}/{below_shown}"] if rest else parts)


def as_shown(cell: Any) -> Any:
    """Return the value of a cell of openpyxl: a text if its format adds to a number, a date if it shows no time."""
    value = cell.value
    if isinstance(value, datetime):
        from openpyxl.styles.numbers import is_datetime

        return value.date() if is_datetime(cell.number_format) == "date" else value
    if type(value) in (int, float) and abs(value) < _LARGEST and (known := _format(cell.number_format)):
        return known.shown(value)
    return value


@lru_cache(maxsize=1024)
def _format(code: str) -> _Format | None:
    """Return a format; None if it adds nothing to a number, or is none that is read here."""
    texts, numbers, percents = ["", ""], [], 0
    for token in _TOKEN.finditer(code.replace("\\ ", " ")):
        if token["end"]:
            break
        if token["number"] or token["general"] or token["fraction"]:
            numbers.append(token)
        elif not token["ignored"]:
            literal = next((token[name] for name in ("quoted", "escaped", "currency", "other") if token[name]), "")
            percents += token["other"] == "%"
            texts[bool(numbers)] += literal
    if len(numbers) != 1 or numbers[0]["more"] or len(numbers[0]["decimals"] or "") > _DECIMALS or percents > 1:
        return None
    is_padded = (numbers[0]["integer"] or "").count("0") > 1
    adds = any(text.strip() for text in texts) or is_padded or numbers[0]["fraction"]
    return _Format(texts[0], numbers[0], texts[1], percents) if adds else None
