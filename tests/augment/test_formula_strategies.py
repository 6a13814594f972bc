"""Variables, operators and numbers of formulas: what changes, and what must not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tqnet.augment.formulas import replace_number, replace_operator
from tqnet.augment.variables import rename_variable, scale_variable
from tqnet.questions import Question
from tqnet.text.latex import Role, parse_formulas

Strategy = Callable[[Question, np.random.Generator], Question]


def outcomes(strategy: Strategy, stem: str, draws: int = 200, **fields: object) -> set[str]:
    """The stems that a strategy makes, but for the one that it began with."""
    question = Question(id="q", stem=stem, **fields)  # type: ignore[arg-type]
    return {strategy(question, np.random.default_rng(seed)).stem for seed in range(draws)} - {stem}


def changed(strategy: Strategy, stem: str) -> set[str]:
    """The same, and there are some: a loop over none would pass whatever a strategy does."""
    stems = outcomes(strategy, stem)
    assert stems
    return stems


def letters(stem: str) -> set[str]:
    return {token.text for formula in parse_formulas(stem) for token in formula if token.role is Role.VARIABLE}


def test_roles_of_tokens() -> None:
    text = r"$\max(x, 2a_{n}^3) + 5cm + \text{if } y + speed + \int t dt + e^{i\pi}$"
    (formula,) = parse_formulas(text)
    role = {token.text: token.role for token in formula}
    assert all(text[token.start : token.end] == token.text for token in formula)
    assert letters(text) == {"x", "a", "n", "y", "t"}
    assert role["2"] is role["3"] is Role.NUMBER
    assert role["s"] is role["m"] is role["d"] is Role.WORD
    scripts = {token.text: token.script for token in formula if token.script}
    assert scripts == {"{": "^", "n": "_", "}": "^", "3": "^", "i": "^", r"\pi": "^"}


def test_the_columns_of_a_table_are_no_variables() -> None:
    assert letters(r"$\begin{array}{lcr} x & y \end{array}$ and \[\hspace{1cm} z\]") == {"x", "y", "z"}


def test_renaming_is_complete_and_takes_an_unused_name() -> None:
    for stem in changed(rename_variable, r"If $f(x)=\cos 2x$ and $g(x)=\max(x, x_1)$, find x."):
        (new,) = letters(stem) - {"f", "g"}
        assert new not in "xfgei"
        assert stem == rf"If $f({new})=\cos 2{new}$ and $g({new})=\max({new}, {new}_1)$, find {new}."


def test_points_keep_together_in_prose_and_formula() -> None:
    for stem in changed(rename_variable, r"In triangle ABC, $AB=3$ and $\angle A=40$. The circle about A meets BC."):
        a, b, c = stem[12:15]
        assert len({a, b, c}) == 3
        assert stem == rf"In triangle {a}{b}{c}, ${a}{b}=3$ and $\angle {a}=40$. The circle about {a} meets {b}{c}."
    assert not outcomes(rename_variable, "$AB=3$", images=("a.png",))  # the figure says A and B


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"$\int_0^1 2x dx=1$", r"$\int_0^1 2@ d@=1$"),
        (r"$\frac{dy}{dx}=y$ on the xy-plane", None),
        ("$axy = 2$ and $sinx=1$", None),
        ("$h(t) = -16 t^2 + 40 t$", "$h(@) = -16 @^2 + 40 @$"),
        (r"$f\left(x\right)=x$", r"$f\left(@\right)=@$"),
        (r"$x\in\mathbb R$", r"$@\in\mathbb R$"),
        (r"$x\in R$", r"$@\in R$"),
        ("$C_5^2+n$", "$C_5^2+@$"),
        ("$A^T x=0$, $A^2=0$", None),
        ("Tom's speed is $s$ at 5 p.m.; don't stop.", "Tom's speed is $@$ at 5 p.m.; don't stop."),
        ("<b>Let</b> $b=2$", "<b>Let</b> $@=2$"),
        ("Take a pen; $a+b=2$.", "Take a pen; $a+@=2$."),
        ("$5$ m and $3 km$ and $9.8 m/s^2$, $v=2$", "$5$ m and $3 km$ and $9.8 m/s^2$, $@=2$"),
    ],
)
def test_all_places_and_no_other(before: str, after: str | None) -> None:
    """``@`` is the new name; where several variables may be renamed, the names are still told apart as before."""
    stems = changed(rename_variable, before)
    for stem in stems:
        assert len(letters(stem)) == len(letters(before))
        if after is not None:
            (new,) = letters(stem) - letters(before)
            assert stem == after.replace("@", new)


def test_greek_letters_stay_apart_from_what_follows() -> None:
    for stem in changed(rename_variable, r"$\sin\alpha$, $2\alpha\beta$"):
        assert len(letters(stem)) == 2
        assert all(letter.startswith("\\") for letter in letters(stem))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("$2x+1=0$", "$2Kx+1=0$"),
        ("$x^2=4$", "$(Kx)^2=4$"),
        ("$3x^2=4$", "$3(Kx)^2=4$"),
        (r"$\sin x=1$", r"$\sin (Kx)=1$"),
        (r"$\sin 2x=1$", r"$\sin 2Kx=1$"),
        ("$e^x=1$", "$e^{Kx}=1$"),
        (r"$\frac x2=1$", r"$\frac {Kx}2=1$"),
        (r"$\frac{1}{2}x=1$", r"$\frac{1}{2}(Kx)=1$"),
        ("$x_1=1$", "$Kx_1=1$"),
        ("$x_1^2=1$", "$(Kx_1)^2=1$"),
        ("$5=-x$", "$5=-Kx$"),
        ("$2^3x=1$", "$2^3(Kx)=1$"),
        (r"$\int_0^1 2x dx=1$", r"$\int_0^1 2Kx dx=1$"),
        ("$f(x)=2x$, find $x$", "$f(x)=2Kx$, find $x$"),
        (r"$\frac12x^2=1$", r"$\frac12(Kx)^2=1$"),
        ("$f(x+h)-f(x)=2x$", "$f(x+h)-f(x)=2Kx$"),
        (r"$f\left(x\right)=2x$", r"$f\left(x\right)=2Kx$"),
        (r"$2\pi r=1$", r"$2\pi (Kr)=1$"),
        ("$n!=24$", "$(Kn)!=24$"),
        ("$5/x=1$", "$5/(Kx)=1$"),
        ("$1{,}345x=1$", "$1{,}345(Kx)=1$"),
        (r"$\Delta x=1+x$", r"$\Delta x=1+Kx$"),
    ],
)
def test_scaling(before: str, after: str) -> None:
    wanted = {after.replace("2K", str(2 * k)).replace("K", str(k)) for k in range(2, 6)}
    assert outcomes(scale_variable, before) == wanted


@pytest.mark.parametrize(
    "stem",
    ["Find $x$.", r"$\vec x=3$", "$A_n=3$", "$y(t)=0$", "$f''(x)=0$", "$f^{-1}(x)=0$", "$AB=5$", "no formula x=2"],
)
def test_what_is_not_scaled(stem: str) -> None:
    assert not outcomes(scale_variable, stem)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"$\sin x=1$", {r"$\cos x=1$"}),
        ("$2+x=-3$", {"$2-x=-3$"}),  # a sign that stands alone is no operator
        (r"$\ln x$", {r"$\lg x$", r"$\log x$"}),
        (r"$\log_2 x$", set()),
        (r"$\text{a+b}$", set()),
        (r"$0<x<1$", set()),  # a chain has one direction
        (r"$\left<a,b\right>$", set()),
        (r"$90^\circ-x$", {r"$90^\circ+x$"}),
        (r"$\vec a\cdot\vec b$", set()),
        (r"$\max(x,y) < 3$", {r"$\min(x,y) < 3$", r"$\max(x,y) > 3$"}),
    ],
)
def test_operators(before: str, after: set[str]) -> None:
    assert outcomes(replace_operator, before) == after


def test_numbers_keep_their_kind() -> None:
    stems = outcomes(replace_number, "$7x + 0.50 = y$")
    assert {stem for stem in stems if stem.endswith("x + 0.50 = y$")} == {
        f"${n}x + 0.50 = y$" for n in (2, 3, 4, 5, 6, 8, 9)
    }
    decimals = {stem.split()[2] for stem in stems if stem.startswith("$7x")}
    assert len(decimals) > 10
    assert all(d[:2] == "0." and len(d) == 4 and d[-1] != "0" for d in decimals)


@pytest.mark.parametrize(
    "stem",
    [
        "$x^2=0$",
        "$a_3$",
        r"$\sqrt[3]{x}$",
        "$10^{-4}$",
        r"$\angle C=90^{\circ}$",
        "$1,000$",
        "$1{,}000$",
        r"$\log_2 x$",
        "30 days",
    ],
)
def test_numbers_that_stay(stem: str) -> None:
    assert not outcomes(replace_number, stem)


def test_digits_of_a_fraction_and_members_of_a_set() -> None:
    assert outcomes(replace_number, r"$\frac12$") == {rf"$\frac{a}2$" for a in range(2, 10)} | {
        rf"$\frac1{b}$" for b in range(3, 10)
    }
    assert outcomes(replace_number, "$(2,3)$")
    assert all(0 < float(stem.strip("$x")) < 1 for stem in outcomes(replace_number, "$.5x$"))


def test_numbers_of_options_are_numbers_of_the_question() -> None:
    question = Question(id="q", stem="Which is prime?", options=("$21$", "$33$"))
    changed = {replace_number(question, np.random.default_rng(seed)).options for seed in range(20)}
    assert all(options != question.options and len(options) == 2 for options in changed)
