"""The evidence that a candidate is similar: vectors, and runs of characters."""

from __future__ import annotations

import pytest

from tqnet.questions import Question
from tqnet.search.ranking import character_runs, search_text, shared_runs


def runs(stem: str) -> dict[str, float]:
    return character_runs(search_text(Question(id="q", stem=stem)))


def test_one_text_has_all_runs_in_common_with_itself_whatever_its_spelling() -> None:
    one = runs(r"Find the derivative of $\dfrac12 x^2$.")
    assert shared_runs(one, one) == pytest.approx(1)
    assert shared_runs(one, runs(r"find the derivative of $\frac{1}{2}x^2$")) == pytest.approx(1)


def test_the_runs_of_words_that_differ_in_their_ending_are_in_common() -> None:
    query = runs("Integrate the functions")
    near, far = shared_runs(query, runs("integrating a function")), shared_runs(query, runs("a triangle and a circle"))
    assert 0.4 < near < 1
    assert far < 0.1


def test_it_is_the_same_either_way_round_and_between_zero_and_one() -> None:
    texts = ["", "x", "某商品降价20%后售价为80元", "Find $x$.", "Find the area of a triangle with base $6$."]
    for one in texts:
        for other in texts:
            share = shared_runs(runs(one), runs(other))
            assert share == pytest.approx(shared_runs(runs(other), runs(one)))
            assert 0 <= share <= 1 + 1e-9
    assert shared_runs(runs("某商品降价20%后售价为80元"), runs("一商品涨价20%后售价为90元")) > 0.3


def test_chinese_without_a_run_is_one_run() -> None:
    assert shared_runs(runs("圆"), runs("圆")) == pytest.approx(1)
    assert shared_runs(runs("圆"), runs("方")) == 0
