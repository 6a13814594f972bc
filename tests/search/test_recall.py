"""Candidates of both sources, merged by the paper's rule, without the query and its duplicates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.samples import make_questions, make_vectors
from tqnet.questions import Question
from tqnet.search.engine import SearchEngine
from tqnet.search.records import read_filter, records, unit
from tqnet.search.retrieval import Retriever, merge

QUESTIONS, VECTORS = make_questions(), make_vectors()


@pytest.mark.parametrize(
    ("exact", "embedded", "n", "merged"),
    [
        ("abcdef", "cghijk", 5, "cgahb"),  # one in both, two of each
        ("abc", "abc", 5, "abc"),
        ("abc", "cba", 2, "cb"),
        ("abcd", "", 3, "abc"),
        ("", "abcd", 3, "abc"),
        ("a", "bcdefg", 5, "bacde"),  # the other list fills the half that is missing
        ("bcdefg", "a", 5, "abcde"),
        ("", "", 5, ""),
    ],
)
def test_merging(exact: str, embedded: str, n: int, merged: str) -> None:
    assert "".join(merge(exact, embedded, n)) == merged


@given(
    st.permutations("abcdefgh"), st.permutations("efghijkl"), st.integers(0, 8), st.integers(0, 8), st.integers(1, 12)
)
def test_merging_takes_what_the_paper_says(one: list[str], other: list[str], a: int, b: int, n: int) -> None:
    exact, embedded = one[:a], other[:b]
    found = merge(exact, embedded, n)
    both = set(exact) & set(embedded)
    assert len(found) == len(set(found)) == min(n, len(set(exact) | set(embedded)))
    if len(both) <= n:
        assert both <= set(found)
        rest = [sum(id in found for id in ids if id not in both) for ids in (exact, embedded)]
        if min(len(exact), len(embedded)) - len(both) > n:
            assert abs(rest[0] - rest[1]) <= 1
    for ids in (exact, embedded):  # of each list, the first ones
        taken = [id in found for id in ids if id not in both]
        assert taken == sorted(taken, reverse=True)


def test_neither_the_query_nor_its_duplicates(engine: SearchEngine) -> None:
    query = Question(id="q", stem="A train goes $60$ km in $2$ hours, how fast is it on its way to the town?")
    again = replace(query, id="same-text")
    other_numbers = replace(query, id="numbers", stem=query.stem.replace("60", "75"))
    longer = Question(id="longer", stem=query.stem + " Give the answer in kilometres an hour, and explain each step.")
    twin = replace(longer, id="twin-of-longer")
    with_figure = replace(query, id="figure", images=("road.png",))
    engine.add(records([query, again, other_numbers, longer, twin, with_figure], np.ones((6, 8))))
    found = Retriever(engine)(query, np.ones(8))
    assert {one.question.id for one in found} == {"numbers", "longer", "figure"}
    assert all(one.cosine == pytest.approx(1) and one.words for one in found)
    assert "vector 1.000, text" in found[0].why


def test_a_question_whose_figure_has_moved_does_not_find_itself(engine: SearchEngine) -> None:
    query = Question(id="q", stem="How long is the road?", images=("road.png",))
    engine.add(records([query], np.ones((1, 8))))
    assert Retriever(engine)(replace(query, images=("elsewhere.png",)), np.ones(8)) == []


def test_of_two_that_are_equal_one_is_a_candidate(engine: SearchEngine) -> None:
    """Though the text finds the one with concepts first, and the vector the other."""
    a = Question(id="a", stem="Solve the equation for the unknown")
    b = replace(a, id="b", knowledge=(("Algebra", "Equations"),))
    engine.add(records([a, b], np.ones((2, 8))))
    (found,) = Retriever(engine)(Question(id="q", stem="Solve", knowledge=b.knowledge), np.ones(8))
    assert found.cosine == pytest.approx(1)
    assert found.words is not None


def test_other_numbers_are_no_duplicate_however_long_the_text(engine: SearchEngine) -> None:
    stem = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(80)) + " is $3$ times"
    engine.add(records([Question(id="seven", stem=stem.replace("3", "7"))], np.ones((1, 8))))
    assert [one.question.id for one in Retriever(engine)(Question(id="q", stem=stem), np.ones(8))] == ["seven"]


def test_the_score_does_not_depend_on_whether_the_query_is_in_the_index(engine: SearchEngine) -> None:
    engine.add(records(QUESTIONS[1:], VECTORS[1:]))
    typed = [(one.question.id, one.score) for one in Retriever(engine)(QUESTIONS[0], VECTORS[0])]
    again = [
        (one.question.id, one.score)
        for one in Retriever(engine)(QUESTIONS[0], VECTORS[0], where=[read_filter("id!=q000")])
    ]
    assert typed == again


def test_what_is_asked_makes_a_variant_however_long_the_text(engine: SearchEngine) -> None:
    words = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(70))
    area = Question(id="area", stem=f"{words} what is the largest possible area of the field")
    perimeter = replace(area, id="perimeter", stem=area.stem.replace("area", "perimeter"))
    engine.add(records([perimeter], np.ones((1, 8))))
    assert [one.question.id for one in Retriever(engine)(area, np.ones(8))] == ["perimeter"]


def test_a_formula_written_otherwise_makes_a_duplicate(engine: SearchEngine) -> None:
    query = Question(id="q", stem=r"Find the number $x$ for which $\dfrac12 x + 3 = 9$ holds, and check it.")
    again = replace(query, id="again", stem=query.stem.replace(r"\dfrac12", r"\frac{1}{2}"))
    engine.add(records([again], np.ones((1, 8))))
    assert Retriever(engine)(query, np.ones(8)) == []


def test_a_word_more_is_a_near_duplicate(engine: SearchEngine) -> None:
    stem = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60))
    engine.add(
        records([Question(id="near", stem=f"{stem} more"), Question(id="other", stem=stem[:250])], np.ones((2, 8)))
    )
    assert [one.question.id for one in Retriever(engine)(Question(id="q", stem=stem), np.ones(8))] == ["other"]


@pytest.mark.parametrize("by", [("text",), ("vector",), ("text", "vector")])
def test_sources_and_filters(engine: SearchEngine, by: tuple[str, ...]) -> None:
    engine.add(records(QUESTIONS, VECTORS))
    query = QUESTIONS[12]
    found = Retriever(engine)(query, VECTORS[12], 10, [read_filter("type=blank")], by=by)
    assert 0 < len(found) <= 10
    assert all(one.question.type == "blank" for one in found)
    assert [(-one.score, one.question.id) for one in found] == sorted((-one.score, one.question.id) for one in found)
    for one in found:
        if by == ("text", "vector"):
            assert one.cosine is not None
        if one.cosine is not None:
            expected = unit(VECTORS)[12] @ unit(VECTORS)[int(one.question.id[1:])]
            assert one.cosine == pytest.approx(float(expected), abs=1e-5)
    assert all(one.words is None for one in found) == (by == ("vector",))
    assert all(one.cosine is None for one in found) == (by == ("text",))


def test_without_a_vector_the_text_is_searched(engine: SearchEngine) -> None:
    engine.add(records(QUESTIONS, VECTORS))
    assert {one.cosine for one in Retriever(engine)(QUESTIONS[12])} == {None}
    assert Retriever(engine)(Question(id="q", stem="of the")) == []


@pytest.mark.parametrize(("merging", "expected"), [("score", "abcd"), ("halves", "abxy")])
def test_half_of_the_places_or_the_best_score(engine: SearchEngine, merging: str, expected: str) -> None:
    """The text finds x and y alone, by a word of little worth; vectors put a to d before them."""
    near = {id: Question(id=id, stem=f"A triangle and its {id}{id}{id}") for id in "abcd"}
    far = {id: Question(id=id, stem=f"How much is the {id}{id}{id} of a parallelogram") for id in "xy"}
    questions = [*near.values(), *far.values()]
    angles = np.radians([0, 5, 10, 15, 80, 81])
    engine.add(records(questions, np.stack([np.cos(angles), np.sin(angles), *np.zeros((6, 6))], 1)))
    query = Question(id="q", stem="What of the parallelogram")
    found = Retriever(engine, merging)(query, np.eye(8)[0], 4)
    assert {one.question.id for one in found} == set(expected)


def test_a_merging_that_there_is_not(engine: SearchEngine) -> None:
    with pytest.raises(ValueError, match=r"^merging: 'all' is none of score, halves$"):
        Retriever(engine, "all")


def test_many_doubles_of_the_query_leave_room_for_others(engine: SearchEngine) -> None:
    query = Question(id="q", stem="Find the area of the garden in square metres")
    copies = [replace(query, id=f"copy{i}") for i in range(60)]
    others = [replace(query, id=f"other{i}", stem=f"Find the area of garden {'abcdefgh'[i]}") for i in range(8)]
    vectors = np.ones((68, 8))
    vectors[60:, 0] = 0  # every copy is nearer
    engine.add(records([*copies, *others], vectors))
    assert {one.question.id for one in Retriever(engine)(query, np.ones(8), 5)} <= {one.id for one in others}
    assert len(Retriever(engine)(query, np.ones(8), 5)) == 5


def test_what_the_nearest_are_about_is_searched_for(engine: SearchEngine) -> None:
    area, sets = ("Geometry", "Area"), ("Logic", "Sets")
    kinds = [(10, 0.95, area), (30, 0.8, sets), (5, 0.6, area), (5, 0.5, sets)]
    made, vectors = [], []
    for count, cosine, concept in kinds:
        for _ in range(count):
            at = len(made)
            made.append(Question(id=f"{at:02d}", stem=f"Question number {at} of all", knowledge=(concept,)))
            vectors.append([cosine - at / 1000, (1 - (cosine - at / 1000) ** 2) ** 0.5, *[0] * 6])
    engine.add(records(made, np.array(vectors, dtype=np.float32)))
    query, vector = Question(id="q", stem="How large is it?"), np.eye(8, dtype=np.float32)[0]
    plain = [one.question.id for one in Retriever(engine, guess=False)(query, vector, 20)]
    assert plain == [f"{at:02d}" for at in range(20)]
    found = Retriever(engine)(query, vector, 20)
    assert [one.question.id for one in found] == [*plain[:15], *(f"{at:02d}" for at in range(40, 45))]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for kept in (
        Retriever(engine)(replace(query, knowledge=(sets,)), vector, 20),  # it is known
        Retriever(engine)(query, vector, 20, by=("vector",)),
        Retriever(engine, merging="halves")(query, vector, 20),
    ):
        assert "44" not in {one.question.id for one in kept}
    few = Retriever(engine)(query, vector, 20, [read_filter("concept=Logic/Sets")])
    assert {one.question.knowledge for one in few} == {(sets,)}
    of_bank = Retriever(engine)(made[0], vector, 20, duplicates=True)
    assert "00" not in {one.question.id for one in of_bank}
