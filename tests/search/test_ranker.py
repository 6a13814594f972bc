"""The cross-encoder, the experts of its tasks, and the pairs that they learn from."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from tests.search.conftest import new_lance
from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank, Similarity
from tqnet.search.background import Words
from tqnet.search.ranker import CrossEncoder, TaskExperts
from tqnet.search.ranker_data import TASKS, ExercisePairs, RankerViews, Sources, confident, made_exercise_pairs
from tqnet.search.ranking import FEATURES, pair_features, search_text
from tqnet.search.records import records
from tqnet.search.retrieval import Retriever

COUNTS = {"similar": 3, "retrieved": 6, "concept": 2, "random": 2}


@pytest.fixture
def cross(tiny_model: TQNetModel) -> CrossEncoder:
    cross = CrossEncoder(copy.deepcopy(tiny_model), length=120).eval()
    torch.nn.init.normal_(cross.head.score.weight)  # as if it were trained
    torch.nn.init.constant_(cross.head.scale, 1.0)
    return cross


def test_two_texts_as_one(tiny_model: TQNetModel) -> None:
    processor = tiny_model.processor
    first, second = processor.tokenize(["Find the area of the circle.", "Solve $x + 1 = 2$ for the unknown $x$."])
    joined = processor.join(first, second, 100)
    assert joined == first + second[1:]
    start, separator = first[0], first[-1]
    for length in range(4, len(joined)):
        cut = processor.join(first, second, length)
        assert len(cut) == length
        assert (cut[0], cut[-1], cut.count(separator)) == (start, separator, 2)
        parts = cut.index(separator) - 1, length - cut.index(separator) - 2
        assert min(parts) == min(len(first) - 2, len(second) - 2, (length - 3) // 2)
        assert cut[1 : 1 + parts[0]] == first[1 : 1 + parts[0]]
        assert cut[-1 - parts[1] : -1] == second[1 : 1 + parts[1]]
    assert processor.cut_texts


def test_a_pair_scores_the_same_in_any_batch(cross: CrossEncoder, tiny_bank: QuestionBank) -> None:
    pairs = [(tiny_bank[i], tiny_bank[-1 - i % 7]) for i in range(20)]
    features = np.random.default_rng(0).random((20, len(FEATURES)))
    scores = cross.probabilities(pairs, features)
    assert scores.dtype == np.float32
    assert ((scores > 0) & (scores < 1)).all()
    assert len(set(scores.round(6).tolist())) > 10
    for size in (1, 3):
        np.testing.assert_allclose(cross.probabilities(pairs, features, batch_size=size), scores, atol=1e-5)
    np.testing.assert_allclose(cross.probabilities(pairs[::-1], features[::-1])[::-1], scores, atol=1e-5)
    assert cross.probabilities([], np.empty((0, len(FEATURES)))).shape == (0,)


def test_figures_of_both_count(cross: CrossEncoder, tiny_bank: QuestionBank) -> None:
    pictured = next(question for question in tiny_bank if question.images)
    plain = replace(pictured, images=())
    pairs = [(plain, plain), (pictured, plain), (plain, pictured), (pictured, pictured)]
    assert len(set(cross.probabilities(pairs, np.zeros((4, len(FEATURES)))).round(6).tolist())) >= 3


def test_a_saved_ranker_is_loaded(cross: CrossEncoder, tiny_bank: QuestionBank, tmp_path: Path) -> None:
    pairs, folder = [(tiny_bank[0], tiny_bank[1]), (tiny_bank[30], tiny_bank[2])], tmp_path / "ranker"
    cross.save_pretrained(folder)
    loaded = CrossEncoder.from_pretrained(folder, "cpu")
    assert (loaded.length, loaded.searched_by, loaded.training) == (120, None, False)
    features = np.array([[0.5, 0.0, 0.3, 0.2, 0.1], [0.7, 1.0, 0.0, 0.0, 0.4]])
    np.testing.assert_allclose(loaded.probabilities(pairs, features), cross.probabilities(pairs, features), atol=1e-6)
    head = folder / "cross_encoder.safetensors"
    save_file({"scale": torch.tensor(1.0)}, head)  # that of another version
    with pytest.raises(ValueError, match=r"cross_encoder.safetensors: not written by this version of"):
        CrossEncoder.from_pretrained(folder)
    head.write_bytes(b"half")
    with pytest.raises(ValueError, match=r"cross_encoder.safetensors: not written by this version"):
        CrossEncoder.from_pretrained(folder)
    (folder / "cross_encoder.json").write_text("{}")
    with pytest.raises(ValueError, match=r"cross_encoder.json: not written by this version"):
        CrossEncoder.from_pretrained(str(folder))
    cross.encoder.save_pretrained(tmp_path / "encoder")
    with pytest.raises(FileNotFoundError, match="no ranker"):
        CrossEncoder.from_pretrained(tmp_path / "encoder")


@pytest.mark.parametrize("length", [3, 100_000])
def test_no_positions_for_so_many_tokens(tiny_model: TQNetModel, length: int) -> None:
    with pytest.raises(ValueError, match=f"pairs of {length} tokens, but the encoder reads 4 to"):
        CrossEncoder(tiny_model, length)


def test_the_likeness_of_two_texts_that_are_read_together(cross: CrossEncoder) -> None:
    processor = cross.encoder.processor
    tokens = processor.tokenize(["Find the area of the circle.", "Solve $x + 1 = 2$ for $x$."])
    joined = [processor.join(tokens[a], tokens[b], cross.length) for a, b in ((0, 1), (0, 0), (1, 0))]
    with torch.no_grad():
        vectors, cosines = cross.read(**processor.pack_text(joined))
        words = cross.encoder.text(input_ids=torch.tensor(joined[0])[None]).last_hidden_state[0]
    end = joined[0].index(tokens[0][-1])
    expected = F.cosine_similarity(words[:end].mean(0), words[end:-1].mean(0), dim=0)
    assert cosines[0] == pytest.approx(float(expected), abs=1e-4)
    assert cosines[1] > cosines[0]
    features = torch.tensor([[0.9, 0.0, 0.3, 0.1, 0.0], [0.2, 1.0, 0.0, 0.0, 0.3], [0.2, 0.0, 0.1, 0.6, 0.5]])
    representations, logits = cross.head(vectors, cosines, features)
    likeness = cosines + features.sum(1)
    expected = cross.head.score(representations).squeeze(-1) + cross.head.scale * (likeness - cross.head.centre)
    torch.testing.assert_close(logits, expected)


def test_what_tells_candidates_apart_is_not_rounded_away(cross: CrossEncoder) -> None:
    features = torch.stack([torch.linspace(0.8, 0.82, 40), *torch.full((4, 40), 0.3)], 1)
    vectors, cosines = torch.zeros(40, cross.encoder.config.hidden_size), torch.ones(40)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        logits = cross.head(vectors, cosines, features)[1]
    assert (logits.diff() > 0).all()


@pytest.mark.parametrize("floor", [0.0, 0.5, 0.8, 1.0])
def test_coefficients_sum_to_one_and_keep_their_entropy(floor: float) -> None:
    torch.manual_seed(0)
    representations = 1000 * torch.randn(64, 3, 8)  # so that softmax chooses one task alone
    coefficients = TaskExperts(8, 3, floor)(representations, torch.ones(64, 3, dtype=torch.bool)).detach()
    torch.testing.assert_close(coefficients.sum(1), torch.ones(64))
    entropy = -(coefficients * coefficients.clamp(min=1e-12).log()).sum(1) / math.log(3)
    assert entropy.min() >= floor - 1e-5
    assert entropy.min() == pytest.approx(floor, abs=0.02)
    assert len(coefficients.argmax(1).unique()) > 1 or floor == 1


def test_absent_tasks_count_nothing() -> None:
    present = torch.tensor([[True, False, False], [True, False, True], [True, True, True]])
    coefficients = TaskExperts(8, 3, 0.8)(torch.randn(3, 3, 8), present)
    torch.testing.assert_close(coefficients.sum(1), torch.ones(3))
    assert ((coefficients > 0) == present).all()
    assert coefficients[0, 0] == 1


def test_experts_read_representations_without_shaping_them() -> None:
    model = TaskExperts(8, 3, 0.8)
    representations = torch.randn(4, 3, 8, requires_grad=True)
    coefficients = model(representations, torch.ones(4, 3, dtype=torch.bool))
    (coefficients * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert representations.grad is None
    gradients = [expert[-1].bias.grad.item() for expert in model.experts]
    assert gradients[0] < 0 < gradients[2]  # the cheapest task gains


@pytest.fixture(scope="module")
def vectors(sample_bank: QuestionBank) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(len(sample_bank), 8)).astype(np.float32)


@pytest.fixture(scope="module")
def similarity(sample_bank: QuestionBank) -> Similarity:
    return Similarity.from_groups(sample_bank)


@pytest.fixture(scope="module")
def pairs(sample_bank: QuestionBank, similarity: Similarity, vectors: np.ndarray) -> ExercisePairs:
    queries = np.flatnonzero(similarity.has_similar)[:25]
    return made_exercise_pairs(sample_bank, similarity, Sources(sample_bank, vectors), queries, COUNTS, seed=0)


def test_pairs_of_every_kind(pairs: ExercisePairs, sample_bank: QuestionBank, similarity: Similarity) -> None:
    kinds = np.array(pairs.kind)
    assert set(kinds) == set(COUNTS)
    directed = set(zip(pairs.query.tolist(), pairs.candidate.tolist(), strict=True))
    assert len(directed) == len(pairs)
    assert not directed & {(candidate, query) for query, candidate in directed}  # nor pairs of a question with itself
    for query, candidate, similar in zip(pairs.query, pairs.candidate, pairs.similar, strict=True):
        assert similar == (candidate in similarity.neighbours(query))
    assert pairs.similar[kinds == "similar"].all()
    assert not pairs.similar[np.isin(kinds, ("concept", "random"))].any()
    assert 0 < pairs.similar[kinds == "retrieved"].mean() < 1
    for ends in zip(pairs.query[kinds == "concept"], pairs.candidate[kinds == "concept"], strict=True):
        assert set.intersection(*(set(sample_bank[int(end)].knowledge) for end in ends))
    for query in np.unique(pairs.query):
        assert all(((pairs.query == query) & (kinds == kind)).sum() <= most for kind, most in COUNTS.items())
    folds = pairs.folds(3, seed=0)
    assert set(folds) == {0, 1, 2}
    assert all(len(set(folds[pairs.query == query])) == 1 for query in pairs.query)
    assert (pairs.with_noise(0.2, seed=1).similar != pairs.similar).sum() == round(0.2 * len(pairs))


def test_saved_pairs_are_loaded(pairs: ExercisePairs, sample_bank: QuestionBank, tmp_path: Path) -> None:
    pairs.save(tmp_path / "pairs.jsonl", sample_bank)
    loaded = ExercisePairs.load(tmp_path / "pairs.jsonl", sample_bank)
    assert loaded.kind == pairs.kind
    for name in ("query", "candidate", "similar", "features"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(pairs, name))


def test_features_are_those_of_a_search(sample_bank: QuestionBank, vectors: np.ndarray, tmp_path: Path) -> None:
    bank = sample_bank.select(range(100))  # all are retrieved
    engine = new_lance(tmp_path)
    engine.add(records(list(bank), vectors[:100]))
    sources, words = Sources(bank, vectors[:100]), Words.of(map(search_text, bank))
    for number in range(0, 100, 12):
        query = replace(bank[number], knowledge=())  # a typed query has none
        candidates = Retriever(engine)(query, vectors[number], 100, duplicates=True)
        assert len(candidates) == 99
        places = np.array([bank.ids.index(candidate.question.id) for candidate in candidates])
        trained = sources.features(np.full(30, number), places[:30])
        np.testing.assert_allclose(pair_features(query, candidates, words)[:30], trained, atol=1e-5)


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
        replace(question, analysis=analysis, knowledge=concept, group=f"g{at % 8}")
        for at, (question, analysis, concept) in enumerate(zip(tiny_bank, analyses, concepts, strict=True))
    )
    similarity = Similarity.from_groups(bank)
    query = np.repeat(np.arange(0, 40), 5)
    candidate = (query + np.tile([1, 2, 3, 8, 16], 40)) % 40
    similar = np.array([bool(similarity.matrix([q, c])[0, 1]) for q, c in zip(query, candidate, strict=True)])
    pairs = ExercisePairs(query, candidate, similar, ("judged",) * len(query), np.ones((len(query), 2)))
    views = RankerViews(pairs, bank, similarity, tiny_model.processor, seed=0, length=100)
    seen = set()
    for number, (q, c, label) in enumerate(zip(query.tolist(), candidate.tolist(), similar.tolist(), strict=True)):
        epochs = [{row.task: row for row in views[(epoch, number, 0)][1]} for epoch in range(4)]
        for rows in epochs:
            first = rows["questions"]
            assert (first.first, first.second, first.label) == (bank[q].content, bank[c].content, label)
            assert ("analyses" in rows) == bool(bank[q].analysis and bank[c].analysis)
            assert "analyses" not in rows or rows["analyses"].label == label
            if (row := rows.get("analysis")) is None:
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
        assert bank[q].analysis or not any("analysis" in rows for rows in epochs)
    assert seen == {(False, False), (False, True), (True, False), (True, True)}
    without = RankerViews(pairs, bank, similarity, tiny_model.processor, seed=0, length=100, analyses=False)
    assert [row.task for row in without[0, 0, 0][1]] == ["questions"]


def test_batches_of_pairs(tiny_model: TQNetModel, tiny_bank: QuestionBank) -> None:
    query, candidate = np.arange(0, 8), np.arange(30, 38)
    pairs = ExercisePairs(query, candidate, np.zeros(8, dtype=bool), ("judged",) * 8, np.arange(40.0).reshape(8, 5))
    views = RankerViews(pairs, tiny_bank, Similarity.from_groups(tiny_bank), tiny_model.processor, seed=0, length=64)
    batch = views.collate([views[0, number, 0] for number in (3, 1, 5)])
    assert batch.index.tolist() == [3, 1, 5]
    assert {len(batch.extras[name]) for name in ("pair", "task", "label")} == {len(batch.inputs["input_ids"])}
    firsts = batch.extras["task"] == TASKS.index("questions")
    assert batch.extras["features"][firsts].tolist() == [[15, 16, 17, 18, 19], [5, 6, 7, 8, 9], [25, 26, 27, 28, 29]]
    assert not batch.extras["features"][~firsts].any()
    assert batch.extras["pair"][firsts].tolist() == [0, 1, 2]
    figures = [len(tiny_bank[n].images) + len(tiny_bank[n + 30].images) for n in (3, 1, 5)]
    assert batch.inputs["image_counts"][firsts].tolist() == figures
    assert batch.inputs["attention_mask"].sum(1).max() <= 64
    assert views.ids(batch.index)[0] == f"{tiny_bank[3].id} and {tiny_bank[33].id}"
