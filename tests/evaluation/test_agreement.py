"""Similarity against groups and KH-distances: which pairs are drawn, and what is said of their cosines."""

from __future__ import annotations

import numpy as np
import pytest

from tqnet.evaluation.agreement import draw_ranked_pairs, evaluate_agreement, judged_pairs
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.questions.hierarchy import KnowledgeDistance
from tqnet.questions.pairs import ScoredPairs


@pytest.fixture
def bank() -> QuestionBank:
    """2 areas of 2 topics of 2 concepts of 2 groups of 4 questions, half of each in ``test``; one without a concept."""
    questions = [
        Question(
            id=f"{area}{topic}{concept}{group}{i}",
            stem="?",
            knowledge=((f"a{area}", f"t{area}{topic}", f"c{area}{topic}{concept}"),),
            group=f"g{area}{topic}{concept}{group}",
            split="test" if i % 2 else "train",
        )
        for area in range(2)
        for topic in range(2)
        for concept in range(2)
        for group in range(2)
        for i in range(4)
    ]
    return QuestionBank.from_questions([*questions, Question(id="lone", stem="?", split="test")])


def test_pairs_of_every_rank(bank: QuestionBank) -> None:
    pairs = draw_ranked_pairs(bank, Similarity.from_groups(bank), "test", most=10)
    assert pairs.depth == 3
    assert (pairs.nearness == -pairs.ranks).all()
    assert np.bincount(pairs.ranks).tolist() == [10, 10, 10, 10, 10]
    splits, groups = bank.column("split"), bank.column("group")
    distance = KnowledgeDistance(bank.column("knowledge"))
    for first, second, rank in zip(pairs.first, pairs.second, pairs.ranks, strict=True):
        assert splits[first] == splits[second] == "test"
        assert first != second
        assert (groups[first] == groups[second]) == (rank == 0)
        if rank:
            assert distance(np.array([first]), np.array([second]))[0, 0] == rank
    every = draw_ranked_pairs(bank, Similarity.from_groups(bank), "test")
    assert len({*zip(every.first.tolist(), every.second.tolist(), strict=True)}) == 32 * 31 // 2
    assert bank.ids.index("lone") not in {*every.first.tolist(), *every.second.tolist()}


def test_vectors_that_follow_the_hierarchy(bank: QuestionBank) -> None:
    names = [
        [*path, group]
        for paths, group in zip(bank.column("knowledge"), bank.column("group"), strict=True)
        for path in paths
    ]
    known = sorted({name for question_names in names for name in question_names})
    vectors = np.zeros((len(bank), len(known)))
    for row, question_names in enumerate(names):
        vectors[row, [known.index(name) for name in question_names]] = 1
    pairs = draw_ranked_pairs(bank, Similarity.from_groups(bank), "test")
    agreement = evaluate_agreement(vectors, pairs)
    assert [rank.mean for rank in agreement.ranks] == pytest.approx([1, 0.75, 0.5, 0.25, 0])
    assert agreement.spearman == pytest.approx(1)
    assert agreement.pearson == pytest.approx(1)
    noise = np.random.default_rng(0).normal(size=vectors.shape)
    blind = evaluate_agreement(noise, pairs)
    assert abs(blind.spearman) < 0.2
    assert blind.spearman_interval.low < blind.spearman < blind.spearman_interval.high
    assert agreement.to_dict()["ranks"][0]["pairs"] == agreement.ranks[0].pairs


def test_one_rank_says_nothing(bank: QuestionBank) -> None:
    pairs = draw_ranked_pairs(bank.select([0, 1]), Similarity.from_groups(bank.select([0, 1])), None)
    with pytest.raises(ValueError, match="not all equally near"):
        evaluate_agreement(np.ones((2, 3)), pairs)


def test_scores_of_a_judge(bank: QuestionBank) -> None:
    """Of a hundred pairs, those within the split count, against their scores and not their ranks."""
    rng = np.random.default_rng(0)
    ends = np.sort(np.array([rng.choice(len(bank), 2, replace=False) for _ in range(100)]), axis=1)
    scored = ScoredPairs(ends[:, 0], ends[:, 1], rng.integers(0, 5, 100).astype(float))
    groups = Similarity.from_groups(bank)
    pairs = judged_pairs(bank, groups, scored, "test")
    splits = bank.column("split")
    within = [
        (a, b, s) for (a, b), s in zip(ends.tolist(), scored.score, strict=True) if splits[a] == splits[b] == "test"
    ]
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), pairs.nearness, strict=True)) == within
    assert len(within) > 10
    distance = KnowledgeDistance(bank.column("knowledge"))
    for first, second, rank in zip(pairs.first, pairs.second, pairs.ranks, strict=True):
        expected = distance(np.array([first]), np.array([second]))[0, 0]
        assert rank == (0 if groups.groups[first] == groups.groups[second] else expected)

    # In a space of as many dimensions as questions, a Gram matrix with those scores gives vectors that agree.
    gram = 10 * np.eye(len(bank))
    gram[pairs.first, pairs.second] = gram[pairs.second, pairs.first] = pairs.nearness / 4
    vectors = np.linalg.cholesky(gram)
    agreement = evaluate_agreement(vectors, pairs)
    assert agreement.judged
    assert agreement.pairs == len(within)
    assert agreement.pearson == pytest.approx(1)
    known = [rank for rank in agreement.ranks if rank.rank]
    assert {rank.rank for rank in agreement.ranks} <= set(range(agreement.depth + 2))  # L + 2 says nothing
    assert known[-1].score == pytest.approx(pairs.nearness[pairs.ranks == known[-1].rank].mean())


def test_a_part_of_scored_pairs() -> None:
    scored = ScoredPairs(np.array([0, 1, 2]), np.array([3, 2, 3]), np.array([0.1, 0.2, 0.3]))
    part = scored.select([3, 0, 2])
    assert [ends.tolist() for ends in (part.first, part.second, part.score)] == [[0, 0], [1, 2], [0.1, 0.3]]


def test_an_interval_knows_how_many_questions_there_are() -> None:
    """5 queries with 20 candidates each: not 100 independent pairs, wherever in the bank the queries stand."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(105, 8))
    leaning = np.repeat(rng.normal(size=5), 20)
    widths = []
    for queries in (np.arange(5), np.arange(100, 105)):
        others = np.setdiff1d(np.arange(105), queries)
        placed = np.empty_like(vectors)
        placed[queries], placed[others] = vectors[:5], vectors[5:]
        ends = np.sort(np.stack([np.repeat(queries, 20), others]), axis=0)
        score = leaning + 0.1 * np.arange(100) % 7
        bank = QuestionBank.from_questions(Question(id=str(i), stem="?") for i in range(105))
        scored = ScoredPairs(ends[0], ends[1], score)
        result = evaluate_agreement(placed, judged_pairs(bank, Similarity.from_groups(bank), scored, None))
        widths.append(result.spearman_interval.high - result.spearman_interval.low)
    assert widths[0] == pytest.approx(widths[1], rel=0.3)
    assert min(widths) > 0.2


def test_one_group_has_no_interval() -> None:
    bank = QuestionBank.from_questions(Question(id=str(i), stem="?", group="g") for i in range(4))
    scored = ScoredPairs(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3]))
    vectors = np.random.default_rng(0).normal(size=(4, 8))
    result = evaluate_agreement(vectors, judged_pairs(bank, Similarity.from_groups(bank), scored, None))
    assert result.to_dict()["spearman_interval"] == (None, None)
