"""The similar-question task against a literal evaluation of every query."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tqnet.evaluation.similar import STRUCTURES, evaluate_similar, paired_difference, rank_recall
from tqnet.evaluation.stages import Tasks
from tqnet.questions import Question, QuestionBank, Similarity


def literal(vectors: np.ndarray, bank: QuestionBank, split: str, query_side: object, corpus_side: object, k: int):
    """(P@k of each query, number left out); a side is None, True or False for "has figures"."""
    precision, left_out = [], 0
    for i, query in enumerate(bank):
        if query.split != split or query_side not in (None, bool(query.images)):
            continue
        corpus = [j for j, q in enumerate(bank) if j != i and corpus_side in (None, bool(q.images))]
        truth = {j for j in corpus if bank[j].group == query.group}
        if len(truth) < k:
            left_out += 1
            continue
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        ranked = sorted(corpus, key=lambda j: (-unit[i] @ unit[j], bank[j].id))
        precision.append(len(truth & set(ranked[:k])) / k)
    return precision, left_out


@pytest.mark.parametrize("k", [3, 5])
def test_every_cell_equals_a_literal_evaluation(vectors, bank, similarity, k: int) -> None:
    result = evaluate_similar(vectors, bank, similarity, "test", k=k)
    precision, left_out = literal(vectors, bank, "test", None, None, k)
    assert result.overall.precision.tolist() == pytest.approx(precision)
    assert result.overall.left_out == left_out
    for name, directions in STRUCTURES.items():
        parts = [literal(vectors, bank, "test", q, c, k) for q, c in directions]
        cell = result.structures[name]
        assert cell.precision.tolist() == pytest.approx([value for values, _ in parts for value in values])
        assert cell.left_out == sum(left for _, left in parts)


def test_left_out_queries_are_counted() -> None:
    sizes = {"big": 6, "small": 5}
    questions = [
        Question(id=f"{g}{i}", stem="x", group=g, split="test") for g, size in sizes.items() for i in range(size)
    ]
    bank = QuestionBank.from_questions([*questions, Question(id="alone", stem="y", split="test")])
    result = evaluate_similar(np.ones((12, 2)), bank, Similarity.from_groups(bank))
    assert (len(result.overall), result.overall.left_out) == (6, 6)
    assert result.structures["image-image"].summary()["precision"] is None


def test_questions_without_a_label_are_passed_over(vectors, bank, similarity) -> None:
    """Strangers of no group, nearest to every query, spoil P@k of the whole bank and not that among labelled."""
    strangers = [Question(id=f"stranger{i}", stem="x", split="train") for i in range(len(bank))]
    wider = QuestionBank.from_questions([*bank, *strangers])
    with_strangers = evaluate_similar(np.concatenate([vectors, vectors]), wider, Similarity.from_groups(wider), k=3)
    alone = evaluate_similar(vectors, bank, similarity, k=3)
    assert alone.labelled is None
    assert with_strangers.labelled is not None
    assert with_strangers.labelled.precision.tolist() == alone.overall.precision.tolist()
    assert with_strangers.overall.precision.mean() < alone.overall.precision.mean()


def test_similarity_by_pairs_need_not_be_transitive(tmp_path: Path) -> None:
    bank = QuestionBank.from_questions([Question(id=c, stem=c, split="test") for c in "abc"])
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a,b,similar\na,b,1\nb,c,1\na,c,0\n")
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    result = evaluate_similar(vectors, bank, Similarity.from_pairs(pairs, bank), k=1, depth=2)
    assert result.overall.precision.tolist() == [0.0, 1.0, 0.0]  # a's nearest is c, which is not similar


def test_perfect_and_paired(vectors, bank, similarity) -> None:
    perfect = evaluate_similar(np.eye(12)[np.arange(96) % 12], bank, similarity).overall
    noisy = evaluate_similar(vectors, bank, similarity).overall
    assert perfect.precision.mean() == perfect.ndcg.mean() == perfect.reciprocal.mean() == 1.0
    difference, interval = paired_difference(noisy, perfect)
    assert difference == pytest.approx(1 - noisy.precision.mean())
    assert interval.low > 0
    with pytest.raises(ValueError, match="different queries"):
        paired_difference(noisy, evaluate_similar(vectors, bank, similarity, "valid").overall)


def test_arguments_are_checked(vectors, bank, similarity) -> None:
    with pytest.raises(ValueError, match="depth"):
        evaluate_similar(vectors, bank, similarity, depth=3)
    with pytest.raises(ValueError, match="vectors for"):
        evaluate_similar(vectors[:-1], bank, similarity)


def test_k_may_be_more_than_the_depth_of_mrr() -> None:
    questions = [Question(id=f"{i:03d}", stem=f"Find $x_{{{i}}}$.", group="g") for i in range(103)]
    bank = QuestionBank.from_questions(questions)
    result = Tasks(bank, Similarity.from_groups(bank), split=None, k=101).measure_lexical("tfidf").similar
    assert result is not None
    assert (result.k, result.depth) == (101, 101)
    assert (result.overall.precision == 1).all()


@pytest.mark.parametrize("split", ["test", None])
@pytest.mark.parametrize("n", [1, 3, 20])
def test_recall_is_its_formula(split: str | None, n: int) -> None:
    """Eq. 7: a question without a similar one does not ask; fewer than five similar ones are enough."""
    groups = ["a", "a", "a", "b", "b", None, "b", "a"]
    splits = ["test", "train", "train", "test", "train", "test", "train", "valid"]
    rows = enumerate(zip(groups, splits, strict=True))
    bank = QuestionBank.from_questions(Question(id=str(i), stem="x", group=g, split=s) for i, (g, s) in rows)
    vectors = np.random.default_rng(0).normal(size=(len(groups), 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = {}
    for i, group in enumerate(groups):
        if group and split in (None, splits[i]):
            others = sorted((j for j in range(len(groups)) if j != i), key=lambda j: -(vectors[i] @ vectors[j]))
            similar = {j for j in others if groups[j] == group}
            expected[i] = len(similar & set(others[:n])) / len(similar)
    result = rank_recall(vectors, bank, Similarity.from_groups(bank), split, n)
    assert result.queries.tolist() == list(expected)
    assert result.recall.tolist() == pytest.approx(list(expected.values()))
    alone = bank.select([5])
    assert len(rank_recall(np.ones((1, 2)), alone, Similarity.from_groups(alone), split, n).recall) == 0
