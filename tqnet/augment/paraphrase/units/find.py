"""Finding the units of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from tqnet.augment.paraphrase.spans import Covered
from tqnet.augment.paraphrase.units.names import Spelling, money_name, spellings
from tqnet.text.numbers import Number
from tqnet.text.spans import formula_spans


class Form(Enum):
    """How a unit is written: in full, abbreviated, as the sign of a currency, or as an amount of two units."""

    WORD = "word"
    ABBREVIATED = "abbreviated"
    SIGN = "sign"
    AMOUNT = "amount"


@dataclass(frozen=True, slots=True)
class Unit:
    """``text[start:end]``, a unit.

    Attributes:
        name: In British spelling and the singular, whatever the text has: "kilometre per hour", "dollar".
        dimension: "Length", "Time", "Weight", "Speed", "Currency", "Area" or "Volume".
        plural: Whether a word is in the plural.
        number: What is measured in it, where a number stands at it.
    """

    start: int
    end: int
    name: str
    dimension: str
    form: Form
    plural: bool = False
    number: Number | None = None


_POWERS = {"square": "square", "sq": "square", "cubic": "cubic", "cu": "cubic"}
_RAISED = {"2": "square", "²": "square", "3": "cubic", "³": "cubic"}
_ODD = "in m g s h l min mi mo cc lit gal gals pt qt cp ha dm"
#: Abbreviations that are words or names too: a unit only where a number stands at them.
_NEEDS_NUMBER = frozenset(_ODD.split())
#: Words that mean something else too: a unit in the singular only where a number or "per" stands at them.
_AMBIGUOUS = frozenset(("foot", "yard", "pound", "ton", "cup", "pint", "second", "minute", "quart"))
_PER = re.compile(r"(?:\bper|\beach|\bevery|\ban?|\bone|/)[\s-]*$", re.IGNORECASE)
_CALCULATES = re.compile(r"['’]|\s*[=+*^×](?!\s*$)|\s*-\s*[\da-z]\b")
_INCHES = re.compile(r"\s*(?:$|[.,;:?!)]|(?:by|long|wide|tall|high|deep|thick|in)\b|[x×]\s?\d)")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.?!])\s*$")
_ENDS_CLAUSE = re.compile(r"\s*(?:$|[.,;:?!)]|and\b|or\b)")


@cache
def _pattern() -> re.Pattern[str]:
    written = sorted(spellings(), key=len, reverse=True)
    times = "|".join(short for short in written if spellings()[short].dimension == "Time")
    return re.compile(
        r"(?<![A-Za-z$\\])(?:(?P<power>square|cubic|sq|cu)(?:\s?\.)?[\s-]?)?"
        rf"(?P<unit>{'|'.join(map(re.escape, written))})"
        rf"(?:(?P<raised>\^?[23](?!\d)|[²³])|(?:\s?(?P<slash>/)\s?|\s+(?P<per>per|an?)\s+)(?P<time>{times}))?"
        r"(?![A-Za-z0-9]|-[a-z]+ly\b)",
        re.IGNORECASE,
    )


def find_units(text: str, numbers: Sequence[Number]) -> list[Unit]:
    """The units of a text in their order, outside of LaTeX formulas.

    Args:
        numbers: Those that `tqnet.text.numbers.find_numbers` finds in the text.
    """
    formulas = Covered(formula_spans(text))
    ends = {number.end: number for number in numbers}
    inside = Covered(number.outer if number.sign else number.span for number in numbers)
    found = list(_of_money(numbers))
    position = 0
    while match := _pattern().search(text, position):
        position = match.end("unit")
        if match.start() in formulas or match.start() in inside:
            continue
        unit = _read(text, match, _number_before(text, match.start(), ends))
        if unit is not None:
            found.append(unit)
            position = unit.end  # "per hour" behind dollars is a unit of its own
    return sorted(found, key=lambda unit: unit.start)


def _of_money(numbers: Sequence[Number]) -> Iterator[Unit]:
    for number in numbers:
        if not number.sign or number.sign == "%":
            continue
        name, (start, end) = money_name(number.sign), number.outer
        if number.after > len(" ¢"):  # "five dollars and ten cents"
            yield Unit(start, end, name, "Currency", Form.AMOUNT, number=number)
        elif number.after:
            yield Unit(number.end, end, name, "Currency", Form.SIGN, number=number)
        else:
            yield Unit(start, number.start, name, "Currency", Form.SIGN, number=number)


def _number_before(text: str, place: int, ends: dict[int, Number]) -> Number | None:
    """The number that a unit at ``place`` measures: "5 km", "5-km", "5km"."""
    before = len(text[:place].rstrip(" \u00a0-\n"))
    return ends.get(before) if place - before <= 3 else None


def _read(text: str, match: re.Match[str], number: Number | None) -> Unit | None:
    unit = _spelling(match["unit"])
    if unit is None or not _is_meant(text, match, unit, number):
        return None
    end, is_word = match.end(), unit.is_word
    power = _POWERS.get((match["power"] or "").lower()) or _RAISED.get((match["raised"] or "")[-1:])
    if power and unit.dimension == "Length":
        is_word = is_word and (match["power"] or "").lower() in ("square", "cubic")
        dimension = "Area" if power == "square" else "Volume"
        end = match.end("raised") if match["raised"] else match.end("unit")  # "per hour" is a unit of its own
        return _unit(match.start(), end, f"{power} {unit.name}", dimension, is_word, unit.is_plural, number)
    if power:
        return None
    time = _spelling(match["time"]) if match["time"] else None
    if time and unit.dimension == "Length":
        is_word = is_word and time.is_word and not match["slash"]
        return _unit(match.start(), end, f"{unit.name} per {time.name}", "Speed", is_word, unit.is_plural, number)
    return _unit(match.start(), match.end("unit"), unit.name, unit.dimension, is_word, unit.is_plural, number)


def _unit(start: int, end: int, name: str, dimension: str, is_word: bool, plural: bool, number: Number | None) -> Unit:
    return Unit(start, end, name, dimension, Form.WORD if is_word else Form.ABBREVIATED, plural, number)


def _spelling(written: str) -> Spelling | None:
    """Of an abbreviation of one letter its case matters: "5 M" are no metres."""
    known = spellings()
    return known.get(written) or (known.get(written.lower()) if len(written) > 1 else None)


def _is_meant(text: str, match: re.Match[str], unit: Spelling, number: Number | None) -> bool:
    """Whether it is a unit here."""
    written, end = match["unit"], match.end("unit")
    per = _PER.search(text, max(0, match.start() - 8), match.start()) is not None
    if written.lower() == "in" and not match["raised"]:
        return number is not None and _INCHES.match(text, end) is not None
    if not unit.is_word:
        is_odd = written.lower() in _NEEDS_NUMBER or written[0].isupper()
        if number is None and not match["power"] and not match["slash"] and is_odd:
            return per and len(written) > 1
        return len(written) > 1 or match["slash"] is not None or not _CALCULATES.match(text, end)
    if written.lower() == "second" and number is None:
        return per and (match["per"] is not None or _ENDS_CLAUSE.match(text, end) is not None)
    if written.lower() == "cent" and text[: match.start()].lower().endswith("per "):
        return False
    if written[0].isupper() and number is None and not _SENTENCE_BEGINS.search(text, 0, match.start()):
        return False  # New Year
    return unit.is_plural or written.lower() not in _AMBIGUOUS or number is not None or per
