"""Units that a paraphrase lost or changed; abbreviated or in full, they are the same."""

from __future__ import annotations

import re
from collections import defaultdict

from tqnet.augment.paraphrase.problem import Problem
from tqnet.augment.paraphrase.units import Form, Unit, in_words
from tqnet.paraphrase.difference import Change, Difference, Part
from tqnet.paraphrase.numbers import by_value

_PER_BEFORE = re.compile(r"(?:\b(?:per|an?|each|every|one)|/)\s*$", re.IGNORECASE)


def unit_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """First what one number is measured in, then which units the whole text has; "km/h" has kilometres and hours.

    A unit that is named less often is not lost: "3 and 5 miles" has the miles of "3 miles and 5 miles".
    """
    changed = _of_numbers(original, paraphrase)
    before, after = _parts(original), _parts(paraphrase)
    gone = {name: unit for name, unit in before.items() if not (name in after or _reads(name, paraphrase.text))}
    fresh = {name: unit for name, unit in after.items() if not (name in before or _reads(name, original.text))}
    for old, new in changed:
        gone.pop(_head(old), None)
        fresh.pop(_head(new), None)
    for name, unit in list(gone.items()):
        other = next((at for at, candidate in fresh.items() if candidate.dimension == unit.dimension), None)
        if other is not None:
            changed.append((gone.pop(name), fresh.pop(other)))
    return [
        *(
            Difference(Part.UNIT, Change.CHANGED, _written(original.text, old), _written(paraphrase.text, new))
            for old, new in changed
        ),
        *(Difference(Part.UNIT, Change.LOST, before=_part(original.text, name, unit)) for name, unit in gone.items()),
        *(Difference(Part.UNIT, Change.NEW, after=_part(paraphrase.text, name, unit)) for name, unit in fresh.items()),
    ]


def _of_numbers(original: Problem, paraphrase: Problem) -> list[tuple[Unit, Unit]]:
    """Units of a number that are others now, each change once: "5 miles" and "5 km"."""
    before, after = _by_number(original), _by_number(paraphrase)
    changed: dict[tuple[str, str], tuple[Unit, Unit]] = {}
    for value in before.keys() & after.keys():
        old = [unit for head, unit in before[value].items() if head not in after[value]]
        new = [unit for head, unit in after[value].items() if head not in before[value]]
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


def _parts(problem: Problem) -> dict[str, Unit]:
    """The simple units of a text -> where they first stand."""
    found: dict[str, Unit] = {}
    for unit in problem.units:
        if _measures(problem, unit):
            for name in unit.name.split(" per "):
                found.setdefault(name, unit)
    return found


def _measures(problem: Problem, unit: Unit) -> bool:
    """Whether it is more than a word of the story: "One day, ..."."""
    bare = unit.form is Form.WORD and not unit.plural and unit.number is None
    return not bare or _PER_BEFORE.search(problem.text, max(0, unit.start - 16), unit.start) is not None


def _reads(name: str, text: str) -> bool:
    """Whether a text has a unit in words where the extractor, which looks behind numbers, sees none: "Rupees 5"."""
    words = {in_words(name, plural, american) for plural in (False, True) for american in (False, True)}
    return re.search(rf"\b(?:{'|'.join(words)})\b", text, re.IGNORECASE) is not None


def _head(unit: Unit) -> str:
    return unit.name.partition(" per ")[0]


def _part(text: str, name: str, unit: Unit) -> str:
    """A simple unit as it is written; where it is part of a speed, its name."""
    return _written(text, unit) if name == unit.name else name


def _written(text: str, unit: Unit) -> str:
    return unit.name if unit.form is Form.AMOUNT else text[unit.start : unit.end].strip()
