"""Questions that an index has already, in every engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.search.conftest import WIDTH
from tqnet.questions import Question
from tqnet.search.engine import SearchEngine
from tqnet.search.known import Known, Lookup
from tqnet.search.records import records
from tqnet.search.searcher import typed_question

TRAIN = Question(id="train", stem=r"A train goes $\frac{1}{2}$ of 60 km. How far?", options=("30 km", "60 km", "15 km"))


def relations(known: list[Known]) -> dict[str, str]:
    return {question.question.id: question.relation for question in known}


def test_the_nearest_come_first_with_what_differs(engine: SearchEngine) -> None:
    indexed = [
        replace(TRAIN, id="variant", stem=TRAIN.stem.replace("60", "90")),
        replace(TRAIN, id="spelt", stem=r"a train  goes $\dfrac12$ of 60 km. How far", options=TRAIN.options[::-1]),
        replace(TRAIN, id="spaced", stem=TRAIN.stem.replace(" ", "  ")),
        replace(TRAIN, id="other", stem="A train goes nowhere."),
        TRAIN,
    ]
    engine.add(records(indexed, np.ones((5, WIDTH))))
    known = Lookup(engine, replace(TRAIN, id="query"), variants=True).known(["other"])
    assert list(relations(known).items()) == [
        ("spaced", "identical"),
        ("train", "identical"),
        ("other", "near"),
        ("spelt", "near"),
        ("variant", "variant"),
    ]
    differs = {question.question.id: question.differs for question in known}
    assert differs["spaced"] == differs["train"] == ()
    assert differs["variant"] == (("60", "90"),)
    assert differs["spelt"][-1] == ("(30 km) (60 km) (15 km)", "(15 km) (60 km) (30 km)")
    assert "train" not in relations(Lookup(engine, TRAIN).known())


def test_figures_tell_questions_apart(engine: SearchEngine, draw_figure) -> None:
    figure, copy, other_figure = draw_figure(1), draw_figure(1), draw_figure(2)
    indexed = [
        Question(id=name, stem="Find x.", images=(path,)) for name, path in zip("ab", (copy, other_figure), strict=True)
    ]
    engine.add(records(indexed, np.ones((2, WIDTH))))
    assert relations(Lookup(engine, Question(id="q", stem="Find x.", images=(figure,)), variants=True).known()) == {
        "a": "identical",
        "b": "variant",
    }
    typed = Lookup(engine, typed_question("find x")).known()
    assert relations(typed) == {"a": "near", "b": "near"}
    assert typed[0].differs[-1] == ("0 figures", "1 figure")


@pytest.mark.parametrize("stem", ["Solve x^2 - 9 = 0 for real x.", "Find $x$ if $x+7=12$.", "求ｘ：√(x+5)=3"])
def test_what_is_typed_word_for_word_is_identical(engine: SearchEngine, stem: str) -> None:
    engine.add(records([Question(id="a", stem=stem)], np.ones((1, WIDTH))))
    assert relations(Lookup(engine, typed_question(stem)).known()) == {"a": "identical"}


def test_texts_without_words_are_no_repeats(engine: SearchEngine) -> None:
    pictured = [Question(id=f"{i}", stem="-", images=(f"{i}.png",)) for i in range(3)]
    engine.add(records(pictured, np.ones((3, WIDTH))))
    assert Lookup(engine, Question(id="q", stem="", images=("other.png",)), variants=True).known() == []


def test_nothing_is_known_of_a_new_question(engine: SearchEngine) -> None:
    engine.add(records([TRAIN], np.ones((1, WIDTH))))
    assert Lookup(engine, Question(id="q", stem="A ship sails.")).known() == []


def test_of_a_template_of_hundreds_a_few_are_shown(engine: SearchEngine) -> None:
    engine.add(records([Question(id=f"{i:03d}", stem=f"{i} + 1?") for i in range(30)], np.ones((30, WIDTH))))
    query = Question(id="q", stem="99 + 1?")
    assert len(Lookup(engine, query, variants=True).known()) == 5
    assert Lookup(engine, query).known() == []


def test_the_identical_one_of_many_with_one_text_is_found(engine: SearchEngine, draw_figure) -> None:
    drawings = [draw_figure(1), *(f"elsewhere{i}.png" for i in range(30))]
    indexed = [Question(id=f"{i:03d}", stem="Find x.", images=(path,)) for i, path in enumerate(drawings[::-1])]
    engine.add(records(indexed, np.ones((31, WIDTH))))
    query = Question(id="q", stem="Find x.", images=(draw_figure(1),))
    assert relations(Lookup(engine, query).known()) == {"030": "identical"}
