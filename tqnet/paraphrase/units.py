"""Units: their spellings (pint's registry and ``data/units.yaml``), their sizes, and where they occur in a text.

Names are in British spelling and the singular: "kilometre per hour", "dollar".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import NamedTuple

import pint

from tqnet.paraphrase.spans import SENTENCE_BEGINS, Covered, data
from tqnet.text.formulas import formula_character_spans
from tqnet.text.numbers import Number

_TABLES = data("units")
#: Name -> plural and sign.
_MONEY: dict[str, tuple[str, str]] = _TABLES["money"]
_BY_SIZE: dict[str, list[str]] = _TABLES["by size"]
_ALIKE: dict[str, list[str]] = _TABLES["alike"]
#: Dimensions in which a unit may be replaced by another (ParaQD, f10).
REPLACEABLE = ("Currency", "Length", "Time", "Weight", "Speed")
#: Maximum distance, in the list by size, of a unit and its replacement.
_NEAR = 2
_DIMENSIONS = {
    **{"[length]": "Length", "[time]": "Time", "[mass]": "Weight"},
    **{"[length] ** 2": "Area", "[length] ** 3": "Volume"},
}
#: pint symbols that mean something else in a question.
_NO_SYMBOLS = ("d", "t", "a", "q")


class Spelling(NamedTuple):
    """A way to write a unit: as a word or as an abbreviation or sign, in the plural or not."""

    name: str
    dimension: str
    is_word: bool
    is_plural: bool


@cache
def _registry() -> pint.UnitRegistry[float]:
    return pint.UnitRegistry()


@cache
def spellings() -> dict[str, Spelling]:
    """Return spelling -> unit, for every way to write a simple unit or a one-word speed."""
    registry = _registry()
    known: dict[str, Spelling] = {}
    for name, shorts in _TABLES["names"].items():
        dimension = _DIMENSIONS[str(registry.parse_units(name).dimensionality)]
        for word in (name, _american(name)):
            known[word] = Spelling(name, dimension, True, False)
            known[_plural(word)] = Spelling(name, dimension, True, True)
        for short in (registry.get_symbol(name), *shorts.split()):
            known.setdefault(short, Spelling(name, dimension, False, False))
    for name, shorts in _TABLES["speeds"].items():
        known |= {short: Spelling(name, "Speed", False, False) for short in shorts.split()}
    for name, (plural, _) in _MONEY.items():
        if " " not in name:  # "pounds" are a weight, unless a sign says otherwise
            known[plural] = Spelling(name, "Currency", True, True)
            known[name] = Spelling(name, "Currency", True, False)
    return {spelling: unit for spelling, unit in known.items() if spelling not in _NO_SYMBOLS}


def _american(words: str) -> str:
    return "metric ton" if words == "tonne" else re.sub(r"(met|lit)re", r"\1er", words)


def _plural(word: str) -> str:
    return _MONEY[word][0] if word in _MONEY else _TABLES["plurals"].get(word, f"{word}s")


@cache
def abbreviation(name: str) -> str:
    """Return the abbreviation of a unit, "km" of "kilometre", or its sign; empty if it is not usually abbreviated."""
    if name in _MONEY:
        return _MONEY[name][1]
    if name in _TABLES["symbols"]:
        return str(_TABLES["symbols"][name])
    symbol = _registry().get_symbol(name) if name in _TABLES["names"] else name
    return symbol if symbol != name and symbol in spellings() else ""


def money_name(sign: str) -> str:
    """Return the name of a currency by its sign."""
    return next(name for name, (_, symbol) in _MONEY.items() if symbol == sign)


def in_words(name: str, plural: bool, american: bool = False) -> str:
    """Return a unit in words: "kilometres per hour", "square feet", "pounds"; ``american``: "kilometers"."""
    head, per, time = name.removesuffix(" sterling").partition(" per ")
    *before, noun = head.split()
    words = " ".join((*before, _plural(noun) if plural else noun)) + per + time
    return re.sub(r"(met|lit)re", r"\1er", words) if american else words


@cache
def size(name: str) -> tuple[str, float]:
    """Return a unit's dimension and size: ("[length]", 1000) for a kilometre, ("dollar", 0.01) for a cent.

    Amounts are equal if value times size is, by pint's registry; currencies are not converted.
    """
    if name in _MONEY:
        hundredths = _TABLES["hundredths"]
        return hundredths.get(name, name), 0.01 if name in hundredths else 1.0
    quantity = _registry().Quantity(1, name)
    return str(quantity.dimensionality), float(quantity.to_base_units().magnitude)


def similar_units(name: str, dimension: str) -> list[str]:
    """Return units that might replace another: "minute", "second", "day" and "week" for "hour"."""
    row = _BY_SIZE.get(dimension, [])
    if name not in row:
        return [other for other in row or _ALIKE[dimension] if other != name]
    place = row.index(name)
    return [other for at, other in enumerate(row) if 0 < abs(at - place) <= _NEAR]


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
        name: British, singular name, however the text writes it: "kilometre per hour", "dollar".
        dimension: "Length", "Time", "Weight", "Speed", "Currency", "Area" or "Volume".
        plural: True for a word in the plural.
        number: The number that goes with it.
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
_NEEDS_NUMBER = frozenset(_TABLES["need a number"].split())
_AMBIGUOUS = frozenset(_TABLES["ambiguous"].split())
_PER = re.compile(r"(?:\bper|\beach|\bevery|\ban?|\bone|/)[\s-]*$", re.IGNORECASE)
_CALCULATES = re.compile(r"['’]|\s*[=+*^×](?!\s*$)|\s*-\s*[\da-z]\b")
_INCHES = re.compile(r"\s*(?:$|[.,;:?!)]|(?:by|long|wide|tall|high|deep|thick|in)\b|[x×]\s?\d)")
_ENDS_CLAUSE = re.compile(r"\s*(?:$|[.,;:?!)]|and\b|or\b)")


@cache
def _pattern() -> re.Pattern[str]:
    spelled = sorted(spellings(), key=len, reverse=True)
    times = "|".join(word for word in spelled if spellings()[word].dimension == "Time")
    return re.compile(
        r"(?<![A-Za-z$\\])(?:(?P<power>square|cubic|sq|cu)(?:\s?\.)?[\s-]?)?"
        rf"(?P<unit>{'|'.join(map(re.escape, spelled))})"
        rf"(?:(?P<raised>\^?[23](?!\d)|[²³])|(?:\s?(?P<slash>/)\s?|\s+(?P<per>per|an?)\s+)(?P<time>{times}))?"
        r"(?![A-Za-z0-9]|-[a-z]+ly\b)",
        re.IGNORECASE,
    )


def find_units(text: str, numbers: Sequence[Number]) -> list[Unit]:
    """Return the units of a text in order, outside LaTeX formulas.

    Args:
        numbers: The numbers of the text, by `tqnet.text.numbers.find_numbers`.
    """
    formulas = Covered(formula_character_spans(text))
    ends = {number.end: number for number in numbers}
    inside = Covered(number.outer if number.sign else number.span for number in numbers)
    units = list(_of_money(numbers))
    position = 0
    while match := _pattern().search(text, position):
        position = match.end("unit")
        if match.start() in formulas or match.start() in inside:
            continue
        before = len(text[: match.start()].rstrip(" \u00a0-\n"))  # "5 km", "5-km", "5km"
        number = ends.get(before) if match.start() - before <= 3 else None
        if unit := _read(text, match, number):
            units.append(unit)
            position = unit.end  # "per hour" after dollars is a unit of its own
    return sorted(units, key=lambda unit: unit.start)


def _of_money(numbers: Sequence[Number]) -> Iterator[Unit]:
    for number in numbers:
        if not number.sign or number.sign == "%":
            continue
        name, (start, end) = money_name(number.sign), number.outer
        if number.after > len(" ¢"):  # "five dollars and ten cents"
            yield Unit(start, end, name, "Currency", Form.AMOUNT, number=number)
        else:
            place = (number.end, end) if number.after else (start, number.start)
            yield Unit(*place, name, "Currency", Form.SIGN, number=number)


def _read(text: str, match: re.Match[str], number: Number | None) -> Unit | None:
    unit = _spelling(match["unit"])
    if unit is None or not _is_meant(text, match, unit, number):
        return None
    name, dimension, is_word, plural = unit
    end = match.end("unit")
    written_power = (match["power"] or "").lower()
    power = _POWERS.get(written_power) or _RAISED.get((match["raised"] or "")[-1:])
    time = _spelling(match["time"]) if match["time"] else None
    if power and dimension != "Length":
        return None
    if power:
        is_word = is_word and written_power in ("square", "cubic")
        end = match.end("raised") if match["raised"] else end  # "per hour" is a unit of its own
        name, dimension = f"{power} {name}", "Area" if power == "square" else "Volume"
    elif time and dimension == "Length":
        is_word = is_word and time.is_word and not match["slash"]
        name, dimension, end = f"{name} per {time.name}", "Speed", match.end()
    return Unit(match.start(), end, name, dimension, Form.WORD if is_word else Form.ABBREVIATED, plural, number)


def _spelling(written: str) -> Spelling | None:
    """Look up a spelling; case matters only for one-letter abbreviations: "5 M" does not mean metres."""
    known = spellings()
    return known.get(written) or (known.get(written.lower()) if len(written) > 1 else None)


def _is_meant(text: str, match: re.Match[str], unit: Spelling, number: Number | None) -> bool:
    """Return True unless the word means something else here."""
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
    if written[0].isupper() and number is None and not SENTENCE_BEGINS.search(text, 0, match.start()):
        return False  # New Year
    return unit.is_plural or written.lower() not in _AMBIGUOUS or number is not None or per
