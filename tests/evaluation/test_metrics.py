"""Each metric against a slow literal reading of its formula, and what must hold whatever the numbers are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tqnet.evaluation import metrics

K = 3
HITS = arrays(bool, st.tuples(st.integers(1, 12), st.integers(K, 9)))


def relevant_for(hits: np.ndarray, more: int) -> np.ndarray:
    return hits.sum(axis=1) + more


@given(HITS, st.integers(0, 5))
def test_ranking_metrics_equal_their_formulas(hits: np.ndarray, more: int) -> None:
    relevant = relevant_for(hits, more)
    precision, kept = metrics.precision_at_k(hits, relevant, K)
    expected = []
    for row, total in zip(hits, relevant, strict=True):
        if total >= K:
            expected.append(len({j for j in range(len(row)) if row[j]} & set(range(K))) / K)
    assert precision.tolist() == pytest.approx(expected)
    assert kept.sum() == len(expected)

    for i, row in enumerate(hits):
        rank = next((j + 1 for j, hit in enumerate(row) if hit), math.inf)
        assert metrics.reciprocal_rank(hits)[i] == pytest.approx(1 / rank)
        hit_count = sum(row[:K])
        assert metrics.recall_at_k(hits, relevant, K)[i] == pytest.approx(hit_count / relevant[i] if relevant[i] else 0)
        gain = sum(1 / math.log2(j + 2) for j in range(K) if row[j])
        ideal = sum(1 / math.log2(j + 2) for j in range(min(K, relevant[i])))
        assert metrics.ndcg_at_k(hits, relevant, K)[i] == pytest.approx(gain / ideal if ideal else 0)


def test_queries_with_too_few_similar_questions_are_left_out() -> None:
    hits = np.array([[True, True, True], [True, False, False], [False, False, False]])
    precision, kept = metrics.precision_at_k(hits, np.array([3, 2, 7]), 3)
    assert precision.tolist() == [1.0, 0.0]
    assert kept.tolist() == [True, False, True]


def test_k_beyond_the_depth_is_refused() -> None:
    with pytest.raises(ValueError, match="depth 3"):
        metrics.precision_at_k(np.zeros((2, 3), bool), np.array([5, 5]), 4)


@given(arrays(bool, (9, 5)), arrays(bool, (9, 5)))
def test_f1_and_accuracy_equal_their_formulas(truth: np.ndarray, predicted: np.ndarray) -> None:
    per_class, pooled = [], [0, 0, 0]
    for c in range(5):
        hit = sum(t and p for t, p in zip(truth[:, c], predicted[:, c], strict=True))
        extra = sum(p and not t for t, p in zip(truth[:, c], predicted[:, c], strict=True))
        missed = sum(t and not p for t, p in zip(truth[:, c], predicted[:, c], strict=True))
        pooled = [total + count for total, count in zip(pooled, (hit, extra, missed), strict=True)]
        if hit + extra + missed:
            per_class.append(2 * hit / (2 * hit + extra + missed))
    hit, extra, missed = pooled
    total = 2 * hit + extra + missed
    assert metrics.micro_f1(truth, predicted) == pytest.approx(2 * hit / total if total else 0)
    assert metrics.macro_f1(truth, predicted) == pytest.approx(np.mean(per_class) if per_class else 0)
    exact = sum(list(t) == list(p) for t, p in zip(truth, predicted, strict=True)) / 9
    assert metrics.exact_match(truth, predicted) == pytest.approx(exact)


def test_group_mean_weighs_groups_equally() -> None:
    values = np.array([1.0, 1.0, 1.0, 0.0])
    assert metrics.group_mean(values, ["a", "a", "a", "b"]) == 0.5
    assert math.isnan(metrics.group_mean(np.zeros(0), []))


def test_bootstrap_interval_covers_and_knows_that_group_members_are_not_independent() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(100):
        centres = rng.normal(0.4, 0.2, 60)
        groups = np.repeat(np.arange(60), 5)
        values = centres[groups] + rng.normal(0, 0.05, 300)
        low, high = metrics.bootstrap_interval(values, groups, repeats=300, seed=trial)
        covered += low <= 0.4 <= high
    assert 87 <= covered <= 100
    single_low, single_high = metrics.bootstrap_interval(values, np.arange(300), repeats=300)
    assert high - low > 1.5 * (single_high - single_low)


def test_f1_of_the_draws_is_micro_f1() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.random((2, 200, 5)) < 0.3
    terms = metrics.f1_terms(truth, predicted)
    assert terms[0].sum() / terms[1].sum() == pytest.approx(metrics.micro_f1(truth, predicted))
    draws = metrics.resampled_ratio(*terms, np.arange(200) // 4)
    low, high = metrics.percentiles(draws)
    assert low < metrics.micro_f1(truth, predicted) < high < low + 0.2
    assert metrics.resampled_ratio(terms[0], terms[0], np.arange(200)).tolist() == [1.0] * 2000


@pytest.mark.parametrize("groups", [[], [0, 0, 0]])
def test_fewer_than_two_groups_have_no_interval(groups: list[int]) -> None:
    interval = metrics.bootstrap_interval(np.ones(len(groups)), groups)
    assert np.isnan(interval).all()
    assert (str(interval), interval.to_json(), metrics.gain_text(0.1, interval)) == ("–", (None, None), "+0.100")
    assert np.isnan(metrics.Interval.from_json(interval.to_json())).all()
    assert list(metrics.drawn_groups(len(set(groups)), 5)) == []
