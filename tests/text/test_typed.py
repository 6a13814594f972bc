"""Formulas that are typed without LaTeX, as LaTeX; and prose that is none."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.questions.traits import one_form
from tqnet.text.typed import with_formulas

PAIRS = Path(__file__).parents[2] / "assets" / "typed_formulas.jsonl"


def test_every_form_of_a_query_is_one_query() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    apart = [pair["typed"] for pair in pairs if one_form(pair["typed"]) != one_form(pair["latex"])]
    assert len(pairs) >= 99
    assert apart == []


@pytest.mark.parametrize(
    ("typed", "latex"),
    [
        ("1/2x and 2x/3y", r"$\frac{1}{2}x$ and $\frac{2x}{3y}$"),
        ("(x+1)(x-2)=0, 3√2, 3x10", r"$(x+1)(x-2)=0$, $3\sqrt{2}$, $3\times 10$"),
        ("x1x2 = x**2 +- 1", r"$x_1x_2=x^2\pm 1$"),
        ("n!/(n-k)! != 5", r"$\frac{n!}{(n-k)!}\neq 5$"),
        (r"Is \frac{1}{2}x = 3?", r"Is $\frac{1}{2}x=3$?"),
        ("lim_(x->2) f'(x)", r"$\lim_{x\to 2}f'(x)$"),
        ("find f'(x), y'' + y = 0", "find $f'(x)$, $y''+y=0$"),
        ("1.5e3 + 2*x*(x - 1), 5*2, 3e-4.", r"$1.5\times10^{3}+2x(x-1)$, $5\times 2$, $3\times10^{-4}$."),
        ("2*√3 = |2*|x|-3|", r"$2\sqrt{3}=|2\times|x|-3|$"),
        ("x∈ℝ, 1,5 + 2,5 = 4", r"$x\in\mathbb{R}$, $1,5+2,5=4$"),
        ("the set {1, 2, 3} (or (a, b))", r"the set $\{1,2,3\}$ (or $(a,b)$)"),
        ("a + b, a man, A. 3 B) 4", "$a+b$, a man, A. 3 B) 4"),
        ("(x > 0)", "($x>0$)"),
        ("y = ax^2 + bx + c", "$y=ax^2+bx+c$"),
        ("In $x$, x", "In $x$, $x$"),
        ("lim x->0 sin x/x", r"$\lim_{x\to 0}\frac{\sin x}{x}$"),
        ("tan x = sin 2x/cos 2x", r"$\tan x=\frac{\sin 2x}{\cos 2x}$"),
        ("log x/log 2 - sin^2 x cos y", r"$\frac{\log x}{\log 2}-\sin^2 x\cos y$"),
        ("|x|/2 = P(A|B)", r"$\frac{|x|}{2}=P(A|B)$"),
        ("lcm(4,6) = ∬ f", r"$\operatorname{lcm}(4,6)=\iint f$"),
    ],
)
def test_what_is_mathematics(typed: str, latex: str) -> None:
    assert one_form(typed) == one_form(latex)


@pytest.mark.parametrize(
    "prose",
    [
        "I have 3 apples - 5 dollars each, 60 km/h, and/or 5/6/2020",
        "John's car (a Ford) costs $5 and $6 (about 20%).",
        "pages 5-7, 1999-2005, a two-digit number, U.S.A.",
        "What is the sum (in dollars) of 5 and 7?",
        "The 1st of 5 kg, 3cm! Don't.",
        "1,2,3 and the book's cover",
    ],
)
def test_what_is_prose(prose: str) -> None:
    assert with_formulas(prose) == prose


_PIECES = "a x 2 12 + - / ^ _ = ( ) [ { } | √ ² ½ lim sin -> , : ! ' ■ \\frac"


@given(st.lists(st.sampled_from([*_PIECES.split(), " "]), max_size=14))
def test_any_text_keeps_its_letters_and_digits(pieces: list[str]) -> None:
    typed = "".join(pieces)
    kept = with_formulas(typed).replace("{matrix}", "")
    assert _digits(kept) == _digits(typed)
    assert kept.count("x") + kept.count("\\times") == typed.count("x")


def _digits(text: str) -> list[str]:
    return sorted(filter(str.isdigit, unicodedata.normalize("NFKC", text)))
