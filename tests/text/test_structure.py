"""Operator trees of formulas, with numbers and names as holes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.text.structure import structure


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("$2x+3=11$", "$16=1+5y$"),
        (r"$\frac{x^2-9}{x+3}$", r"$\frac{-4+t^2}{7+t}$"),
        (r"$\lim_{x\to0}\frac{\sin 3x}{x}$", r"$\lim_{t\rightarrow 2}\frac{\sin(5t)}{t}$"),
        (r"$\sqrt[3]{x_1}\leq 2$", r"$\sqrt[4]{a}\leq 5$"),
        ("$x$", "$7$ and $y$"),
    ],
)
def test_other_numbers_and_names_make_no_other_structure(first: str, second: str) -> None:
    sides = [{part.removeprefix("(= ") for part in structure(text)} for text in (first, second)]
    assert len(sides[0]) == len(sides[1])
    if "=" not in first:
        assert structure(first) == structure(second)


def test_parts_are_shared() -> None:
    whole, part = structure("$2x+3=11$"), structure("$5y+1$")
    assert set(part) == {"(* # v)", "(+ # (* # v))"}
    assert set(part) < set(whole)
    assert structure(r"$2^{x+1}$") != structure("$2x+1$")
    assert not structure("no formula, $x$")


@given(st.text(st.sampled_from("x2+-=^_(){}[],")).map("${}$".format))
def test_broken_formulas_have_some_structure(formula: str) -> None:
    assert all(part.startswith("(") for part in structure(formula))
