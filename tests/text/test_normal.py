"""Formulas that are equal have one form, and those that are not have two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.questions import QuestionBank
from tqnet.text.formulas import formula_tokens, segments
from tqnet.text.normal import normal_formula
from tqnet.text.sentences import search_words

EQUAL = [
    (r"\frac{1}{2}", r"\dfrac12", r"{1\over 2}", "1/2", r"\tfrac 1 2", "½", r"\cfrac{1}{2}"),
    (r"\frac{a}{b}", r"{a \over b}", r"\frac ab"),
    (r"\frac{x+1}{\sqrt{2}}", r"\dfrac{x+1}{\sqrt2}", r"{x + 1 \over \sqrt 2}"),
    ("(x)", r"\left( x \right)", r"\bigl(x\bigr)", "( x )"),
    (r"\frac{1}{x}|_{x=1}", r"\left.\frac1x\right|_{x=1}"),
    ("x^{2}", "x²", "x^2", "{x}^2", "x^ 2"),
    ("x^{10}", "x¹⁰"),
    (r"\sqrt{2}", r"\sqrt2", "√2", r"\sqrt {2}"),
    (r"\sqrt[3]{x}", r"\sqrt [3] x"),
    ("a_{1}^{2}", "a_1^2", "a^2_1", "a_1{}^2", "a₁²"),
    (r"\sin x", r"\operatorname{sin}x", "sin x", r"\sin{x}", r"\mathrm{sin}x", "sinx"),
    ("5cm", r"5\text{cm}", r"5\,\mathrm{cm}", r"5\ \rm cm", "5 cm"),
    (r"x\leq3", r"x\le 3", "x≤3", r"x \leqslant 3"),
    (r"2\times3", "2×3", "2*3", r"2 \times 3"),
    (r"90^{\circ}", "90°", r"90^\circ", r"90\degree"),
    ("10000", "10{,}000", "10,000"),
    ("f'(x)", r"f^{\prime}(x)", r"f^\prime(x)", "f′(x)"),
    (r"\{1,2\}", r"\lbrace 1,2\rbrace", r"\left\{1,2\right\}"),
    (r"x\rightarrow\infty", r"x\to\infty", "x→∞"),
    ("0.5", ".5"),
    (r"\binom{n}{k}", r"{n \choose k}", r"\tbinom nk"),
    (r"\alpha x", "αx"),
    ("v", r"\mathbf{v}", r"\boldsymbol v"),
    ("3%", r"3\%"),
]


@pytest.mark.parametrize("forms", EQUAL, ids=lambda forms: forms[0])
def test_equal_formulas(forms: tuple[str, ...]) -> None:
    assert {form: normal_formula(form) for form in forms} == dict.fromkeys(forms, forms[0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2^{10}", "2^10"),
        ("x_{12}", "x_12"),
        ("1/2/2020", r"\frac{1}{2}/2020"),
        ("(1,000)", "(1000)"),
        ("ABC", r"\text{abc}"),
        (r"\Delta", r"\delta"),
        (r"\in ft", r"\infty"),
        ("0.5", "5"),
        (r"\{1,100,200\}", r"\{1100200\}"),
        (r"\sinh x", r"\sin hx"),
        ("1+x", "x+1"),
        (r"2x/3", r"2\frac{x}{3}"),
        (r"\sin xy", "s i n"),
    ],
)
def test_formulas_that_differ(first: str, second: str) -> None:
    assert normal_formula(first) != normal_formula(second)


PIECES = r"\ { } ^ _ $ x 12 \frac \sqrt [ ] \left . , / \over ' \text{if} sin"


@given(st.lists(st.sampled_from([*PIECES.split(), " "])))
def test_half_written_formulas_keep_their_braces_in_pairs(pieces: list[str]) -> None:
    tokens = formula_tokens(normal_formula("".join(pieces)))
    assert tokens.count("{") == tokens.count("}")


def test_words_in_formulas_are_words() -> None:
    assert normal_formula(r"\text{the area of } ABC") == normal_formula(r"\mbox{the area of} ABC") == "the area of ABC"


def test_a_form_is_its_own_form(sample_bank: QuestionBank) -> None:
    formulas = [s.body for question in sample_bank for s in segments(question.content) if s.is_formula]
    assert len(formulas) > 500
    for formula in formulas:
        form = normal_formula(formula)
        assert normal_formula(form) == form, formula


def test_words_of_prose_and_formulas() -> None:
    text = r"Find the Area of $\triangle ABC$ if $\dfrac12 AB\cdot h = 10{,}000$, with 1,000 points and the area h."
    assert search_words(text) == [
        *("find", "area", r"\triangle", "A", "B", "C", "$\\triangleABC$", r"\frac", "1", "2", r"\cdot", "h", "="),
        *("10000", r"$\frac{1}{2}AB\cdoth=10000$", "1000", "points"),
    ]
    assert search_words("已知三角形$ABC$的面积为$10\\text{cm}^2$，求高。")[:4] == ["已知", "三角", "角形", "三角形"]
    assert not any(word.isspace() or " " in word for word in search_words(text))
    assert search_words("") == search_words("the of $ $") == []
