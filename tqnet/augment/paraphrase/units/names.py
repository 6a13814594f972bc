"""What units are called: names, plurals, abbreviations and dimensions, from pint's registry and a small table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pint

#: The dimensions within which a unit may give way to another (ParaQD, f10).
REPLACEABLE = ("Currency", "Length", "Time", "Weight", "Speed")

#: By pint's names; what pint abbreviates them to is read from its registry.
_NAMES = """
    millimeter centimeter decimeter meter kilometer inch foot yard mile
    second minute hour day week month year
    milligram gram kilogram metric_ton ton pound ounce
    hectare acre
    milliliter liter gallon quart pint cup
"""
_DIMENSIONS = {
    "[length]": "Length",
    "[time]": "Time",
    "[mass]": "Weight",
    "[length] ** 2": "Area",
    "[length] ** 3": "Volume",
}
#: Abbreviations that word problems use and pint has not, or takes for something else.
_ABBREVIATED = {
    "meter": "mtr mtrs",
    "kilometer": "kms",
    "centimeter": "cms",
    "second": "sec secs",
    "minute": "mins",
    "hour": "hr hrs",
    "week": "wk wks",
    "month": "mo",
    "year": "yr yrs",
    "gram": "gm gms",
    "kilogram": "kgs",
    "pound": "lbs",
    "liter": "L lit ltr ltrs",
    "milliliter": "mL cc",
    "gallon": "gals",
    "ounce": "ozs",
}
_PLURALS = {"foot": "feet", "inch": "inches"}
#: Speeds in one word.
_SPEEDS = {
    "kilometre per hour": "kmph kmh kph kmhr kmphr",
    "mile per hour": "mph",
    "metre per second": "mps",
    "foot per second": "fps",
}
#: Names, plurals and signs of money.
_MONEY = {
    "dollar": ("dollars", "$"),
    "cent": ("cents", "¢"),
    "pound sterling": ("pounds sterling", "£"),
    "euro": ("euros", "€"),
    "rupee": ("rupees", "₹"),
    "yen": ("yen", "¥"),
    "penny": ("pennies", ""),
    "paisa": ("paise", ""),
}
#: What money is divided into a hundred of.
_HUNDREDTHS = {"cent": "dollar", "penny": "dollar", "paisa": "rupee"}


@dataclass(frozen=True, slots=True)
class Spelling:
    """A way to write a unit."""

    name: str
    """In British spelling and the singular: "kilometre"."""
    dimension: str
    is_word: bool
    """Rather than an abbreviation or a sign."""
    is_plural: bool


@cache
def _registry() -> pint.UnitRegistry[float]:
    return pint.UnitRegistry()


@cache
def spellings() -> dict[str, Spelling]:
    """Every way to write a simple unit, or a speed in one word -> what it is."""
    registry = _registry()
    found: dict[str, Spelling] = {}
    for american in _NAMES.split():
        name, dimension = _british(american), _DIMENSIONS[str(registry.parse_units(american).dimensionality)]
        for word in {name, american.replace("metric_ton", "metric ton")}:
            found[word] = Spelling(name, dimension, True, False)
            found[_PLURALS.get(word, f"{word}s")] = Spelling(name, dimension, True, True)
        for short in {registry.get_symbol(american), *_ABBREVIATED.get(american, "").split()} - {american}:
            found.setdefault(short, Spelling(name, dimension, False, False))
    for name, shorts in _SPEEDS.items():
        found |= {short: Spelling(name, "Speed", False, False) for short in shorts.split()}
    for name, (plural, _) in _MONEY.items():
        word = name.removesuffix(" sterling")
        if word == name:  # "pounds" are a weight, unless a sign says otherwise
            found[plural] = Spelling(name, "Currency", True, True)
            found[name] = Spelling(name, "Currency", True, False)
    return {spelling: unit for spelling, unit in found.items() if spelling not in ("d", "t", "a", "q")}


@cache
def _symbols() -> dict[str, str]:
    registry = _registry()
    short = {_british(american): registry.get_symbol(american) for american in _NAMES.split()}
    short |= {"second": "sec", "hour": "hr", "mile": "mi", "litre": "L", "millilitre": "ml"}
    speeds = {
        "kilometre per hour": "km/h",
        "mile per hour": "mph",
        "metre per second": "m/s",
        "foot per second": "ft/s",
    }
    return {name: symbol for name, symbol in short.items() if symbol in spellings() and symbol != name} | speeds


def abbreviation(name: str) -> str:
    """How a unit is abbreviated, "km" of "kilometre", or its sign; nothing where it is not usually."""
    return _MONEY[name][1] if name in _MONEY else _symbols().get(name, "")


def money_name(sign: str) -> str:
    """What the sign of a currency is called."""
    return next(name for name, (_, own) in _MONEY.items() if own == sign)


def in_words(name: str, plural: bool, american: bool = False) -> str:
    """A unit in words: "kilometres per hour", "square feet", "pounds".

    Args:
        name: As Unit has it, in the singular.
        american: "kilometers" instead.
    """
    head, per, of = name.removesuffix(" sterling").partition(" per ")
    *before, noun = head.split()
    if plural:
        noun = _MONEY[noun][0] if noun in _MONEY else _PLURALS.get(noun, f"{noun}s")
    words = " ".join((*before, noun)) + per + of
    return re.sub(r"(met|lit)re", r"\1er", words) if american else words


@cache
def size(name: str) -> tuple[str, float]:
    """What a unit is an amount of, and how large it is: ("[length]", 1000) of a kilometre, ("dollar", 0.01) of a cent.

    Amounts are the same where their values times this are, by pint's registry; currencies have no rates.

    Args:
        name: As Unit has it: "square centimetre", "kilometre per hour".
    """
    if name in _MONEY:
        return _HUNDREDTHS.get(name, name), 0.01 if name in _HUNDREDTHS else 1.0
    one = _registry().Quantity(1, name)
    return str(one.dimensionality), float(one.to_base_units().magnitude)


#: By size; money and speeds are all alike.
_BY_SIZE = {
    "Length": ("millimetre", "centimetre", "inch", "foot", "yard", "metre", "kilometre", "mile"),
    "Time": ("second", "minute", "hour", "day", "week", "month", "year"),
    "Weight": ("milligram", "gram", "ounce", "pound", "kilogram", "ton"),
}
_ALIKE = {
    "Currency": ("dollar", "cent", "euro", "pound sterling", "rupee"),
    "Speed": ("kilometre per hour", "mile per hour", "metre per second", "foot per second", "metre per minute"),
}
#: How many places apart two units of a size are that may be taken for each other.
_NEAR = 2


def similar_units(name: str, dimension: str) -> list[str]:
    """The units that might stand in the place of one: "minute", "second", "day" and "week" for "hour"."""
    row = _BY_SIZE.get(dimension, ())
    if name not in row:
        return [other for other in row or _ALIKE[dimension] if other != name]
    place = row.index(name)
    return [other for at, other in enumerate(row) if 0 < abs(at - place) <= _NEAR]


def _british(american: str) -> str:
    return "tonne" if american == "metric_ton" else re.sub(r"(met|lit)er$", r"\1re", american)
