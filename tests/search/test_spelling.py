"""Misspelt words of typed queries are corrected by the words of the bank, and nothing else is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.search.conftest import WIDTH
from tqnet.questions import Question, QuestionBank
from tqnet.search import background
from tqnet.search.background import Words
from tqnet.search.build import build, update
from tqnet.search.index import Index, restore
from tqnet.search.searcher import Query, Searcher, typed_question
from tqnet.search.spelling import corrected
from tqnet.search.versions import Manifest

COUNTS = Words({"the": 1000, "for": 200, "find": 700, "of": 800, "is": 900, "who": 30, "reasonable": 40, "dr": 9} | {
    "evaluate": 300, "integral": 200, "intervals": 90, "triangle": 150, "parallelogram": 20, "form": 60, "from": 500,
    "value": 400, "maria": 40, "march": 80, "moment": 50, "math": 30, "interior": 1, "tabular": 20, "alpha": 20,
    "solve": 3, "slope": 60,
})  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("evaluate teh intergal", "evaluate the integral"),
        ("Evalaute the Integral. Fnid its value", "Evaluate the Integral. Find its value"),
        ("EVALUATE TEH INTERGAL $x$", "EVALUATE THE INTEGRAL $x$"),
        ("find the paralelgram", "find the parallelogram"),  # two edits
        ("find $intergal$ of the traingle $trainge$", "find $intergal$ of the triangle $trainge$"),
        ("the value of the $x$-intervls, dr. traingle", "the value of the $x$-intervals, dr. triangle"),
    ],
)
def test_misspelt_words(typed: str, meant: str) -> None:
    assert corrected(typed, COUNTS) == meant
    assert corrected(meant, COUNTS) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123 4.5 2nd x2 vaule2 _vaule_",
        r"find \alhpa of \begin{tabluar}x\end{tabluar} and \textbf{vaule}",
        "find \\(vaule\\) and $$ evalaute $$",
        "求intergal的值",
        "求三角形的面积",
        "find the value of Marai",  # a name
        "the value form the interior",  # words of the bank
        "slove for the value",  # "solve" is meant, not "slope", but too rare
        "hte tis fro",  # more are unknown than known
        "find the unreasonable momentum of integrals",  # other words
        "calcule le volume du traingle",
        "the vlae of et",  # too short, too far
        "find the value of " + "traingl" * 30,
    ],
)
def test_what_is_left_as_typed(text: str) -> None:
    assert corrected(text, COUNTS) == text


def test_the_most_frequent_of_equally_near_words() -> None:
    once = Words({"find": 9, "the": 9, "sector": 1})
    often = Words({"find": 9, "the": 9, "sector": 5, "rector": 8})
    assert corrected("find the vector", often) == "find the rector"
    assert corrected("find the vector", once) == "find the vector"  # once proves little
    assert corrected("find the vector", Words()) == "find the vector"


STEMS = ("Evaluate the integral", "Find the integral of $secret$ for all", "Evaluate the intervals", "Find the area")
QUESTIONS = [
    Question(id=f"q{at}", stem=f"{stem} $x+{at}$", options=("kitchen",), knowledge=(("Calculus",),))
    for at, stem in enumerate(STEMS * 3)
]


def encode(questions: Sequence[Question] | QuestionBank) -> np.ndarray:
    """Vectors that tell the stems apart."""
    return np.stack([np.random.default_rng(len(question.stem)).normal(size=WIDTH) for question in questions])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "index"
    build(QuestionBank.from_questions(QUESTIONS), encode, folder, Manifest("runs/model", "0123", WIDTH, "bank"))
    return folder


@pytest.fixture
def index(built: Path, tmp_path: Path) -> Index:
    return Index(shutil.copytree(built, tmp_path / "index"))


def query(index: Index, text: str, correct: bool = True, by: Sequence[str] = ("text", "vector")) -> Query:
    return next(Searcher(index, encode).queries([typed_question(text)], by, correct=correct))


def test_an_index_counts_its_words(index: Index) -> None:
    assert index.background.words == {
        "the": 12, "kitchen": 12, "calculus": 12, "evaluate": 6, "integral": 6, "find": 6, "of": 3, "for": 3, "all": 3,
        "intervals": 3, "area": 3,
    }  # fmt: skip


def test_a_misspelt_query_finds_what_the_right_one_finds(index: Index) -> None:
    wrong, right = query(index, "Evaluate teh intergal"), query(index, "Evaluate the integral")
    assert wrong.notes == ('searched for "Evaluate the integral"',)
    assert (wrong.question, right.notes) == (right.question, ())
    np.testing.assert_array_equal(wrong.vector, right.vector)
    searcher = Searcher(index, encode)
    answers = [searcher.answer(query) for query in (wrong, right)]
    assert answers[0].candidates == answers[1].candidates
    assert answers[0].notes == wrong.notes
    assert query(index, "Evaluate teh intergal", by=["text"]).question == right.question


def test_queries_that_were_not_typed_are_not_corrected(index: Index) -> None:
    assert query(index, "Evaluate teh intergal", correct=False).question.stem == "Evaluate teh intergal"
    index.put([replace(QUESTIONS[0], stem="Evaluate teh intergal")], encode(QUESTIONS[:1]))
    assert Searcher(index).by_id("q0").question.stem == "Evaluate teh intergal"
    assert not query(index, "Evaluate teh intergal").notes  # the bank spells it so


def test_updates_add_words(index: Index) -> None:
    assert query(index, "Find teh trapezium").question.stem == "Find the trapezium"
    new = [Question(id=f"new{at}", stem=f"Find the trapezoid ${at}$") for at in range(2)]
    update(index, QuestionBank.from_questions(new), encode, delete=True)
    assert index.background.words["trapezoid"] == 2
    assert index.background.words["integral"] == 6  # though its questions are deleted
    assert query(Index(index.folder), "Find the trapezoyd").question.stem == "Find the trapezoid"


def test_a_restored_index_knows_the_same(index: Index, tmp_path: Path) -> None:
    index.export(tmp_path / "out")
    assert restore(tmp_path / "out", tmp_path / "again").background == index.background


def test_the_rarest_words_of_too_many_are_dropped(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MOST", 6)
    index.put(QUESTIONS[:1], encode(QUESTIONS[:1]))
    assert set(index.background.words) == {"the", "kitchen", "calculus", "evaluate", "integral", "find"}
