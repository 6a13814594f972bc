"""What counts as a number, and what it is worth."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tqnet.text.numbers import Kind, find_numbers, with_number_tokens


def seen(text: str) -> list[tuple[str, str]]:
    return [(text[number.start : number.end], str(number.value)) for number in find_numbers(text)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("25 or twenty-five", [("25", "25"), ("twenty-five", "25")]),
        ("1,000 and 1000, 1,00,000", [("1,000", "1000"), ("1000", "1000"), ("1,00,000", "100000")]),
        ("3/4, 0.75, .5, 1 1/2", [("3/4", "3/4"), ("0.75", "3/4"), (".5", "1/2"), ("1 1/2", "3/2")]),
        ("2 1 / 2 cups, 1/10th", [("2 1 / 2", "5/2"), ("1/10th", "1/10")]),
        ("half a dozen, a dozen, 2 dozen", [("half a dozen", "6"), ("a dozen", "12"), ("2 dozen", "24")]),
        ("3.5 million, two hundred thousand", [("3.5 million", "3500000"), ("two hundred thousand", "200000")]),
        ("one thousand two hundred and five", [("one thousand two hundred and five", "1205")]),
        ("one thousand, two hundred and five", [("one thousand, two hundred and five", "1205")]),
        ("two million, one hundred thousand", [("two million, one hundred thousand", "2100000")]),
        ("a thousand, twenty and two hundred", [("a thousand", "1000"), ("twenty", "20"), ("two hundred", "200")]),
        ("one two, five and ten", [("one", "1"), ("two", "2"), ("five", "5"), ("ten", "10")]),
        ("two-thirds, one-eighth of it", [("two-thirds", "2/3"), ("one-eighth", "1/8")]),
        ("a quarter of it and three quarters of it", [("a quarter", "1/4"), ("three quarters", "3/4")]),
        ("three quarters and two dimes", [("three", "3"), ("two", "2")]),  # coins
        ("twenty-five thirty-sixths", [("twenty-five thirty-sixths", "25/36")]),
        ("two and a half, 2 and a half", [("two and a half", "5/2"), ("2 and a half", "5/2")]),
        ("three and three quarters hours", [("three and three quarters", "15/4")]),
        ("five point two five", [("five point two five", "21/4")]),
        ("seven over nine", [("seven over nine", "7/9")]),
        ("half as many, twice as many", [("half", "1/2"), ("twice", "2")]),
        ("is -5, is minus five, x - 5", [("-5", "-5"), ("minus five", "-5"), ("5", "5")]),
        ("5-10, a 120-page book, 10x12", [("5", "5"), ("10", "10"), ("120", "120"), ("10", "10"), ("12", "12")]),
        ("the 3rd, the twenty-first day", [("3rd", "3"), ("twenty-first", "21")]),
        ("24 first graders", [("24", "24")]),
        ("the second house, 5 seconds a second.", [("second", "2"), ("5", "5")]),
        ("5km, 20kg, 3L", [("5", "5"), ("20", "20"), ("3", "3")]),
        ("ratio 4:3 and 1 : 8", [("4", "4"), ("3", "3"), ("1", "1"), ("8", "8")]),
        ("小明有3个苹果", [("3", "3")]),
        ("$12$ boxes", [("$12$", "12")]),
    ],
)
def test_values(text: str, numbers: list[tuple[str, str]]) -> None:
    assert seen(text) == numbers


@pytest.mark.parametrize(
    "text",
    ["x2 2x H2O A-5 v2.0.1", "3m = x", "10^x", "$x^2+3$", r"$\frac{3}{4}$", "1/0", "no one, this one", "", "?!", "求"],
)
def test_no_numbers(text: str) -> None:
    assert [number for number in seen(text) if number != ("10", "10")] == []


@pytest.mark.parametrize(
    ("text", "sign", "outer"),
    [
        ("costs $5.25 each", "$", "$5.25"),
        ("costs $ 1 , 036.70 .", "$", "$ 1 , 036.70"),
        ("rs . 150 is", "₹", "rs . 150"),
        ("Rs. 1,00,000 is", "₹", "Rs. 1,00,000"),
        ("Rs.1620 is", "₹", "Rs.1620"),
        ("50¢ is", "¢", "50¢"),
        ("11 % of", "%", "11 %"),
        ("twenty percent of", "%", "twenty percent"),
        ("5 per cent of", "%", "5 per cent"),
        ("$2 million is", "$", "$2 million"),
        ("five dollars and ten cents is", "$", "five dollars and ten cents"),
        ("costs $.75 and $3", "$", "$.75"),
    ],
)
def test_signs(text: str, sign: str, outer: str) -> None:
    number = find_numbers(text)[0]
    assert (number.sign, text[slice(*number.outer)]) == (sign, outer)


def test_amounts_of_two_units_are_one_number() -> None:
    (number,) = find_numbers("five dollars and ten cents")
    assert number.value == find_numbers("$5.10")[0].value == Fraction(51, 10)


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("on May 5, 2010", Kind.DATE, [5, 2010]),
        ("5 May 2010", Kind.DATE, [5, 2010]),
        ("12/25/2010", Kind.DATE, [12, 25, 2010]),
        ("in 1998", Kind.DATE, [1998]),
        ("from 1990 to 1995", Kind.DATE, [1990, 1995]),
        ("at 10:30", Kind.CLOCK, [Fraction(21, 2)]),
        ("3:30 pm", Kind.CLOCK, [Fraction(31, 2)]),
        ("at 3:30 p.m.", Kind.CLOCK, [Fraction(31, 2)]),
        ("8 : 00 a . m .", Kind.CLOCK, [8]),
        ("in 2000 boxes", Kind.WHOLE, [2000]),
        ("he may 5 times", Kind.WHOLE, [5]),
    ],
)
def test_dates_and_times(text: str, kind: Kind, values: list[int | Fraction]) -> None:
    numbers = find_numbers(text)
    assert {number.kind for number in numbers} == {kind}
    assert [number.value for number in numbers] == values


def test_a_row_of_digits_without_end_is_no_number() -> None:
    assert [number.value for number in find_numbers(f"Take 3 of {'7' * 5000} and {'7' * 5000}/2.")] == [3]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("买5个，用去(1/4)，剩25%", "买[NUM]个，用去([FRACTION])，剩[PERCENT]"),
        ("two of the 3 boys on the third day", "two [NUM]  of the [NUM] boys on the third day"),
        ("$x_2$ is 4", "$x_2$ is [NUM]"),
        ("none", "none"),
    ],
)
def test_marked(text: str, marked: str) -> None:
    assert with_number_tokens(text) == marked


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("二十五个苹果的三分之二", ["25", "2/3"]),
        ("百分之八", ["8"]),
        ("三百零五人，三百五十万元", ["305", "3500000"]),
        ("三点五千克", ["7/2"]),
        ("五千克糖，两只鸡，一半", ["5", "2", "1/2"]),
        ("三角形的五年级学生一起", []),
        ("长5(1/4)米", ["21/4"]),
    ],
)
def test_chinese(text: str, values: list[str]) -> None:
    assert [str(number.value) for number in find_numbers(text)] == values
