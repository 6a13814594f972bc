"""No text of a stranger takes super-linear time: twice the length, less than three times the time.

Each function is tried with a sample of the kinds of `tests.fuzz.doubling`; ``make fuzz`` tries many more.
"""

from __future__ import annotations

import random
from itertools import islice

import pytest

pytest.importorskip("lxml")

from tests.fuzz import doubling
from tests.fuzz.doubling import ENTRIES, Kind, is_linear, mixed_kinds, plain_kinds, super_linear

#: Kinds for each function.
_PLAIN, _MIXED = 8, 4
#: What once took quadratic or exponential time.
_FELL = {
    "halves": [Kind("\n1. "), Kind("中文，")],
    "augmentation": [Kind("\n"), Kind("a. ", "中"), Kind("_"), Kind("二")],
    "traits": [Kind(" ", "", "("), Kind("∠", "", "$", "$"), Kind("d/dx ", "", "$", "$")],
    "normal form": [Kind("½"), Kind("\\\\")],
    "typed formulas": [Kind("1/")],
    "LaTeX": [Kind("\\text{", "", "$", "$")],
    "MathML": [Kind("$x")],
    "Moodle, cloze": [Kind("{1:MC:"), Kind("{1:MC:", "", "", "\\}"), Kind("{1:MC:=<img>}")],
    "a paper, an option": [Kind("$1\nANSWER: A\n$")],
    "differences": [Kind("1 2 ")],
    "CSV": [Kind(" (a)")],
    "CSV, columns": [Kind("a,")],
    "readable": [Kind("\\documentclass[", "", "$", "$")],
}


@pytest.mark.parametrize("name", [name for name in ENTRIES if name != "paraphrase check"])
def test_time_is_linear(name: str) -> None:
    chance = random.Random(name)
    kinds = [*_FELL.get(name, ()), *chance.sample([*plain_kinds()], _PLAIN), *islice(mixed_kinds(chance), _MIXED)]
    assert list(super_linear(name, kinds)) == []


def test_quadratic_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubling, "_MOST", 0.2)  # not seconds, to be sure
    assert not is_linear(lambda text: lambda: sum(1 for _ in text for _ in text), Kind("ab"), 1000)


@pytest.mark.slow
def test_the_paraphrase_check_is_linear() -> None:
    pytest.importorskip("spacy")
    kinds = [Kind(text) for text in ("Tom has 5 pens. ", "1 2 ", "$x$ ", "5 km ", "the ")]
    assert list(super_linear("paraphrase check", kinds)) == []
