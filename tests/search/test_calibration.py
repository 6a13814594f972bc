"""Where the scale of likeness begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.search.conftest import WIDTH
from tqnet.questions import Question, QuestionBank
from tqnet.search.build import build, update
from tqnet.search.calibration import UNRELATED
from tqnet.search.index import Index
from tqnet.search.ranking import Rank
from tqnet.search.searcher import NOTHING_SIMILAR, Follower, Searcher, typed_question
from tqnet.search.versions import Manifest

TOPICS = ["Find the area of a circle", "Solve the equation $x+1=2$", "How long is the side", "Where is the car now"]


def encode(questions: Sequence[Question] | QuestionBank) -> np.ndarray:
    """Vectors of a model that finds all texts much alike, and those of one beginning the same but for noise."""
    vectors = []
    for question in questions:
        rng = np.random.default_rng(list(question.stem.encode()))
        topic = np.random.default_rng(list(question.stem[:12].encode()))
        vectors.append(2 + topic.normal(size=WIDTH) + 0.1 * rng.normal(size=WIDTH))
    return np.stack(vectors)


QUESTIONS = [
    Question(id=f"{topic}{number}", stem=f"{stem} number {number} of all.")
    for topic, stem in enumerate(TOPICS)
    for number in range(15)
]


@pytest.fixture
def searcher(tmp_path: Path) -> Searcher:
    build(QuestionBank.from_questions(QUESTIONS), encode, tmp_path / "index", Manifest("m", None, WIDTH, "bank"))
    index = Index(tmp_path / "index")
    return Searcher(index, encode, rank=Rank())


@pytest.mark.parametrize("by", [("text", "vector"), ("text",)])
def test_what_nobody_asks_finds_nothing(searcher: Searcher, by: tuple[str, ...]) -> None:
    def answers(texts: Sequence[str]) -> list[int]:
        queries = searcher.queries(list(map(typed_question, texts)), by)
        return [len(searcher.answer(query, by=by, fold=False).candidates) for query in queries]

    sentences = [line.strip() for text in UNRELATED.values() for line in text.strip().splitlines()]
    assert len(sentences) == len(set(sentences)) == 60
    results = np.array(answers(sentences))
    assert (results > 0).sum() <= 4
    assert answers(["?", "$$$$", "...!"]) == [0, 0, 0]
    assert min(answers([f"{stem} number 77 of all." for stem in TOPICS])) == 5


def test_the_same_question_is_one(searcher: Searcher) -> None:
    (query,) = searcher.queries([typed_question("Find the area of a circle number 3 of all.")])
    first = searcher.answer(query, 1).known[0]
    assert first.relation == "identical"
    (nothing,) = searcher.queries([typed_question("Recipes for a birthday cake")])
    assert NOTHING_SIMILAR in searcher.answer(nothing).notes
    replace(searcher.index.background, unrelated={}).save(searcher.index.files)
    assert searcher.answer(nothing).candidates


def test_the_scale_is_measured_again_as_the_bank_grows(tmp_path: Path, searcher: Searcher) -> None:
    folder = tmp_path / "growing"
    build(QuestionBank.from_questions(QUESTIONS[:1]), encode, folder, Manifest("m", None, WIDTH, "bank"))
    index = Index(folder)
    follower = Follower(folder, lambda index: Searcher(index, encode))
    state = follower.current().state()
    assert (index.background.measured, index.background.unrelated["words"]) == (1, 0)
    update(index, QUESTIONS[:2], encode)
    assert index.background.measured == 1
    update(index, QUESTIONS, encode)
    assert index.background == searcher.index.background
    assert follower.current().index.background == index.background
    assert follower.current().state() != state


def test_a_bank_of_everyday_sentences_still_has_results(tmp_path: Path) -> None:
    everyday = [line.strip() for line in UNRELATED["en"].strip().splitlines()]
    questions = [Question(id=f"e{at}", stem=f"{stem} Twice?") for at, stem in enumerate(everyday)]
    build(QuestionBank.from_questions(questions), encode, tmp_path / "index", Manifest("m", None, WIDTH, "bank"))
    searcher = Searcher(Index(tmp_path / "index"), encode, rank=Rank())
    (query,) = searcher.queries([typed_question(f"{everyday[0]} Thrice?")])
    assert [candidate.question.id for candidate in searcher.answer(query).candidates] == ["e0"]
