"""What counts as a unit, and which it is."""

from __future__ import annotations

import pytest

from tqnet.paraphrase.units import REPLACEABLE, abbreviation, find_units, in_words, similar_units, size
from tqnet.text.numbers import find_numbers


def seen(text: str) -> list[tuple[str, str]]:
    return [(text[unit.start : unit.end], unit.name) for unit in find_units(text, find_numbers(text))]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("1 km, 5km, 5-km, 3 kilometers", [("km", "kilometre")] * 3 + [("kilometers", "kilometre")]),
        ("20 kmph, 9 km / hr", [("kmph", "kilometre per hour"), ("km / hr", "kilometre per hour")]),
        ("60 miles an hour, 3 m/s", [("miles an hour", "mile per hour"), ("m/s", "metre per second")]),
        (
            "5 sq. m, 20 cm^2, 3 cubic feet",
            [("sq. m", "square metre"), ("cm^2", "square centimetre"), ("cubic feet", "cubic foot")],
        ),
        ("$5 an hour, rs . 2 per kg", [("$", "dollar"), ("hour", "hour"), ("rs . ", "rupee"), ("kg", "kilogram")]),
        ("$9 per hour", [("$", "dollar"), ("hour", "hour")]),
        ("five dollars and ten cents", [("five dollars and ten cents", "dollar")]),
        ("6 in x 3 in. but 4 in the box", [("in", "inch"), ("in", "inch")]),
        ("27 in³", [("in³", "cubic inch")]),
        ("240 m ahead, 10 lbs, 3 min", [("m", "metre"), ("lbs", "pound"), ("min", "minute")]),
        ("how many hours each day", [("hours", "hour"), ("day", "day")]),
        ("the second row, 5 feet per second", [("feet per second", "foot per second")]),
        ("a second.", [("second", "second")]),
        ("3 m + 5 n = 2, m = 4, 6 M, in the yard, on foot, 5 per cent, Monday, New Year, Oz", []),
        (r"$5 km$ is $v=3$ m", []),
        ("", []),
    ],
)
def test_units(text: str, units: list[tuple[str, str]]) -> None:
    assert seen(text) == units


def test_a_unit_knows_its_number() -> None:
    units = find_units(text := "walks 2 km in half an hour", find_numbers(text))
    assert [unit.number and str(unit.number.value) for unit in units] == ["2", None]


def test_sizes() -> None:
    assert size("kilometre") == ("[length]", 1000)
    assert size("cent") == ("dollar", 0.01)
    assert size("week")[1] == 7 * size("day")[1]
    assert size("square metre")[1] == pytest.approx(10_000 * size("square centimetre")[1])
    assert size("kilometre per hour")[0] == size("metre per second")[0]


def test_names() -> None:
    assert in_words("kilometre per hour", plural=True) == "kilometres per hour"
    assert in_words("kilometre per hour", plural=False, american=True) == "kilometer per hour"
    assert (in_words("square foot", plural=True), in_words("inch", plural=True)) == ("square feet", "inches")
    assert (abbreviation("kilometre"), abbreviation("day"), abbreviation("dollar")) == ("km", "", "$")


@pytest.mark.parametrize("dimension", REPLACEABLE)
def test_similar_units_are_others(dimension: str) -> None:
    for name in similar_units("", dimension):
        others = similar_units(name, dimension)
        assert others
        assert name not in others
    assert "day" in similar_units("hour", "Time")
    assert "year" not in similar_units("second", "Time")
