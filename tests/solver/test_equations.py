"""Equations: read, written, evaluated, and told in a text's numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.solver.problems import Alphabet, read_problem
from tqnet.text.equations import (
    OPERATORS,
    EquationError,
    Prefix,
    commutative,
    drawn,
    ends,
    evaluate,
    infix,
    parse_equation,
    pattern,
    prototype,
    same_value,
    written,
)

LEAVES = st.sampled_from(["n1", "n2", "n3", "3.14", "25%", "1/6"]).map(lambda token: (token,))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(st.sampled_from(OPERATORS), inner, inner).map(
        lambda parts: (parts[0], *parts[1], *parts[2])
    ),
    max_leaves=10,
)


@given(TREES)
def test_what_is_written_is_read_again(tree: Prefix) -> None:
    assert parse_equation(infix(tree)) == tree


def test_fractions_are_written_as_one_number() -> None:
    assert infix(("1/6",)) == "(1/6)"
    assert infix(("/", "*", "1/6", "n1", "1/2")) == "(1/6) * n1 / (1/2)"
    assert parse_equation(infix(("-", "n1", "/", "1", "6"))) == ("-", "n1", "/", "1", "6")
    assert parse_equation(infix(("/", "n1", "/", "1", "6"))) == ("/", "n1", "1/6")


@given(TREES)
def test_subtrees_are_slices(tree: Prefix) -> None:
    subtree_ends = ends(tree)
    for root, end in enumerate(subtree_ends):
        assert ends(tree[root:end])[0] == end - root
    assert drawn(tree).count("\n") == len(tree) - 1


@given(TREES)
def test_commutative_form_keeps_the_value(tree: Prefix) -> None:
    values = {"n1": Fraction(3), "n2": Fraction(1, 2), "n3": Fraction(2)}
    try:
        value = evaluate(tree, values)
    except EquationError:
        return
    assert evaluate(commutative(tree), values) == value
    assert commutative(commutative(tree)) == commutative(tree)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=(1/6)*12", 2),
        ("x=100*(1-25%)", 75),
        ("(3+2)[4-1]", None),
        ("2^3^2", 512),
        ("8/4/2", 1),
        ("8-4-2", 2),
        ("-3+5", 2),
        ("-2^2", -4),
        ("5--2*3", 11),
        ("8/-2*3", -12),
        ("2^-1*3", Fraction(3, 2)),
        ("1-2/-4/2", Fraction(5, 4)),
        ("2(1/4)*4", 9),
        ("1,200÷4", 300),
        ("/ 54.0 6.0", 9),
        ("divide(multiply(12, const_2), const_100)", Fraction(24, 100)),
        ("add(3.5, const_0_25)|", Fraction(15, 4)),
        ("multiply(const_2.0, add(1, negate(const_1)))", 0),
        ("4^0.5", 2),
        ("5/(3-3)", None),
        ("0^(0-1)", None),
        ("9^9^9", None),
        ("3 metres", None),
        ("(3+2", None),
        ("3+", None),
        ("", None),
        ("floor(n0)", None),
        ("add(n0", None),
        ("(" * 600 + "1", None),
    ],
)
def test_values(text: str, value: Fraction | int | None) -> None:
    if value is None:
        with pytest.raises(EquationError):
            evaluate(parse_equation(text))
    else:
        assert evaluate(parse_equation(text)) == value


def test_one_form_for_all_orders() -> None:
    forms = {commutative(parse_equation(text)) for text in ("n1+n2+n3", "n3+(n1+n2)", "(n2+n3)+n1")}
    assert len(forms) == 1
    assert commutative(parse_equation("n1-n2")) != commutative(parse_equation("n2-n1"))


def test_patterns_and_prototypes() -> None:
    assert pattern(parse_equation("(n3-n1)/2")) == "/ - n n n"
    assert prototype(parse_equation("n3/n1")) == prototype(parse_equation("n2/n5")) == "n1 / n2"


def test_equations_are_told_in_the_numbers_of_the_text() -> None:
    text = "A coat of 200 yuan is 25% cheaper today. Two coats cost how much?"
    assert read_problem(text, "x=200*(1-25%)*2", Alphabet()).equation == ("*", "*", "n1", "-", "1", "n2", "n3")
    assert read_problem("3 boxes of 3 pens", "3*3", Alphabet()).equation == ("*", "n1", "n2")
    assert read_problem("6个人分(3/4)千克", "(3/4)/6", Alphabet()).answer == Fraction(1, 8)
    assert read_problem("3 of 4 pens", "(3/4)", Alphabet()).equation == ("/", "n1", "n2")
    with pytest.raises(EquationError, match="17 is neither"):
        read_problem("3 boxes", "3*17", Alphabet())
    with pytest.raises(EquationError, match="divided by zero"):
        read_problem("3 boxes and 0 more", "3/0", Alphabet())


def test_constants_are_learnt_by_count() -> None:
    problems = [("a circle of 5 m", "3.14*5*2")] * 5 + [("half of 7", "7/17")] * 4 + [("bad", "((")]
    assert Alphabet.learn(problems).constants == ("2", "3.14")
    alphabet = Alphabet.learn(problems)
    assert [alphabet.token(alphabet.place(token)) for token in ("+", "3.14", "n2")] == ["+", "3.14", "n2"]


def test_answers_are_written_as_people_do() -> None:
    assert [written(Fraction(*ratio)) for ratio in ((6, 1), (5, 2), (1, 3))] == ["6", "2.5", "1/3 = 0.333333"]
    assert same_value(Fraction(1, 3), Fraction("0.33333"))
    assert not same_value(Fraction(1), Fraction("1.01"))
