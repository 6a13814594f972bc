"""Clusters of duplicates: what is one question, what is not, and that no model is asked about more than a few."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.questions import Question, QuestionBank
from tqnet.questions.near_duplicates import alike_within
from tqnet.questions.pairs import RELATIONS
from tqnet.search.duplicates import Judge, best_of_each, find_duplicates, neighbours

LONG = (
    "A train leaves the station at noon and covers 240 km in 3 hours on a straight track without any stop, while a "
    "second train follows it after half of an hour at 100 km per hour. When does the second train reach the first one?"
)


def clusters(*questions: str | Question, **options: object) -> list[tuple[tuple[int, ...], str]]:
    bank = QuestionBank.from_questions(
        Question(id=str(i), stem=question) if isinstance(question, str) else question
        for i, question in enumerate(questions)
    )
    report = find_duplicates(bank, **options)  # type: ignore[arg-type]
    return [(cluster.rows, " ".join(link.why for link in cluster.links)) for cluster in report.clusters]


def test_equal_text_in_one_form() -> None:
    spelt = r"Find $\dfrac12 x$.", r"find \(\frac{1}{2}x\)", r"Find $\frac13 x$.", "Find $y$.", "Find $z$."
    assert clusters(*spelt) == [((0, 1), "equal text")]
    assert clusters("Solve $x^2-5x+6=0$.", "Solve x² − 5x + 6 = 0.") == [((0, 1), "equal text")]
    three = clusters("Find x.", "What?", "Find  x", "find x.")
    assert three == [((0, 2, 3), "equal text equal text")]


def test_digits_and_options_count() -> None:
    assert not clusters("Find 2 of 35.", "Find 3 of 25.")
    a, b, c = (
        Question(id=name, stem="Which?", options=options)
        for name, options in zip("abc", ("12", "21", "13"), strict=True)
    )
    assert clusters(a, b, c) == [((0, 1), "equal text")]


def test_near_text_says_the_same() -> None:
    assert clusters(LONG, LONG.replace("any ", "")) == [((0, 1), "near text")]
    assert clusters(LONG, LONG.replace("at noon", "at noon in May 2020"), threshold=0.8) == [((0, 1), "near text")]
    assert not clusters(LONG, LONG.replace("240", "250"), threshold=0.8)
    assert not clusters(LONG, LONG.replace("after half", "before half"), threshold=0.8)
    assert not clusters(LONG, LONG.replace("the second train reach the first", "the first train reach the second"))
    assert not clusters(
        *(f"{LONG} Let S be the event that it is late, and E that it is early. Find P({x})." for x in "SE")
    )
    assert not clusters(LONG, LONG.replace("any ", ""), threshold=1.0)
    with pytest.raises(ValueError, match=r"threshold: 1\.5 is not in"):
        clusters(LONG, threshold=1.5)


def test_figures_that_differ_make_other_questions(draw_figure) -> None:
    figure, other_figure = draw_figure(1), draw_figure(2)
    rows = [
        Question(id=str(i), stem="Find x.", images=images)
        for i, images in enumerate([(figure,), (other_figure,), (figure,), ()])
    ]
    assert clusters(*rows) == [((0, 2), "equal text")]
    texts = [
        Question(id=str(i), stem=stem, images=(figure,)) for i, stem in enumerate([LONG, LONG.replace("any ", "")])
    ]
    assert clusters(*texts) == [((0, 1), "near text")]


def test_a_judge_decides_on_near_texts_and_near_vectors() -> None:
    """Rows 0 and 1 are near by vector, 2 and 3 by text; 4 and 5 are equal and not asked about."""
    stems = "One", "Uno", LONG, LONG.replace("any ", ""), "Same.", "same"
    vectors = np.eye(6, 8, dtype=np.float32)
    vectors[1] = vectors[0] + 0.1 * vectors[3]
    asked: list[tuple[int, ...]] = []

    def decide(pairs: np.ndarray) -> np.ndarray:
        asked.extend(map(tuple, pairs.T.tolist()))
        certain = {(0, 1): "duplicate", (2, 3): "variant"}
        return np.array(
            [[RELATIONS[at] == certain[tuple(pair)] for at in range(4)] for pair in pairs.T.tolist()], float
        )

    bank = QuestionBank.from_questions(Question(id=str(i), stem=stem) for i, stem in enumerate(stems))
    report = find_duplicates(bank, judge=Judge(vectors, decide))
    assert sorted(asked) == [(0, 1), (2, 3)]
    assert [(cluster.rows, str(cluster.links[0])) for cluster in report.clusters] == [
        ((0, 1), "model 1.00"),
        ((4, 5), "equal text"),
    ]
    assert report.relations == {"duplicate": 1, "variant": 1}
    assert not find_duplicates(bank.select([0, 1]), judge=Judge(vectors[:2], lambda pairs: np.empty((0, 4)))).relations


def test_an_empty_text_and_a_bank_of_one() -> None:
    assert not clusters("Alone.")
    assert clusters(" ", " ", "a") == [((0, 1), "equal text")]


def test_pairs_that_share_a_key_come_once() -> None:
    keys = np.array([[1, 1, 2, 3], [5, 5, 5, 6]], dtype=np.uint64)
    first, second = (sorted(map(tuple, pairs.T.tolist())) for pairs in alike_within(keys))
    assert (first, second) == ([(0, 1)], [(0, 2), (1, 2)])
    many = np.zeros((1, 1000), dtype=np.uint64)
    (pairs,) = alike_within(many, window=3)
    assert pairs.shape[1] == 3 * 1000 - 6  # linear, and all are linked


def test_near_vectors_are_found_among_many() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((4000, 64)).astype(np.float32)
    vectors[2000:] = vectors[:2000] + 0.3 * rng.standard_normal((2000, 64)).astype(np.float32)
    rows = np.arange(4000)
    nearest = neighbours(vectors, rows, np.zeros(4000, dtype=np.uint64), most=2)
    pairs = set(map(tuple, nearest.T.tolist()))
    assert len(pairs) == nearest.shape[1] <= 2 * len(rows)
    assert sum((row, row + 2000) in pairs for row in range(2000)) > 1980
    kinds = (rows < 2000).astype(np.uint64)
    assert not neighbours(vectors, rows, kinds, most=2).size
    assert neighbours(vectors, rows[:1], kinds[:1], most=2).shape == (2, 0)


def test_the_best_of_each() -> None:
    pairs, scores = np.array([[0, 0, 0, 1], [1, 2, 3, 3]]), np.array([0.9, 0.8, 0.7, 0.1])
    kept, best = best_of_each([(pairs[:, :2], scores[:2]), (pairs[:, 2:], scores[2:])], 1)
    assert kept.T.tolist() == [[0, 1], [0, 2], [0, 3]]  # the best of 0 and 1, of 2, of 3
    assert best.tolist() == [0.9, 0.8, 0.7]
    assert best_of_each([], 1)[0].shape == (2, 0)
