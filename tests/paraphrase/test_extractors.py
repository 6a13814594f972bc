"""What the operators and the check see in a text: sentences, the question asked, names, units, places."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.paraphrase.problem import LONGEST, NotApplicable, Parser
from tqnet.paraphrase.spans import Covered, asked_question, outside_formulas, sentences
from tqnet.paraphrase.units import REPLACEABLE, abbreviation, find_units, in_words, similar_units, size
from tqnet.text.numbers import find_numbers

SPANS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 10)).map(lambda span: (span[0], span[0] + span[1])), max_size=8
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Tom has 3.5 kg. How many?", ["Tom has 3.5 kg.", "How many?"]),
        ("it costs rs . 150 . find it .", ["it costs rs . 150 .", "find it ."]),
        ("the l . c . m of 2 is 4 . why ?", ["the l . c . m of 2 is 4 .", "why ?"]),
        ("It is 5 ft. long. Mr. Lee has it.", ["It is 5 ft. long.", "Mr. Lee has it."]),
        ("a costs $ 5.25 . b costs $ 2.99 . why ?", ["a costs $ 5.25 .", "b costs $ 2.99 .", "why ?"]),
        ("甲有3元。共多少？", ["甲有3元。", "共多少？"]),
        ("... !", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == parts


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Tom has 3. How many has he? He is 5.", "How many has he?"),
        ("Tom has 3. Find the sum.", "Find the sum."),
        ("x is 5 . the value of y is :", "the value of y is :"),
        ("Tom has 3. He is 5.", None),
        ("", None),
    ],
)
def test_the_question_that_is_asked(text: str, asked: str | None) -> None:
    span = asked_question(text)
    assert (span and text[slice(*span)]) == asked


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Natalia sold 5 clips in April. Natalia's friend Tom is in New York.",
            ["Natalia PERSON 2", "April MONTH 1", "Natalia PERSON 2", "Tom PERSON 1", "New York GPE 1"],
        ),
        ("In triangle ABC, AB = 5 and point D lies on BC. Find AC.", []),
        ("Lisa has 5 TVs. How many has Lisa on Monday?", ["Lisa PERSON 2", "Lisa PERSON 2", "Monday WEEKDAY 1"]),
        ("machine a makes 100 parts .", []),
        ("", []),
    ],
)
def test_names(parse: Parser, text: str, names: list[str]) -> None:
    assert [f"{entity.name} {entity.label} {entity.count}" for entity in parse(text).entities] == names


def test_texts_are_parsed_once() -> None:
    parser = Parser(size=2)
    first, second, again = parser.parse(["one", "two", "one"])
    assert first is again
    assert parser("two") is second
    parser("three")  # "one" was used longest ago
    assert parser("two") is second
    assert parser("one") is not first


def test_a_text_that_is_too_long_is_left_unparsed(parse: Parser, caplog: pytest.LogCaptureFixture) -> None:
    long, short = parse.parse(["5 " * LONGEST, "5 more"])
    assert caplog.messages == ["1 of 2 texts are left out: more than 50,000 characters"]
    assert long.text == "5 " * LONGEST
    assert short.doc.text == "5 more"
    for sees in (lambda: long.doc, lambda: long.tokens, lambda: long.entities):
        with pytest.raises(NotApplicable, match="more than 50,000 characters"):
            sees()


def test_a_model_that_is_not_there() -> None:
    with pytest.raises(OSError, match="no_such_model"):
        Parser("no_such_model")


@given(SPANS)
def test_a_place_is_covered_where_a_span_holds_it(spans: list[tuple[int, int]]) -> None:
    """Whether they overlap, hold one another or are empty."""
    covered = Covered(spans)
    for place in range(45):
        assert (place in covered) == any(start <= place < end for start, end in spans)


def test_places_outside_of_formulas() -> None:
    text = "For $2$ or $x$ or $ 5 the $ab$ of an ab"
    places = outside_formulas(text, re.compile(r"[a-z]{2,}|\d"))
    assert [text[slice(*place)] for place in places] == ["or", "or", "or", "5", "the", "of", "an", "ab"]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("1 km, 5km, 5-km, 3 kilometers", "km=kilometre, km=kilometre, km=kilometre, kilometers=kilometre"),
        ("20 kmph, 9 km / hr", "kmph=kilometre per hour, km / hr=kilometre per hour"),
        ("60 miles an hour, 3 m/s", "miles an hour=mile per hour, m/s=metre per second"),
        ("5 sq. m, 20 cm^2, 3 cubic feet", "sq. m=square metre, cm^2=square centimetre, cubic feet=cubic foot"),
        ("$5 an hour, rs . 2 per kg", "$=dollar, hour=hour, rs . =rupee, kg=kilogram"),
        ("$9 per hour", "$=dollar, hour=hour"),
        ("five dollars and ten cents", "five dollars and ten cents=dollar"),
        ("6 in x 3 in. but 4 in the box", "in=inch, in=inch"),
        ("27 in³", "in³=cubic inch"),
        ("240 m ahead, 10 lbs, 3 min", "m=metre, lbs=pound, min=minute"),
        ("how many hours each day", "hours=hour, day=day"),
        ("the second row, 5 feet per second", "feet per second=foot per second"),
        ("a second.", "second=second"),
        ("3 m + 5 n = 2, m = 4, 6 M, in the yard, on foot, 5 per cent, Monday, New Year, Oz", ""),
        (r"$5 km$ is $v=3$ m", ""),
        ("", ""),
    ],
)
def test_units(text: str, units: str) -> None:
    spans = find_units(text, find_numbers(text))
    assert ", ".join(f"{text[unit.start : unit.end]}={unit.name}" for unit in spans) == units


def test_a_unit_knows_its_number() -> None:
    units = find_units(text := "walks 2 km in half an hour", find_numbers(text))
    assert [unit.number and str(unit.number.value) for unit in units] == ["2", None]


def test_sizes() -> None:
    assert size("kilometre") == ("[length]", 1000)
    assert size("cent") == ("dollar", 0.01)
    assert size("week")[1] == 7 * size("day")[1]
    assert size("square metre")[1] == pytest.approx(10_000 * size("square centimetre")[1])
    assert size("kilometre per hour")[0] == size("metre per second")[0]


def test_names_of_units() -> None:
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
