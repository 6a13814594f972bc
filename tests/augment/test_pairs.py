"""Made pairs are what they are called, whatever is drawn; and they stay questions."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from tqnet.augment.formulas import replace_prose_number
from tqnet.augment.pairs import (
    PairMaker,
    change_degree,
    change_operator,
    change_target,
    drop_condition,
    make_other,
    make_similar,
    make_variant,
    swap_known_and_target,
)
from tqnet.augment.surface import (
    SURFACE_CHANGES,
    change_surface,
    respell_formulas,
    reword,
    say_aside,
    say_time,
)
from tqnet.questions import Question, QuestionBank
from tqnet.questions.pairs import RELATIONS, LabelledPair
from tqnet.questions.traits import one_form, traits
from tqnet.text.formulas import segments


def outcomes(change, stem: str, draws: int = 60, **fields: object) -> set[str]:
    """The stems that a change makes, but for the one that it began with."""
    question = Question(id="q", stem=stem, **fields)  # type: ignore[arg-type]
    return {change(question, np.random.default_rng(seed)).stem for seed in range(draws)} - {stem}


@pytest.fixture(scope="module")
def pairs(sample_bank: QuestionBank) -> list[LabelledPair]:
    maker = PairMaker(sample_bank)
    return [maker.draw(row, np.random.default_rng([0, row])) for row in range(len(sample_bank))]


def test_every_relation_is_made_in_both_languages(pairs: list[LabelledPair]) -> None:
    counts = Counter((pair.relation, pair.a.language) for pair in pairs)
    assert all(counts[relation, language] > 20 for relation in RELATIONS for language in ("en", "zh"))


def test_made_questions_are_whole(pairs: list[LabelledPair]) -> None:
    for pair in pairs:
        assert pair.b.stem.strip()
        assert pair.a.id != pair.b.id
        assert pair.b.answer is pair.b.analysis is None
        for part in segments(pair.b.content):
            if part.is_formula:
                unescaped = part.body.replace(r"\\{", "").replace(r"\\}", "")
                assert unescaped.count("{") == unescaped.count("}")
            else:
                assert "$" not in part.body
                assert not re.search(
                    r"\{(?:year|month|name|age|points|number)\}", part.body
                )  # a template that was not filled


def test_made_pairs_differ_as_their_relation_demands(pairs: list[LabelledPair]) -> None:
    for pair in pairs:
        a, b = traits(pair.a), traits(pair.b)
        if pair.relation == "duplicate":
            assert (pair.a.stem, pair.a.options) != (pair.b.stem, pair.b.options)
            assert a.numbers <= b.numbers  # nothing that matters is gone
            assert a.degrees <= b.degrees
            assert a.targets <= b.targets
            assert a.figures == b.figures
        elif pair.relation == "similar":
            assert a.numbers != b.numbers
            assert (a.targets, a.figures) == (b.targets, b.figures)
        elif pair.relation == "variant":
            assert a.text != b.text
            assert a.figures == b.figures
        else:
            assert a.figures != b.figures or len(a.runs & b.runs) < 0.8 * len(a.runs | b.runs)


def test_questions_of_one_group_are_never_drawn_as_unrelated(sample_bank: QuestionBank) -> None:
    group = sample_bank.column("group")[0]
    rows = [row for row, row_group in enumerate(sample_bank.column("group")) if row_group == group]
    maker = PairMaker(sample_bank.select(rows))
    drawn = {maker.draw(0, np.random.default_rng(seed)).relation for seed in range(30)}
    assert "duplicate" in drawn
    assert "unrelated" not in drawn


def test_formulas_are_spelt_otherwise_and_say_the_same() -> None:
    stem = r"If $\frac12 x^2 \leq 3$ and \[y \neq \dfrac{1}{3}\], find $x^{2}$."
    spellings = outcomes(respell_formulas, stem)
    assert len(spellings) > 10
    assert {one_form(spelling) for spelling in spellings} == {one_form(stem)}
    assert any(r"\tfrac" in spelling for spelling in spellings)
    assert any(r"\(" in spelling for spelling in spellings)


def test_wordings() -> None:
    assert outcomes(reword, "Calculate the area.") == {"Find the area.", "What is the area.", "Determine the area."} | {
        "Work out the area."
    }
    names = outcomes(reword, "Tom has 3 pens, Anna has 2. Tom gives one away.")
    assert names
    for stem in names:  # a name that is new, wherever the old one stood
        (new,) = set(re.findall(r"[A-Z][a-z]+", stem)) - {"Tom", "Anna"}
        assert len(re.findall(new, stem)) in (1, 2)
    assert "试求 $x$。" in outcomes(reword, "求 $x$。")


def test_asides_and_times_play_no_part() -> None:
    stem = "A price is increased by 25%, and then reduced. What is it?"
    for text in outcomes(say_time, stem):
        assert traits(Question("b", text)).numbers == Counter({"25": 1})
        assert traits(Question("b", text)).targets == traits(Question("a", stem)).targets
    assert all(text.endswith("求面积。") or text.startswith("求面积。") for text in outcomes(say_aside, "求面积。"))


def test_a_surface_is_always_changed() -> None:
    for seed in range(50):
        assert change_surface(Question("q", "Find $x$."), np.random.default_rng(seed)).stem != "Find $x$."
    assert {"respell", "reword", "aside", "rename"} <= set(SURFACE_CHANGES)


def test_degrees() -> None:
    assert outcomes(change_degree, "Solve $x-2m=0$.") == {
        f"Solve ${left}-2{right}=0$."
        for left, right in (("x^{2}", "m"), ("x^{3}", "m"))  # m is no unknown: it is a parameter or an index
    }
    assert outcomes(change_degree, "Factor $x^2-9$.") >= {"Factor $x-9$.", "Factor $x^{3}-9$."}
    assert not outcomes(change_degree, r"Find $\angle A$ of 2^3 pens and $x$.")


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("Find the perimeter of a square.", "Find the area of a square."),
        ("What is the Maximum?", "What is the Minimum?"),
        ("At least two heads come up.", "At most two heads come up."),
        ("求长方形的周长。", "求长方形的面积。"),
        ("至少有一个是红球", "至多有一个是红球"),
        ("下列说法正确的是", "下列说法错误的是"),
    ],
)
def test_another_quantity_is_asked_for(stem: str, expected: str) -> None:
    assert expected in outcomes(change_target, stem)


def test_operators_conditions_and_what_is_known() -> None:
    assert outcomes(change_operator, r"Find $\sin x + 1$.") == {r"Find $\cos x + 1$."}  # the sign of 1 is a number's
    assert outcomes(drop_condition, "If $a=1$, $b=2$, find $a+b$.") == {
        "If $a=1$, find $a+b$.",
        "If $b=2$, find $a+b$.",
    }
    assert outcomes(swap_known_and_target, "If $x=3$ and $x+y=5$, find $y$.") == {"If $y=3$ and $x+y=5$, find $x$."}
    assert make_other(Question("q", "Why?"), np.random.default_rng(0)) is None
    unchanged = Question("q", "Why?", options=("a", "b"))
    assert make_variant(unchanged, np.random.default_rng(0)) == unchanged


def test_numbers_of_the_prose() -> None:
    changed = outcomes(replace_prose_number, "In May 2020, 25 of 130 pupils of form 7B (3) were ill, 12.5%.")
    pattern = r"In May 2020, (\d\d) of (\d\d\d) pupils of form 7B \(3\) were ill, (\d\d\.[1-9])%\."
    assert changed
    assert all(re.fullmatch(pattern, stem) for stem in changed)
    assert not outcomes(replace_prose_number, "第3题，1998年5月")


def test_similar_questions_have_other_numbers_in_stem_and_options() -> None:
    question = Question("q", "Find $2x+13$ for $x=5$.", options=("$23$", "$32$"))
    made = [make_similar(question, np.random.default_rng(seed)) for seed in range(30)]
    others = [other for other in made if other is not None]  # numbers may also have changed places
    assert len(others) > 25
    for other in others:
        assert traits(other).numbers != traits(question).numbers
        assert traits(other).shapes == traits(question).shapes
    assert make_similar(Question("q", "Find $x$.", options=("$23$",)), np.random.default_rng(0)) is None
