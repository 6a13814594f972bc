"""Numbers as tokens, and numbers in Chinese characters."""

from __future__ import annotations

import pytest

from tqnet.text.numbers import find_numbers
from tqnet.text.numbers.tokens import with_number_tokens


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
