"""Formulas for a terminal keep their meaning."""

from __future__ import annotations

import pytest

from tqnet.text.sentences import readable


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (r"\dfrac12", "1/2"),
        (r"\frac{x+1}{2}", "(x+1)/2"),
        (r"\frac{1}{\frac{a}{b}}", "1/(a/b)"),
        (r"\binom{n}{k}", "C(n,k)"),
        (r"\sqrt[3]{x+1}", "root[3](x+1)"),
        (r"\sqrt2 + \sqrt{ab+1}", "√2+√(ab+1)"),
        ("a^{b+c}d", "a^(b+c)d"),
        ("x_1^2", "x_1^2"),
        (r"90^\circ", "90°"),
        (r"x \leq \alpha", "x≤α"),
        ("5%", "5%"),
        ("a % b", "a%b"),
        (r"\frac{", "/"),
        (r"\footnote", r"\footnote"),
        (r"\title", r"\title"),
        (r"\url\input", r"\url\input"),
    ],
)
def test_what_is_shown(formula: str, shown: str) -> None:
    assert readable(f"so ${formula}$.") == f"so {shown}."
