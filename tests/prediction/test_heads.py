"""The heads on synthetic data: consistency, calibration, coverage, and that they come back from disk as they were."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tqnet.prediction.calibration import LevelCalibration, calibrate_level
from tqnet.prediction.difficulty import DifficultyHead, fit_difficulty_head
from tqnet.prediction.features import Examples
from tqnet.prediction.heads import Heads, HeadsError, predict
from tqnet.prediction.knowledge import KnowledgeHead, fit_knowledge_head
from tqnet.prediction.tree import STOP, ConceptTree

PATHS = [("A", "x", "1"), ("A", "x", "2"), ("A", "y"), ("B", "x", "1"), ("B", "z", "3"), ("B", "z")]


def questions(count: int, seed: int, several: bool) -> Examples:
    """Vectors and words that say, not always, which of ``PATHS`` a question has."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(len(PATHS), 12))
    choices = [rng.choice(len(PATHS), size=rng.integers(1, 4) if several else 1, replace=False) for _ in range(count)]
    vectors = np.stack([centres[chosen].mean(axis=0) for chosen in choices]) + rng.normal(size=(count, 12))
    texts = [" ".join(f"word{'abcdef'[i]}" for i in chosen if rng.random() < 0.5) + " find" for chosen in choices]
    return Examples(vectors, texts, [tuple(PATHS[i] for i in chosen) for chosen in choices])


@pytest.fixture(scope="module", params=[False, True], ids=["one", "several"])
def head(request: pytest.FixtureRequest) -> KnowledgeHead:
    return fit_knowledge_head(questions(240, 0, request.param), questions(150, 1, request.param))


def test_probabilities_agree_along_the_hierarchy(head: KnowledgeHead) -> None:
    asked = questions(60, 2, head.tree.multi_label)
    chance = head.predict(asked.vectors, asked.texts)
    assert ((chance >= 0) & (chance <= 1)).all()
    below = np.flatnonzero(head.tree.parents >= 0)
    assert (chance[:, below] <= chance[:, head.tree.parents[below]]).all()
    if not head.tree.multi_label:
        for level in (1, 2, 3):
            assert (chance[:, head.tree.levels == level].sum(axis=1) <= 1 + 1e-5).all()
    likeliest = chance[:, head.tree.concepts(1)].argmax(axis=1)
    names = [head.tree.nodes[i][0] for i in head.tree.concepts(1)]
    hits = [names[i] in {path[0] for path in paths} for i, paths in zip(likeliest, asked.labels, strict=True)]
    assert np.mean(hits) > 0.8


def test_a_head_comes_back_as_it_was(head: KnowledgeHead, tmp_path: Path) -> None:
    asked = questions(30, 3, head.tree.multi_label)
    Heads("there", "f" * 16, head, None, {"bank": "b"}).save(tmp_path / "heads")
    Heads("there", "f" * 16, head, None, {"bank": "c"}).save(tmp_path / "heads")  # takes the place of the other
    back = Heads.load(tmp_path / "heads")
    assert [path.name for path in tmp_path.iterdir()] == ["heads"]
    assert back.facts == {"bank": "c"}
    assert back.difficulty is None
    assert back.knowledge is not None
    expected = head.predict(asked.vectors, asked.texts)
    np.testing.assert_allclose(back.knowledge.predict(asked.vectors, asked.texts), expected, atol=1e-6)
    (tmp_path / "heads" / "knowledge.safetensors").write_bytes(b"cut")
    with pytest.raises(HeadsError, match="cannot be read"):
        Heads.load(tmp_path / "heads")


def test_vectors_add_to_words() -> None:
    train, valid, asked = (questions(n, seed, False) for n, seed in ((200, 0), (120, 1), (200, 2)))

    def right(**options: bool) -> float:
        head = fit_knowledge_head(train, valid, **options)
        chance = head.predict(asked.vectors, asked.texts)[:, head.tree.concepts(1)]
        truth = np.array([paths[0][0] == "B" for paths in asked.labels])
        return float(((chance.argmax(axis=1) == 1) == truth).mean())

    assert right() >= right(words_only=True) - 0.01


@pytest.mark.parametrize("several", [False, True])
def test_a_branch_of_questions_without_words(several: bool) -> None:
    """Below B no question has a word; only how frequent its children are can tell."""
    names = ("x", "x", "x", "y", "y", "z")
    known = [(("A",),)] * 6 + [(("B", name), ("A",)) if several else (("B", name),) for name in names]
    texts = ["find it"] * 6 + [""] * 6
    examples = Examples(np.zeros((12, 1)), texts, known)
    head = fit_knowledge_head(examples, examples, words_only=True)
    below = [head.tree.index["B", name] for name in "xyz"]
    assert (np.diff(head.branches.bias[below]) < 0).all()
    assert head.branches.weight[:, below].nnz == 0
    assert np.isfinite(head.predict(examples.vectors, [""] * 12)).all()


def test_paths_of_different_length() -> None:
    tree = ConceptTree.of([(path,) for path in PATHS])
    assert not tree.multi_label
    assert ("B", "z", STOP) in tree.index  # some questions end in B > z, others go on
    assert ("A", "y", STOP) not in tree.index
    assert tree.depth == 3
    assert STOP not in {tree.nodes[i][-1] for level in (1, 2, 3) for i in tree.concepts(level)}
    assert not ConceptTree.of([(("A",), ("A", "x"))]).multi_label  # one is the beginning of the other


def overconfident(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities ``[2, questions, 4]`` three times as sure as they should be, beside zeros, and the classes."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(count, 4))
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    opinions = np.stack([3 * logits, 0 * logits]).astype(np.float32)
    return opinions, np.array([rng.choice(4, p=row) for row in chance])


def flat_tree(names: str) -> ConceptTree:
    return ConceptTree.of([((name,),) for name in names])


def calibrated(tree: ConceptTree, opinions: np.ndarray, names: Sequence[str]) -> LevelCalibration:
    paths = [((name,),) for name in names]
    return calibrate_level(tree, 1, opinions, tree.indicators(paths), paths)


def test_calibration_beats_what_was_there_before() -> None:
    tree, as_it_was = flat_tree("abcd"), LevelCalibration((1.0, 0.0))
    opinions, classes = overconfident(600, 0)
    calibration = calibrated(tree, opinions, ["abcd"[i] for i in classes])
    opinions, classes = overconfident(4000, 1)
    after, before = (model.chance(opinions, tree.families, False) for model in (calibration, as_it_was))
    rows = np.arange(len(classes))
    assert -np.log(after[rows, classes]).mean() < -np.log(before[rows, classes]).mean() - 0.2
    hits = after.argmax(axis=1) == classes
    assert abs(after.max(axis=1).mean() - hits.mean()) < 0.03
    assert abs(before.max(axis=1).mean() - hits.mean()) > 0.1


@pytest.mark.parametrize("concepts", [2, 5])
def test_a_small_valid_makes_nothing_certain(concepts: int) -> None:
    names = "abcde"[:concepts]
    tree, classes = flat_tree(names), np.arange(3) % concepts
    sure = np.log(np.where(np.eye(concepts)[classes] > 0, 0.999, 0.001 / (concepts - 1))).astype(np.float32)
    calibration = calibrated(tree, np.stack([sure, 0 * sure]), [names[i] for i in classes])
    chance = calibration.chance(np.stack([4 * sure, 0 * sure]), tree.families, False)  # surer than any of valid
    assert 0.7 < chance.max() < 0.95
    assert chance.min() > 1e-3


def test_the_curve_keeps_the_order_of_concepts() -> None:
    """Where the sure are wrong, a curve of its own choice would turn the order."""
    tree = flat_tree("abcd")
    opinions, classes = overconfident(300, 0)
    sure = opinions[0].max(axis=1) > np.quantile(opinions[0].max(axis=1), 0.6)
    classes = np.where(sure, (opinions[0].argmax(axis=1) + 1) % 4, opinions[0].argmax(axis=1))
    calibration = calibrated(tree, opinions, ["abcd"[i] for i in classes])
    chance = calibration.chance(opinions, tree.families, False)
    assert calibration.curve[0] > 0
    assert calibration.curve[1] >= 0
    assert (chance.argmax(axis=1) == calibration.logits(opinions).argmax(axis=1)).all()


def test_what_no_training_question_has_takes_its_share() -> None:
    tree, opinions = flat_tree("ab"), np.zeros((2, 80, 2), dtype=np.float32)
    calibration = calibrated(tree, opinions, "a" * 30 + "b" * 30 + "c" * 20)
    assert calibration.new == pytest.approx(0.25)
    assert calibration.chance(opinions, tree.families, False).sum(axis=1) == pytest.approx(0.75, abs=1e-3)


def rated(count: int, seed: int) -> Examples:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, 8))
    difficulty = 5 + vectors[:, 0] + 0.5 * rng.standard_t(4, size=count)
    return Examples(vectors, ["find"] * count, difficulty, [str(i // 2) for i in range(count)])


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_hold_as_often_as_they_say(coverage: float) -> None:
    head = fit_difficulty_head(rated(300, 0), rated(400, 1))
    asked = rated(4000, 2)
    predicted = head.predict(asked.vectors, asked.texts, coverage)
    held = (asked.labels >= predicted.low) & (asked.labels <= predicted.high)
    assert abs(held.mean() - coverage) < 0.05
    assert (predicted.low <= predicted.value).all()
    assert (predicted.value <= predicted.high).all()
    assert json.dumps(head.state()[0])


def test_a_large_group_counts_as_one() -> None:
    """Nineteen questions of one group are easy to predict, one each of four others hard."""
    head = fit_difficulty_head(rated(300, 0), rated(23, 1))
    errors = np.concatenate([np.full(19, 0.1), [1.0, 2.0, 3.0, 4.0]]).astype(np.float32)
    grouped = replace(head, errors=errors, shares=np.array([1 / 19] * 19 + [1.0] * 4, dtype=np.float32))
    assert [grouped.reach(place / 6) for place in (1, 2, 5)] == pytest.approx([0.1, 1.0, 4.0])
    assert grouped.reach(0.84) == np.inf
    facts, tensors = head.state()
    del tensors["shares"]  # as 0.1.0 wrote it
    assert DifficultyHead.load(facts, tensors).reach(0.5) == head.errors[11]


def test_an_interval_may_leave_what_train_has() -> None:
    train, valid, asked = rated(300, 0), rated(400, 1), rated(2000, 2)
    kept = np.flatnonzero(np.abs(train.labels - 5) < 1)
    narrow = Examples(train.vectors[kept], ["find"] * len(kept), train.labels[kept], [str(i) for i in kept])
    predicted = fit_difficulty_head(narrow, valid).predict(asked.vectors, asked.texts, 0.9)
    held = (asked.labels >= predicted.low) & (asked.labels <= predicted.high)
    assert abs(held.mean() - 0.9) < 0.05


def test_a_small_valid_knows_no_interval(tmp_path: Path) -> None:
    head = fit_difficulty_head(rated(100, 0), rated(6, 1))
    predicted = head.predict(rated(3, 2).vectors, ["find"] * 3, 0.9)
    assert np.isinf(predicted.low).all()
    assert np.isinf(predicted.high).all()
    assert "3 groups of valid are enough for 75 % at most" in head.why_no_interval(0.9)
    assert head.why_no_interval(0.75) == ""
    Heads("there", "f" * 16, None, head).save(tmp_path / "heads")
    back = Heads.load(tmp_path / "heads")
    record = predict(back, rated(1, 2).vectors, ["find"], k=1, levels=[], coverage=0.9)[0]["difficulty"]
    assert [record[name] for name in ("low", "high", "coverage")] == [None] * 3
    with pytest.raises(ValueError, match="not between 0 and 1"):
        head.reach(1.0)
