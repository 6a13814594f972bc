"""Where a text may be cut in two, and formulas for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.questions import QuestionBank
from tqnet.text.formulas import segments
from tqnet.text.sentences import halved, halves, readable


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Tom has 3 pens, of wood. How many are left?", [("Tom has 3 pens, of wood", "How many are left?")]),
        ("What is $x$? Round it.", [("What is $x$?", "Round it")]),
        ("Given that $a=1$, find $b$.", [("Given that $a=1$", "find $b$")]),  # one sentence: its clauses
        ("已知 $a=1$，$b=2$，求 $a+b$。", [("已知 $a=1$", "$b=2$，求 $a+b$"), ("已知 $a=1$，$b=2$", "求 $a+b$")]),
        (
            "甲有3元。乙有5元，丙没有。共多少？",
            [("甲有3元", "乙有5元，丙没有。共多少？"), ("甲有3元。乙有5元，丙没有", "共多少？")],
        ),
        (
            r"Let $f(x)=1, \text{ else. Or } 2$ be. Then $x=1. $ is one.",
            [(r"Let $f(x)=1, \text{ else. Or } 2$ be", "Then $x=1. $ is one")],
        ),
        ("Mr. Lee walks 3.5 km (see Fig. 2. It is old).", []),
        ("Find $x$ if $2x=6$.", []),
        ("Find $x$. ____.", []),  # a blank says nothing
        ("", []),
    ],
)
def test_halves(text: str, pairs: list[tuple[str, str]]) -> None:
    assert [halved(text, cut) for cut in halves(text)] == pairs


@given(st.lists(st.sampled_from(["Let $x=1, 2$", "已知 $a. b$", "so", "\\(y; z\\)", "甲"]), min_size=2, max_size=6))
def test_no_formula_is_cut(parts: list[str]) -> None:
    """And nothing is lost but the marks at the ends."""
    text = ". ".join(parts) + "."
    ways = [halved(text, cut) for cut in halves(text)]
    assert len(ways) == len(parts) - 1
    formulas = [part.body for part in segments(text) if part.is_formula]
    for first, second in ways:
        assert [part.body for half in (first, second) for part in segments(half) if part.is_formula] == formulas
        assert f"{first}. {second}." == text


def test_chinese_questions_take_part(sample_bank: QuestionBank) -> None:
    stems = [q.stem for q in sample_bank if q.language == "zh"]
    assert sum(bool(halves(stem)) for stem in stems) > 0.7 * len(stems)


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
