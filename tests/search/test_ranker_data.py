from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank, Similarity
from tqnet.search.lance import LanceEngine
from tqnet.search.ranker_data import TASKS, ExercisePairs, PairViews, Sources, confident, made_pairs
from tqnet.search.ranking import pair_features
from tqnet.search.records import records, schema
from tqnet.search.retrieval import Retriever

COUNTS = {"similar": 3, "retrieved": 6, "concept": 2, "random": 2}


@pytest.fixture(scope="module")
def vectors(sample_bank: QuestionBank) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(len(sample_bank), 8)).astype(np.float32)


@pytest.fixture(scope="module")
def pairs(sample_bank: QuestionBank, vectors: np.ndarray) -> ExercisePairs:
    similarity = Similarity.from_groups(sample_bank)
    sources = Sources(sample_bank, vectors)
    return made_pairs(sample_bank, similarity, sources, np.flatnonzero(similarity.has_similar)[:25], COUNTS, seed=0)


def test_pairs_of_every_kind(pairs: ExercisePairs, sample_bank: QuestionBank) -> None:
    similarity = Similarity.from_groups(sample_bank)
    kinds = np.array(pairs.kind)
    assert set(kinds) == set(COUNTS)
    assert len({(q, c) for q, c in zip(pairs.query, pairs.candidate, strict=True)}) == len(pairs)
    assert (pairs.query != pairs.candidate).all()
    directed = set(zip(pairs.query.tolist(), pairs.candidate.tolist(), strict=True))
    assert not directed & {(candidate, query) for query, candidate in directed}
    for query, candidate, similar in zip(pairs.query, pairs.candidate, pairs.similar, strict=True):
        assert similar == (candidate in similarity.neighbours(query))
    assert pairs.similar[kinds == "similar"].all()
    assert not pairs.similar[np.isin(kinds, ("concept", "random"))].any()
    assert 0 < pairs.similar[kinds == "retrieved"].mean() < 1
    for row in np.flatnonzero(kinds == "concept"):
        own, other = (set(sample_bank[int(of[row])].knowledge) for of in (pairs.query, pairs.candidate))
        assert own & other
    for query in np.unique(pairs.query):
        for kind, most in COUNTS.items():
            assert ((pairs.query == query) & (kinds == kind)).sum() <= most


def test_saved_and_loaded(pairs: ExercisePairs, sample_bank: QuestionBank, tmp_path: Path) -> None:
    pairs.save(tmp_path / "pairs.jsonl", sample_bank)
    loaded = ExercisePairs.load(tmp_path / "pairs.jsonl", sample_bank)
    assert loaded.kind == pairs.kind
    for name in ("query", "candidate", "similar", "features"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(pairs, name))


def test_evidence_is_what_a_ranker_is_given_when_it_is_asked(
    pairs: ExercisePairs, sample_bank: QuestionBank, vectors: np.ndarray, tmp_path: Path
) -> None:
    engine = LanceEngine(tmp_path, schema(8))
    engine.add(records(list(sample_bank), vectors))
    place = {id: at for at, id in enumerate(sample_bank.ids)}
    for query in np.unique(pairs.query)[:8].tolist():
        own = pairs.query == query
        expected = dict(zip(pairs.candidate[own].tolist(), pairs.features[own], strict=True))
        asking = replace(sample_bank[query], knowledge=())  # a typed query has none
        candidates = Retriever(engine)(asking, vectors[query], 100, duplicates=True)
        numbers = [place[one.question.id] for one in candidates]
        asked = dict(zip(numbers, pair_features(asking, candidates), strict=True))
        both = expected.keys() & asked.keys()
        assert len(both) > 3
        np.testing.assert_allclose([asked[at] for at in both], [expected[at] for at in both], atol=1e-5)


def test_folds_part_queries(pairs: ExercisePairs) -> None:
    folds = pairs.folds(3, seed=0)
    assert set(folds) == {0, 1, 2}
    assert all(len(set(folds[pairs.query == query])) == 1 for query in pairs.query)


def test_noise(pairs: ExercisePairs) -> None:
    noisy = pairs.with_noise(0.2, seed=1)
    assert (noisy.similar != pairs.similar).sum() == round(0.2 * len(pairs))
    assert pairs.with_noise(0, seed=1).similar.tolist() == pairs.similar.tolist()


def test_confident_learning_finds_labels_that_were_turned_round() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.3
    wrong = rng.random(2000) < 0.18
    chance = np.clip(np.where(truth, 0.8, 0.2) + rng.normal(scale=0.15, size=2000), 0.01, 0.99)
    left_out = ~confident(truth ^ wrong, chance)
    assert (left_out & wrong).sum() / wrong.sum() > 0.8
    assert (left_out & wrong).sum() / left_out.sum() > 0.8
    assert confident(np.ones(5, dtype=bool), np.full(5, 0.1)).all()


def test_tasks_of_a_pair(tiny_model: TQNetModel, tiny_bank: QuestionBank) -> None:
    """What each row reads, and its label, by the paper's rules."""
    analyses = [None if at % 4 == 3 else f"Analysis number {at}." for at in range(len(tiny_bank))]
    concepts = [(("Algebra", "Equations"),) if at % 2 else (("Geometry", "Circles"),) for at in range(len(tiny_bank))]
    bank = QuestionBank.from_questions(
        replace(of, analysis=analysis, knowledge=concept, group=f"g{at % 8}")
        for at, (of, analysis, concept) in enumerate(zip(tiny_bank, analyses, concepts, strict=True))
    )
    similarity = Similarity.from_groups(bank)
    query = np.repeat(np.arange(0, 40), 5)
    candidate = (query + np.tile([1, 2, 3, 8, 16], 40)) % 40
    similar = np.array([bool(similarity.matrix([q, c])[0, 1]) for q, c in zip(query, candidate, strict=True)])
    pairs = ExercisePairs(query, candidate, similar, ("judged",) * len(query), np.ones((len(query), 2)))
    views = PairViews(pairs, bank, similarity, tiny_model.processor, seed=0, length=100)
    seen = set()
    for number in range(len(pairs)):
        q, c, label = int(query[number]), int(candidate[number]), bool(similar[number])
        rows = {row.task: row for epoch in range(4) for row in views[(epoch, number, 0)][1]}
        assert (rows["questions"].first, rows["questions"].second) == (bank[q].content, bank[c].content)
        assert rows["questions"].label == label
        assert ("analyses" in rows) == bool(bank[q].analysis and bank[c].analysis)
        if "analyses" in rows:
            assert rows["analyses"].label == label
        if not bank[q].analysis:
            assert "analysis" not in rows
        for epoch in range(4):
            for row in views[(epoch, number, 0)][1]:
                if row.task != "analysis":
                    continue
                assert row.first == bank[q].content
                owner = analyses.index(row.second)
                assert row.label == (owner == q)
                seen.add((label, row.label))
                if not row.label and label:  # of the same concept, and not of a similar question
                    assert owner % 2 == q % 2
                    assert owner % 8 != q % 8
                elif not row.label:
                    assert owner == c
    assert seen == {(False, False), (False, True), (True, False), (True, True)}
    without = PairViews(pairs, bank, similarity, tiny_model.processor, seed=0, length=100, analyses=False)
    assert [row.task for row in without[0, 0, 0][1]] == ["questions"]


def test_batches_of_pairs(tiny_model: TQNetModel, tiny_bank: QuestionBank) -> None:
    similarity = Similarity.from_groups(tiny_bank)
    query, candidate = np.arange(0, 8), np.arange(30, 38)
    pairs = ExercisePairs(query, candidate, np.zeros(8, dtype=bool), ("judged",) * 8, np.arange(24.0).reshape(8, 3))
    views = PairViews(pairs, tiny_bank, similarity, tiny_model.processor, seed=0, length=64)
    batch = views.collate([views[0, number, 0] for number in (3, 1, 5)])
    assert batch.index.tolist() == [3, 1, 5]
    rows = len(batch.inputs["input_ids"])
    assert all(len(batch.extras[name]) == rows for name in ("pair", "task", "label"))
    firsts = batch.extras["task"] == TASKS.index("questions")
    assert batch.extras["features"][firsts].tolist() == [[9, 10, 11], [3, 4, 5], [15, 16, 17]]
    assert not batch.extras["features"][~firsts].any()
    assert batch.extras["pair"][firsts].tolist() == [0, 1, 2]
    figures = [len(tiny_bank[int(query[n])].images) + len(tiny_bank[int(candidate[n])].images) for n in (3, 1, 5)]
    assert batch.inputs["image_counts"][firsts].tolist() == figures
    assert batch.inputs["attention_mask"].sum(1).max() <= 64
    assert views.ids(batch.index)[0] == f"{tiny_bank[3].id} and {tiny_bank[33].id}"
