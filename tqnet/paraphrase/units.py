"""Finding the units of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

import pint

from tqnet.paraphrase.spans import Covered
from tqnet.text.formulas import formula_character_spans
from tqnet.text.numbers import Number

# What units are called: names, plurals, abbreviations and dimensions, from pint's registry and a small table.


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
    formulas = Covered(formula_character_spans(text))
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
