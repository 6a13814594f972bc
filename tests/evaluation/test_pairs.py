"""Precision and recall of relations."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.evaluation.pairs import PairScores, pairs_table
from tqnet.questions import Question
from tqnet.questions.pairs import RELATIONS, LabelledPair


def pair(a: str, b: str, relation: str) -> LabelledPair:
    return LabelledPair(Question(a, a), Question(b, b), relation)


@pytest.fixture
def scores() -> PairScores:
    pairs = [
        *(pair(f"a{i}", f"b{i}", "duplicate") for i in range(4)),
        *(pair(f"c{i}", f"d{i}", "variant") for i in range(4)),
    ]
    told = np.eye(4)[[0, 0, 0, 2, 2, 2, 0, 3]]
    return PairScores.from_pairs(pairs, told)


def test_shares(scores: PairScores) -> None:
    precision, (low, high) = scores.precision(0)
    assert precision == 0.75
    assert 0 <= low < 0.75 < high <= 1
    assert [scores.recall(at)[0] for at in (0, 2)] == [0.75, 0.5]
    assert np.isnan(scores.recall(1)[0])
    assert scores.accuracy == 5 / 8
    assert scores.f1 == pytest.approx([0.75, 0, 4 / 7, 0])
    assert scores.confusion.tolist() == [[3, 0, 1, 0], [0] * 4, [1, 0, 2, 1], [0] * 4]


def test_pairs_that_share_a_question_are_one_group() -> None:
    chain = [pair("a", "b", "similar"), pair("c", "b", "variant"), pair("c", "d", "similar"), pair("e", "f", "variant")]
    groups = PairScores.from_pairs(chain, np.eye(4)).groups
    assert groups[0] == groups[1] == groups[2] != groups[3]


def test_a_table_and_numbers(scores: PairScores) -> None:
    text = pairs_table(scores).text()
    assert "duplicate (4)" in text
    assert "0.750" in text
    assert "Accuracy 0.625" in text
    numbers = scores.to_dict()
    assert numbers["similar"]["recall"] is None
    assert numbers["variant"]["taken_for"] == dict(zip(RELATIONS, (1, 0, 2, 1), strict=True))
