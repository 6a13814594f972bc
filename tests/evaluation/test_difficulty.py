"""Difficulty estimation: metrics against their definitions, and a regression that finds what is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.evaluation.difficulty import DifficultyScores, evaluate_difficulty, has_difficulties, resampled_scores
from tqnet.evaluation.metrics import degree_of_agreement
from tqnet.questions import Question, QuestionBank


def literal_doa(truth: list[float], predicted: list[float]) -> float:
    pairs = [(i, j) for i in range(len(truth)) for j in range(len(truth)) if truth[i] > truth[j]]
    return sum(predicted[i] > predicted[j] for i, j in pairs) / len(pairs) if pairs else float("nan")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25))
def test_doa_counts_pairs(values: list[tuple[int, int]]) -> None:
    truth, predicted = (np.array(column, dtype=float) for column in zip(*values, strict=True))
    doa = degree_of_agreement(truth, predicted)
    assert doa == pytest.approx(literal_doa(truth.tolist(), predicted.tolist()), nan_ok=True)


def test_scores() -> None:
    scores = DifficultyScores.measure(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.5, 0.7]))
    assert scores.mae == pytest.approx((0.1 + 0 + 0.3) / 3)
    assert scores.rmse == pytest.approx(np.sqrt((0.01 + 0.09) / 3))
    assert scores.pcc == pytest.approx(np.corrcoef([0, 0.5, 1], [0.1, 0.5, 0.7])[0, 1])
    assert scores.doa == 1
    assert DifficultyScores.measure(np.array([0.0, 1.0]), np.array([0.5, 0.5])).pcc == 0


@pytest.fixture
def bank() -> QuestionBank:
    """240 questions of difficulty 1 to 5; every tenth has none."""
    splits = ["train", "train", "train", "valid", "test"]
    return QuestionBank.from_questions(
        Question(
            id=f"q{i}",
            stem=f"Question {i}.",
            difficulty=None if i % 10 == 9 else 1 + (i // 5) % 5,
            split=splits[i % 5],
            group=f"g{i // 3}",
        )
        for i in range(240)
    )


def vectors_of(bank: QuestionBank, noise: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    difficulty = np.array([value or 0 for value in bank.column("difficulty")], dtype=float)
    return np.stack([difficulty, *rng.normal(size=(3, len(bank)))], 1) + noise * rng.normal(size=(len(bank), 4))


def test_a_linear_difficulty_is_found(bank: QuestionBank) -> None:
    exact = evaluate_difficulty(vectors_of(bank, 0), bank)
    assert exact.scores.mae < 0.01
    assert exact.scores.doa == 1
    assert exact.mean.pcc == 0
    assert exact.mean.doa == 0
    assert set(exact.truth.tolist()) <= {0, 0.25, 0.5, 0.75, 1}
    assert exact.train + exact.valid + exact.test == 240 - 24
    assert exact.to_dict()["scores"]["mae"] == exact.scores.mae
    noisy = evaluate_difficulty(vectors_of(bank, 1.0), bank)
    assert exact.scores.rmse < noisy.scores.rmse < noisy.mean.rmse
    for name, interval in noisy.intervals.items():
        assert interval.low < getattr(noisy.scores, name) < interval.high


def test_what_is_unlabelled_or_of_another_split_does_not_count(bank: QuestionBank) -> None:
    vectors = vectors_of(bank, 0.5)
    changed = vectors.copy()
    hidden = [i for i, question in enumerate(bank) if question.difficulty is None]
    changed[hidden] = 1e3
    first, second = evaluate_difficulty(vectors, bank), evaluate_difficulty(changed, bank)
    assert first.predicted.tolist() == second.predicted.tolist()
    # Another test question moves no prediction but its own.
    place = next(i for i, question in enumerate(bank) if question.split == "test" and question.difficulty)
    changed[place] = -7
    third = evaluate_difficulty(changed, bank)
    assert (third.predicted != first.predicted).sum() == 1


def test_nothing_to_predict(bank: QuestionBank) -> None:
    flat = QuestionBank.from_questions(replace(question, difficulty=2.0) for question in bank)
    assert has_difficulties(bank)
    assert not has_difficulties(flat)
    with pytest.raises(ValueError, match="different difficulty"):
        evaluate_difficulty(vectors_of(flat, 1), flat)
    with pytest.raises(ValueError, match="3 vectors for 240 questions"):
        evaluate_difficulty(np.zeros((3, 4)), bank)


def test_one_group_has_no_draws() -> None:
    draws = resampled_scores(np.arange(5.0), np.arange(5.0), np.zeros(5, dtype=np.int64))
    assert {name: len(values) for name, values in draws.items()} == {"mae": 0, "rmse": 0, "pcc": 0, "doa": 0}
