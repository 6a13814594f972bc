"""Units that a paraphrase lost or changed; abbreviated or in full, they are the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from tqnet.paraphrase.check.amounts import Amounts
from tqnet.paraphrase.check.clock import TimesOfDay
from tqnet.paraphrase.check.coins import COINS
from tqnet.paraphrase.check.days import NAMED
from tqnet.paraphrase.check.difference import Change, Difference, Part
from tqnet.paraphrase.check.values import by_value
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.units import Form, Unit, in_words
from tqnet.text.numbers import CARDINALS

_PER_BEFORE = re.compile(r"(?:\b(?:per|an?|each|every|one)|/)\s*$", re.IGNORECASE)
#: A unit behind it is what the answer is in, or the answer's name: "how long" asks for it as well.
_ASKED_BEFORE = re.compile(r"\b(?:many|much|number of|in|into|to)\s+(?:the\s+)?$", re.IGNORECASE)
#: "Ann is 9 years old" is "Ann is 9".
_OF_AGE = re.compile(r"[\s-]*(?:old|of\s+age|younger)\b", re.IGNORECASE)
_AGE_BEFORE = re.compile(r"\b(?:ages?|aged)\b[^\d.?!]*$", re.IGNORECASE)
_NEAR = 60
#: Of a story, not of a rate: "one day, ...".
_ONE_DAY = re.compile(r"(?<!in )(?<!for )(?<!per )(?<!of )(?<!within )\bone\s+$", re.IGNORECASE)
#: What units are called besides.
_ALSO = {
    "hour": ("hourly",),
    "day": ("daily", *NAMED),
    "week": ("weekly",),
    "month": ("monthly",),
    "year": ("yearly", "annual", "annually", "annum"),
    "dollar": ("buck", "bucks", "usd"),
    "rupee": ("inr",),
    "euro": ("eur",),
    "pound sterling": ("gbp", "quid"),
    "pound": ("quid",),
    "kilogram": ("kilo", "kilos"),
    "penny": ("pence",),
    "cent": (*COINS, *(f"{coin}s" for coin in COINS)),
}
#: What stands for a unit behind a digit: 5'8", 50p.
_MARKS = {"foot": "['′’]", "inch": "[\"″”]|['′’]{2}", "penny": r"p\b", "paisa": r"p\b"}
#: Signs and abbreviations that no number in digits stands at: "Rs. twenty", "per m²".
_CARDINAL = rf"(?:{'|'.join(CARDINALS)}|hundred|thousand|half)"
_IN_WORDS = rf"\.?\s?{_CARDINAL}\b"
_SIGNS = {
    "dollar": rf"\${_IN_WORDS}",
    "rupee": rf"\bRs{_IN_WORDS}|\b{_CARDINAL}\s+Rs\b",
    "euro": f"€{_IN_WORDS}",
    "pound sterling": f"£{_IN_WORDS}",
} | {
    f"square {name}": rf"\b{short}(?:²|\^2)"
    for name, short in {"metre": "m", "centimetre": "cm", "kilometre": "km", "foot": "ft", "inch": "in"}.items()
}
_RATE = re.compile(r"\s*(?:(?:for\s+)?(?:each|every)|per|an?|/)\s*", re.IGNORECASE)


def unit_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """First what one number is measured in, then which units the whole text has; "km/h" has kilometres and hours.

    A unit that is named less often is not lost: "3 and 5 miles" has the miles of "3 miles and 5 miles". Nor is one of
    an amount that the other text has in another unit, "90 minutes" of "1.5 hours", or one that is only asked for, "how
    many hours" of "how long".
    """
    here, there = Amounts(original), Amounts(paraphrase)
    changed = [
        (old, new)
        for old, new in _of_numbers(original, paraphrase)
        if not (there.has(old, here) and here.has(new, there))
    ]
    before, after = _parts(original), _parts(paraphrase)
    gone = {
        name: left
        for name, units in before.items()
        if name not in after and (left := _not_otherwise(name, units, here, paraphrase, there))
    }
    fresh = {
        name: left
        for name, units in after.items()
        if name not in before and (left := _not_otherwise(name, units, there, original, here))
    }
    for old, new in changed:
        for names, unit in ((gone, old), (fresh, new)):
            for name in _of_either(unit.name).split(" per "):
                names.pop(name, None)
    for name, (unit, *_) in list(gone.items()):
        other = next((at for at, (candidate, *_) in fresh.items() if candidate.dimension == unit.dimension), None)
        if other is not None:
            changed.append((gone.pop(name)[0], fresh.pop(other)[0]))
    lost = {name: units[0] for name, units in gone.items() if not _need_not_be(original, units, paraphrase)}
    added = {name: units[0] for name, units in fresh.items() if not _need_not_be(paraphrase, units, original)}
    return [
        *(
            Difference(Part.UNIT, Change.CHANGED, _written(original.text, old), _written(paraphrase.text, new))
            for old, new in changed
        ),
        *(Difference(Part.UNIT, Change.LOST, before=_part(original.text, name, unit)) for name, unit in lost.items()),
        *(Difference(Part.UNIT, Change.NEW, after=_part(paraphrase.text, name, unit)) for name, unit in added.items()),
    ]


def _not_otherwise(name: str, units: Sequence[Unit], own: Amounts, other: Problem, others: Amounts) -> list[Unit]:
    """Those of the units of one name that the other text has in no other way."""
    return [] if reads(name, other.text) else [unit for unit in units if not others.has(unit, own)]


def _need_not_be(problem: Problem, units: Sequence[Unit], other: Problem) -> bool:
    return (
        _only_asked_for(problem, units, other)
        or _are_of_ages(problem, units, other)
        or _are_of_times(problem, units, other)
    )


def _are_of_times(problem: Problem, units: Sequence[Unit], other: Problem) -> bool:
    """Whether units are those of "two hours later", which the other text tells as a time of day."""
    if any(unit.name not in ("hour", "minute") or unit.number is None for unit in units):
        return False
    own, others = TimesOfDay(problem), TimesOfDay(other)
    return all(others.tells_later(unit.number, own) for unit in units if unit.number)


def _are_of_ages(problem: Problem, units: Sequence[Unit], other: Problem) -> bool:
    """Whether units are years of ages that the other text has too: "an age of 30"."""
    numbers = [unit.number for unit in units if unit.name == "year" and unit.number is not None]
    if len(numbers) < len(units):
        return False
    ages, others = (
        {
            number.value
            for number in one.numbers
            if _AGE_BEFORE.search(one.text, max(0, number.start - _NEAR), number.start)
        }
        for one in (problem, other)
    )
    return all(number.value in ages & others for number in numbers)


def _only_asked_for(problem: Problem, units: Sequence[Unit], other: Problem) -> bool:
    """Whether units are but those of the answer, and the other text asks too."""
    if problem.question is None or other.question is None:
        return False
    start, end = problem.question
    return all(
        unit.number is None
        and start <= unit.start < end
        and _ASKED_BEFORE.search(problem.text, max(0, unit.start - 16), unit.start) is not None
        for unit in units
    )


def _of_numbers(original: Problem, paraphrase: Problem) -> list[tuple[Unit, Unit]]:
    """Units of a number that are others now, each change once: "5 miles" and "5 km", "$5 an hour" and "$5 a day"."""
    changed: dict[tuple[str, str], tuple[Unit, Unit]] = {}
    for of in (_by_number, _rates):
        before, after = of(original), of(paraphrase)
        for value in before.keys() & after.keys():
            old = [unit for name, unit in before[value].items() if name not in after[value]]
            new = [unit for name, unit in after[value].items() if name not in before[value]]
            if len(old) == len(new) == 1:
                changed[old[0].name, new[0].name] = old[0], new[0]
    return sorted(changed.values(), key=lambda pair: pair[0].start)


def _by_number(problem: Problem) -> dict[object, dict[str, Unit]]:
    values = {number: value for value, own in by_value(problem).items() for number in own}
    found: dict[object, dict[str, Unit]] = defaultdict(dict)
    for unit in problem.units:
        if unit.number is not None:
            found[values[unit.number]].setdefault(_head(unit), unit)
    return found


def _rates(problem: Problem) -> dict[object, dict[str, Unit]]:
    """Value -> the units that it is told for one of."""
    values = {number: value for value, own in by_value(problem).items() for number in own}
    found: dict[object, dict[str, Unit]] = defaultdict(dict)
    for unit, following in pairwise([*problem.units, None]):
        if unit is None or unit.number is None:
            continue
        of_one = _of_either(unit.name).partition(" per ")[2]
        if of_one:
            found[values[unit.number]].setdefault(of_one, unit)
        elif following is not None and following.number is None:
            end = max(unit.end, unit.number.outer[1])
            if _RATE.fullmatch(problem.text, end, following.start):
                found[values[unit.number]].setdefault(following.name, following)
    return found


def _parts(problem: Problem) -> dict[str, list[Unit]]:
    """The simple units of a text -> where they stand."""
    found: dict[str, list[Unit]] = {}
    for unit in problem.units:
        if _measures(problem, unit):
            for name in _of_either(unit.name).split(" per "):
                found.setdefault(name, []).append(unit)
    return found


def _measures(problem: Problem, unit: Unit) -> bool:
    """Whether it is more than a word of the story: "One day, ...", or "old"."""
    text = problem.text
    if unit.name == "year" and _OF_AGE.match(text, unit.end):
        return False
    if unit.form is not Form.WORD or unit.plural:
        return True
    if unit.name == "day" and _ONE_DAY.search(text, max(0, unit.start - 16), unit.start):
        return False
    return unit.number is not None or _PER_BEFORE.search(text, max(0, unit.start - 16), unit.start) is not None


def reads(name: str, text: str) -> bool:
    """Whether a text names a unit, also where the extractor, which looks behind numbers, sees none: "Rupees 5"."""
    words = {in_words(name, plural, american) for plural in (False, True) for american in (False, True)}
    words.update(_ALSO.get(name, ()))
    mark = rf"|\d\s?(?:{_MARKS[name]})" if name in _MARKS else ""
    sign = f"|{_SIGNS[name]}" if name in _SIGNS else ""
    return re.search(rf"(?<![^\W\d_])(?:{'|'.join(words)})\b{mark}{sign}", text, re.IGNORECASE) is not None


def _head(unit: Unit) -> str:
    return _of_either(unit.name).partition(" per ")[0]


def _of_either(name: str) -> str:
    """ "5 pounds" are a weight or money."""
    return name.removesuffix(" sterling")


def _part(text: str, name: str, unit: Unit) -> str:
    """A simple unit as it is written; where it is part of a speed, its name."""
    return _written(text, unit) if name == _of_either(unit.name) else name


def _written(text: str, unit: Unit) -> str:
    return unit.name if unit.form is Form.AMOUNT else text[unit.start : unit.end].strip()
