"""Rows compared: question by question, on the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.bench.scores import ProbeTerms, RowScores, f1, f1_gain, precision, precision_gain

QUESTIONS = 400


def row(right: float, seed: int, groups: np.ndarray | None = None) -> RowScores:
    """A row that finds a share ``right`` of single labels, and as much of its similar questions."""
    groups = np.arange(QUESTIONS) // 4 if groups is None else groups
    hit = np.random.default_rng(seed).random(QUESTIONS) < right
    terms = ProbeTerms((2 * hit).tolist(), np.full(QUESTIONS, 2).tolist(), groups.tolist())
    return RowScores(list(range(QUESTIONS)), groups.tolist(), hit.astype(float).tolist(), {}, [terms])


def test_gains_are_those_of_the_same_questions() -> None:
    low, high = [row(0.5, seed) for seed in (0, 1)], [row(0.7, seed) for seed in (2, 3)]
    for of, gain in ((precision, precision_gain), (lambda r: f1(r, 0), lambda a, b: f1_gain(a, b, 0))):
        found = gain(low, high)
        assert found is not None
        difference, interval = found
        assert difference == pytest.approx(of(high).mean - of(low).mean)
        assert 0.1 < interval.low < difference < interval.high < 0.3
        assert gain(low, low)[1] == (0, 0)


def test_rows_on_other_questions_are_not_compared() -> None:
    other = row(0.5, 0, groups=np.arange(QUESTIONS) // 5)
    assert f1_gain([row(0.5, 0)], [other], 0) is None
    assert f1_gain([row(0.5, 0)], [row(0.5, 1)], 1) is None
    assert f1_gain([row(0.5, 0)], [], 0) is None
    assert f1([row(0.5, 0)], 1) is None


def test_scores_are_kept(tmp_path) -> None:
    row(0.5, 0).save(tmp_path / "scores.json")
    assert RowScores.load(tmp_path / "scores.json") == row(0.5, 0)
