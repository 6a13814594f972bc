"""Near and far concepts: which pairs are drawn, and what vectors make of them."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.evaluation.concept_pairs import (
    FAR,
    LEAST,
    MOST,
    NEAR,
    concept_table,
    draw_concept_pairs,
    measure_concept_pairs,
    to_numbers,
)
from tqnet.questions import Question, QuestionBank


@pytest.fixture
def bank() -> QuestionBank:
    """2 areas of 3 topics of 12 questions each; those of t12 are all of t02 too, which has 12 more."""
    topics = [(f"a{area}", f"t{area}{topic}") for area in range(2) for topic in range(3)]
    questions = [
        Question(id=f"{topic}-{i}", stem="?", knowledge=((area, topic),), split="test")
        for area, topic in topics
        for i in range(12)
        if topic != "t12"
    ]
    both = (("a0", "t02"), ("a1", "t12"))
    questions += [Question(id=f"both-{i}", stem="?", knowledge=both, split="test") for i in range(12)]
    questions += [Question(id=f"trained-{i}", stem="?", knowledge=(topics[0],), split="train") for i in range(80)]
    return QuestionBank.from_questions(questions)


def test_pairs_have_as_many_questions_of_each_concept_and_none_of_both(bank: QuestionBank) -> None:
    pairs = draw_concept_pairs(bank)
    assert {pair.kind for pair in pairs} == {NEAR, FAR}
    for pair in pairs:
        first, second = pair.concepts
        assert (first[0] == second[0]) == (pair.kind == NEAR)
        assert LEAST <= pair.questions.shape[1] <= MOST
        for places, concept, without in zip(pair.questions, (first, second), (second, first), strict=True):
            for place in places:
                assert concept in bank[place].knowledge
                assert without not in bank[place].knowledge
                assert bank[place].split == "test"
        assert {first[1], second[1]} != {"t02", "t12"}  # all questions of the one are of the other too
    named = [pair.concepts for pair in pairs]
    assert len(set(named)) == len(named) == 6 + 8


def test_a_concept_with_many_questions_gives_no_more_than_the_other(bank: QuestionBank) -> None:
    sizes = {
        frozenset(path[1] for path in pair.concepts): pair.questions.shape[1] for pair in draw_concept_pairs(bank, None)
    }
    assert sizes[frozenset({"t00", "t01"})] == 12
    assert sizes[frozenset({"t00", "t02"})] == 24


def test_vectors_of_the_area_mix_near_concepts_alone(bank: QuestionBank) -> None:
    rng = np.random.default_rng(0)
    areas = np.array([question.knowledge[0][0] == "a0" for question in bank], dtype=float)
    vectors = np.stack([areas, 1 - areas], 1) + 0.01 * rng.normal(size=(len(bank), 2))
    pairs = [pair for pair in draw_concept_pairs(bank) if "t12" not in {name[1] for name in pair.concepts}]
    near = np.array([pair.kind == NEAR for pair in pairs])
    scores = measure_concept_pairs(vectors, pairs)
    assert scores.mixed[near].min() > 0.2
    assert scores.mixed[~near].max() == 0
    assert scores.between[near].min() > 0.99
    assert scores.between[~near].max() < 0.1
    assert to_numbers({"areas": scores}, pairs)["areas"][FAR]["mixed"] == 0
    assert [row[0] for row in concept_table({"areas": scores}, pairs).rows] == ["areas, near", "areas, far"]


@pytest.mark.parametrize(
    ("split", "level", "message"),
    [
        ("test", 1, "level 1: the hierarchy has levels 1 to 2"),
        ("test", 3, "level 3: the hierarchy has levels 1 to 2"),
        ("valid", None, "split 'valid' has no two near concepts of level 2 with 5 questions each"),
    ],
)
def test_what_cannot_be_drawn(bank: QuestionBank, split: str, level: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw_concept_pairs(bank, split, level=level)
