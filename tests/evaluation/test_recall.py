"""Recall of a ranking, against a count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.evaluation.similar import rank_recall
from tqnet.questions import Question, QuestionBank, Similarity

GROUPS = ["a", "a", "a", "b", "b", None, "b", "a"]
SPLITS = ["test", "train", "train", "test", "train", "test", "train", "valid"]


@pytest.fixture
def bank() -> QuestionBank:
    rows = zip(GROUPS, SPLITS, strict=True)
    return QuestionBank.from_questions(
        Question(id=str(i), stem="x", group=group, split=split) for i, (group, split) in enumerate(rows)
    )


@pytest.mark.parametrize("split", ["test", None])
@pytest.mark.parametrize("n", [1, 3, 20])
def test_recall_is_its_formula(split: str | None, n: int, bank: QuestionBank) -> None:
    """Eq. 7: a question without a similar one does not ask; fewer than five similar ones are enough."""
    vectors = np.random.default_rng(0).normal(size=(len(GROUPS), 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = {}
    for i, group in enumerate(GROUPS):
        if group and split in (None, SPLITS[i]):
            others = sorted((j for j in range(len(GROUPS)) if j != i), key=lambda j: -(vectors[i] @ vectors[j]))
            similar = {j for j in others if GROUPS[j] == group}
            expected[i] = len(similar & set(others[:n])) / len(similar)
    found = rank_recall(vectors, bank, Similarity.from_groups(bank), split, n)
    assert found.queries.tolist() == list(expected)
    assert found.recall.tolist() == pytest.approx(list(expected.values()))
    assert found.n == n


def test_nobody_asks(bank: QuestionBank) -> None:
    alone = bank.select([5])
    assert len(rank_recall(np.ones((1, 2)), alone, Similarity.from_groups(alone), "test", 3).recall) == 0
