"""The probe learns what can be learnt, nothing from noise, and survives being stored."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tqnet.evaluation.linear_probe import L2_STRENGTHS, LinearProbe, _path, decide, indicators
from tqnet.evaluation.probe import evaluate_probe, probe_splits
from tqnet.questions import KnowledgeHierarchy, Question, QuestionBank


def make_bank(knowledge: list[tuple[tuple[str, ...], ...]], split: bool = True) -> QuestionBank:
    names = ("train", "train", "train", "valid", "test")
    return QuestionBank.from_questions(
        Question(id=str(i), stem="x", knowledge=paths, group=f"g{i // 3}", split=names[i % 5] if split else None)
        for i, paths in enumerate(knowledge)
    )


def test_learns_a_separable_problem_and_gives_chance_on_noise() -> None:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, 600)
    bank = make_bank([((f"c{c}",),) for c in classes])
    hierarchy = KnowledgeHierarchy.from_bank(bank)
    centres = 4 * rng.normal(size=(4, 8))
    learnt = evaluate_probe(centres[classes] + 0.3 * rng.normal(size=(600, 8)), bank, hierarchy).levels[0]
    assert learnt.scores.micro_f1 == learnt.scores.accuracy > 0.97
    assert not learnt.multi_label
    noise = evaluate_probe(rng.normal(size=(600, 8)), bank, hierarchy).levels[0]
    assert noise.scores.accuracy < 0.4  # chance is a quarter
    assert noise.majority.accuracy == pytest.approx(noise.majority.micro_f1)


def test_several_concepts_are_predicted_with_a_threshold_and_never_none() -> None:
    rng = np.random.default_rng(0)
    on = rng.random((600, 3)) < 0.5
    on[~on.any(axis=1), 0] = True
    bank = make_bank([tuple((f"c{j}",) for j in np.flatnonzero(row)) for row in on])
    level = evaluate_probe(on + 0.1 * rng.normal(size=on.shape), bank, KnowledgeHierarchy.from_bank(bank)).levels[0]
    assert level.multi_label
    assert level.scores.accuracy > 0.97
    assert level.probe.predict(rng.normal(size=(50, 3))).any(axis=1).all()


def test_concepts_unseen_in_training_count_as_missed() -> None:
    knowledge = [((f"c{i % 2}",),) if i % 5 < 4 else (("new",) if i % 2 else ("c0",),) for i in range(300)]
    bank = make_bank(knowledge)
    vectors = np.array([[paths[0][0] == f"c{j}" for j in range(2)] for paths in knowledge], dtype=float)
    level = evaluate_probe(vectors, bank, KnowledgeHierarchy.from_bank(bank)).levels[0]
    assert (level.classes, level.unseen, level.test) == (2, 1, 60)
    assert level.scores.accuracy == 0.5


def test_same_input_same_weights(vectors, bank, hierarchy) -> None:
    first, second = (evaluate_probe(vectors, bank, hierarchy) for _ in range(2))
    assert [level.level for level in first.levels] == [1, 2]
    for level, same_level in zip(first.levels, second.levels, strict=True):
        assert np.array_equal(level.probe.weight, same_level.probe.weight)
        assert level.to_dict() == same_level.to_dict()


@pytest.mark.parametrize("multi_label", [False, True])
def test_weights_minimise_the_penalised_loss(multi_label: bool) -> None:
    """Within the steps that there are, however much the features have in common and however rare the classes are."""
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.normal(size=(24, 24)))
    centres = 2 * rng.normal(size=(60, 24))
    chance = 1 / np.arange(1, 61)  # the first is in a fifth of the questions, the last in one of 300
    classes = np.concatenate([np.arange(60), rng.choice(60, 940, p=chance / chance.sum())])
    x = (centres[classes] + 3 * rng.normal(size=(1000, 24))) * np.logspace(0, -2, 24) @ rotation
    features = ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32)
    truth = np.eye(60, dtype=bool)[classes]
    if multi_label:
        truth |= truth[rng.permutation(1000)]
    for l2, *probe_weights in islice(_path(features, truth, multi_label, L2_STRENGTHS), 1, None, 2):
        fitted, best = (_loss(features, truth, *weights, l2) for weights in (probe_weights, _best(features, truth, l2)))
        assert fitted == pytest.approx(best, abs=5e-4)


def _loss(x: np.ndarray, truth: np.ndarray, weight: np.ndarray, bias: np.ndarray, l2: float) -> float:
    logits = x @ weight.T + bias
    single = (truth.sum(axis=1) == 1).all()
    error = np.log(np.exp(logits).sum(axis=1)) if single else np.logaddexp(0, logits).sum(axis=1)
    return float((error - (truth * logits).sum(axis=1)).mean() + l2 / 2 * (weight**2).sum())


def _best(x: np.ndarray, truth: np.ndarray, l2: float) -> tuple[np.ndarray, np.ndarray]:
    """By scikit-learn, with as many steps as it takes."""
    model = LogisticRegression(C=1 / (l2 * len(x)), tol=1e-7, max_iter=100_000)
    if (truth.sum(axis=1) == 1).all():
        model.fit(x, truth.argmax(axis=1))
        return model.coef_, model.intercept_
    fits = [(model.fit(x, column).coef_[0], model.intercept_[0]) for column in truth.T]
    return np.array([weight for weight, _ in fits]), np.array([bias for _, bias in fits])


def test_saved_probe_predicts_the_same(vectors, bank, hierarchy, tmp_path: Path) -> None:
    probe = evaluate_probe(vectors, bank, hierarchy).levels[1].probe
    probe.save(tmp_path / "probe")
    loaded = LinearProbe.load(tmp_path / "probe")
    assert loaded.classes == probe.classes
    assert np.array_equal(loaded.predict_proba(vectors), probe.predict_proba(vectors))
    assert probe.predict_proba(vectors).sum(axis=1) == pytest.approx(1, abs=1e-5)
    with pytest.raises(ValueError, match="16"):
        probe.predict(vectors[:, :5])


def test_splits_by_group_never_straddle_and_cover_the_bank() -> None:
    bank = make_bank([(("a",),)] * 300, split=False)
    splits = probe_splits(bank, seed=3)
    groups = np.array(bank.column("group"))
    assert sorted(np.concatenate(list(splits.values()))) == list(range(300))
    assert not set(groups[splits["train"]]) & set(groups[splits["test"]])
    assert not set(groups[splits["valid"]]) & set(groups[splits["test"]])
    assert 24 <= len(splits["test"]) <= 36
    assert all(np.array_equal(splits[name], probe_splits(bank, seed=3)[name]) for name in splits)


def test_missing_valid_is_taken_from_train() -> None:
    names = ("train", "train", "test")
    bank = QuestionBank.from_questions(Question(id=str(i), stem="x", split=names[i % 3]) for i in range(90))
    splits = probe_splits(bank)
    assert [len(splits[name]) for name in ("train", "valid", "test")] == [54, 6, 30]


def test_decide_and_indicators() -> None:
    probability = np.array([[0.2, 0.3, 0.1], [0.6, 0.7, 0.1]], dtype=np.float32)
    assert decide(probability, 0.5).tolist() == [[False, True, False], [True, True, False]]
    assert decide(probability, None).sum(axis=1).tolist() == [1, 1]
    assert indicators([(0, 2), ()], 3).tolist() == [[True, False, True], [False, False, False]]


def test_vectors_are_checked(vectors, bank, hierarchy) -> None:
    with pytest.raises(ValueError, match="NaN"):
        evaluate_probe(np.full_like(vectors, np.nan), bank, hierarchy)
    with pytest.raises(ValueError, match="95 vectors"):
        evaluate_probe(vectors[1:], bank, hierarchy)
