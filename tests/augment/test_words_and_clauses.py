"""Words of prose and the conditions of a question: what moves, and what must stay."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.augment.clauses import conditions, parallel_clauses, repeat_clause, shuffle_clauses
from tqnet.augment.strategies import delete_word, movable_words, swap_words
from tqnet.questions import Question


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in movable_words(text)]


def condition_texts(text: str) -> list[list[str]]:
    return [[text[clause.start : clause.end] for clause in group] for group in conditions(text)]


@pytest.mark.parametrize(
    ("text", "movable"),
    [
        ("Tom walks 5 km and a 3-mile path.", ["Tom", "walks", "and", "path"]),
        ("It takes $12$ hours, not $x$ days.", ["It", "takes"]),
        ("Twenty two birds see <b>red</b> cats.", ["see", "red", "cats"]),
        (r"Point A lies on $\text{the line}$ of that circle.", ["Point", "lies", "on", "that", "circle"]),
        ("商店有15本书，没有电视。", ["商店", "有", "电视"]),
    ],
)
def test_words_that_may_move(text: str, movable: list[str]) -> None:
    assert words(text) == movable


def test_a_swap_keeps_all_words_and_a_deletion_all_but_one() -> None:
    question = Question(id="q", stem="The old printer takes 3 minutes for $x$ pages of the book")
    for seed in range(50):
        swapped, shorter = (f(question, np.random.default_rng(seed)).stem for f in (swap_words, delete_word))
        assert swapped != shorter
        assert sorted(swapped.split()) == sorted(question.stem.split())
        assert all("3 minutes" in stem and "$x$" in stem for stem in (swapped, shorter))
        assert len(shorter.split()) == len(question.stem.split()) - 1
        assert "  " not in shorter


@pytest.mark.parametrize("stem", ["$x$", "Simplify $x+x$.", "化简"])
def test_the_last_word_stays(stem: str) -> None:
    question = Question(id="q", stem=stem)
    assert delete_word(question, np.random.default_rng(0)) == swap_words(question, np.random.default_rng(0)) == question


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("Given that $x=1$, $y=2$, and $z=3$, find $x+y+z$.", [["$x=1$", "$y=2$", "$z=3$"]]),
        (
            "Tom has 3 pens. Ann has 5 pens. She buys 2 more. How many are there?",
            [["Tom has 3 pens", "Ann has 5 pens"]],
        ),
        ("如图，$AB=3$，若点$C$在圆$O$上，则$BC=$( )", [["$AB=3$", "点$C$在圆$O$上"]]),
        ("如图，$AB$是圆$O$的直径，点$C$在圆$O$上，则$BC=$( )", [["$AB$是圆$O$的直径", "点$C$在圆$O$上"]]),
        ("直线$l$与圆$C$相交于$A$，$B$两点，且$AB=2$，求$r$。", []),  # a list is in the way
        ("在直角三角形中，两边分别长3和4，求第三边。", [["两边分别长3和4"]]),
        ("小明有5元，买了3支笔，还剩多少元？", [["小明有5元"], ["买了3支笔"]]),  # of one subject: not alike
        (
            "The function is $f(x)=x^2$. Differentiate it 2 times. Enter your 2 answers.",
            [["The function is $f(x)=x^2$"]],
        ),
        ("1. Tom has 3 pens. 2. Ann has 5 pens. How many?", []),
        ("甲队每天修3米，乙队每天修5米，他们一共修几天？", [["甲队每天修3米", "乙队每天修5米"]]),
        ("There are 5 numbers $A$, $B$. $A>3$.", [["There are 5 numbers $A$, $B$"]]),  # the last one asks
        ("Find $x$ if $x+1=2$, $y=1$.", [["$x+1=2$", "$y=1$"]]),
        ("What is $x+y$ when $x=1$ and $y=2$?", [["$x=1$", "$y=2$"]]),
        ("Let $x=3.$ Let $y=4.$ Find $z.$", [["$x=3.$", "$y=4.$"]]),
        (
            "The side is 3 cm and the height of a cone and a can is 4 cm. Find $V$.",
            [
                ["The side is 3 cm", "the height of a cone and a can is 4 cm"],
                ["The side is 3 cm and the height of a cone and a can is 4 cm"],
            ],
        ),
    ],
)
def test_parallel_conditions(text: str, groups: list[list[str]]) -> None:
    assert condition_texts(text) == groups


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("Find the slope at $1$. Give the tangent at $2$.", [["Find the slope at $1$", "Give the tangent at $2$"]]),
        ("Find the slope at $1$. Then give its root.", [["Find the slope at $1$"]]),
        ("$f(x)=$ ____\n$g(x)=$ ____\nis the answer.", [["$f(x)=$ ____", "$g(x)=$ ____\nis the answer"]]),
        ("Let $n=3$. (a) Find $n^2$. (b) Find $n^3$.", [["$n=3$"], ["Find $n^2$", "Find $n^3$"]]),
        ("(a) Find $n^2$. (b) Use part (a).", [["Find $n^2$"]]),
        ("Show it for $f(1)$ and $g(2)$.", []),  # no labels
    ],
)
def test_parallel_demands_fields_and_parts(text: str, groups: list[list[str]]) -> None:
    assert [[text[clause.start : clause.end] for clause in group] for group in parallel_clauses(text)] == groups


@pytest.mark.parametrize(
    ("text", "shuffled"),
    [
        ("What is $a$? Give $b$ to 2 places.", "Give $b$ to 2 places. What is $a$?"),
        ("1. Solve $x+1=2$. 2. Solve $x+3=4$.", "1. Solve $x+3=4$. 2. Solve $x+1=2$."),
        ("(a) Find $a$. (b) What is $b$?", "(a) What is $b$? (b) Find $a$."),
        ("（1）求$a$的值；（2）求$b$的值。", "（1）求$b$的值；（2）求$a$的值。"),
        ("Of (1) $x=2$. (2) $x=6$. Which is odd?", "Of (1) $x=6$. (2) $x=2$. Which is odd?"),
        ("下列：①$a>b$；②$c>d$。正确的有几个？", "下列：①$c>d$；②$a>b$。正确的有几个？"),
        ("甲有多少元？？", None),  # the second mark is no question of its own
        ("What is $a$? Name $b$", None),  # the question mark would stay behind
        ("(a) Find the mean of $a$. (b) Find the median of it.", None),
        ("(a) Find $a$. (b) Explain your answer to 1.", None),
        ("Factor $x^2-1$. Solve the equation from your factors.", None),
        ("Find the area of $A$. Round the area of $B$ to 2 places.", None),
    ],
)
def test_marks_fit_what_is_shuffled(text: str, shuffled: str | None) -> None:
    assert shuffle_clauses(Question(id="q", stem=text), np.random.default_rng(0)).stem == (shuffled or text)


def test_what_asks_stays_last() -> None:
    question = Question(id="q", stem="If $x=1$, $y=2$, and $z=3$, what is $x+y$?")
    stems = {shuffle_clauses(question, np.random.default_rng(seed)).stem for seed in range(50)}
    assert "If $z=3$, $x=1$, and $y=2$, what is $x+y$?" in stems
    assert len(stems) == 5  # every order but the first
    assert all(stem.startswith("If ") and stem.endswith(", what is $x+y$?") for stem in stems)


def test_a_condition_is_said_again() -> None:
    question = Question(id="q", stem="Tom has 3 pens. Ann has 5. How many pens are there?")
    stems = {repeat_clause(question, np.random.default_rng(seed)).stem for seed in range(50)}
    asks = " How many pens are there?"
    assert stems == {
        "Tom has 3 pens. Tom has 3 pens. Ann has 5." + asks,
        "Tom has 3 pens. Ann has 5. Ann has 5." + asks,
        "Tom has 3 pens. Ann has 5. Tom has 3 pens." + asks,
    }
    chinese = Question(id="q", stem="甲队每天修3米，两队几天修完？")
    assert repeat_clause(chinese, np.random.default_rng(0)).stem == "甲队每天修3米，甲队每天修3米，两队几天修完？"
