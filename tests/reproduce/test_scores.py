"""Rows compared question by question, and the tables of a suite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduce.bench import scores as gains
from reproduce.bench.results import Finished, RowResult, clock, differences
from reproduce.bench.suite import Row, Stage, Suite
from reproduce.bench.tables import concept_table, difference_table, render
from reproduce.bench.terms import (
    AgreementScores,
    DifficultyTerms,
    ParaphraseTerms,
    ProbeTerms,
    QueryScores,
    RecallTerms,
    RowScores,
    SolvedTerms,
)
from reproduce.bench.trainings import Cost

QUESTIONS = 400
COST = Cost("mlm-0", questions=60, pace=1.0, peak_memory_mib=100.0, parameters=7, machine="this", wall_seconds=180.0)


def row(right: float, seed: int, group_size: int = 4) -> RowScores:
    """A row with a share ``right`` of correct single labels and of correct neighbours."""
    groups = (np.arange(QUESTIONS) // group_size).tolist()
    hit = np.random.default_rng(seed).random(QUESTIONS) < right
    terms = ProbeTerms(1, (2 * hit).tolist(), [2] * QUESTIONS, groups, accuracy=0.25, macro_f1=0.125)
    return RowScores({"overall": QueryScores(list(range(QUESTIONS)), groups, hit.astype(float).tolist())}, [terms])


def f1_gain(first: list[RowScores], second: list[RowScores]) -> Any:
    return gains.f1_gain(first, second, 1)


def with_difficulty(noise: float) -> RowScores:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 100) / 4
    predicted = truth + noise * rng.normal(size=100)
    terms = DifficultyTerms(truth.tolist(), predicted.tolist(), (np.arange(100) // 2).tolist())
    return replace(row(0.5, 0), difficulty=terms, agreement=AgreementScores(0.5, 0.4, {"0": 0.9, "1": 0.7, "4": 0.1}))


def with_recall(values: list[float], queries: list[int] | None = None) -> RowScores:
    terms = RecallTerms(100, queries or list(range(len(values))), [i // 2 for i in range(len(values))], values)
    return replace(row(0.5, 0), recall=terms)


def pairs(apart: float, seed: int) -> ParaphraseTerms:
    """100 originals with a valid and an invalid pair each, whose mean scores are ``apart``."""
    noise = 0.2 * np.random.default_rng(seed).normal(size=200)
    labels = [1, 0] * 100
    scores = np.clip(0.5 + apart * (np.array(labels) - 0.5) + noise, -1, 1)
    return ParaphraseTerms(labels, scores.round(6).tolist(), np.repeat(np.arange(100), 2).tolist())


def solved(right: list[int], group_size: int = 1) -> RowScores:
    languages, groups = ["en", "zh"] * (len(right) // 2), [at // group_size for at in range(len(right))]
    leaked = [1] + [0] * (len(right) - 1)
    terms = SolvedTerms(list(range(len(right))), right, right, right, leaked, languages, 2.0, groups)
    return RowScores({}, [], solved=terms)


def finished(scores: RowScores, *notes: str) -> list[Finished]:
    return [Finished("0" * 12, scores, [], notes)]


def baseline(name: str, scores: RowScores, **settings: Any) -> RowResult:
    return RowResult(Row(name, source="tfidf", **settings), finished(scores))


def test_gains_are_paired() -> None:
    low, high = [row(0.5, seed) for seed in (0, 1)], [row(0.7, seed) for seed in (2, 3)]
    for mean, gain in ((gains.precision, gains.precision_gain), (lambda r: gains.concepts(r, 1), f1_gain)):
        difference, interval = gain(low, high)
        assert difference == pytest.approx(mean(high).mean - mean(low).mean)
        assert 0.1 < interval.low < difference < interval.high < 0.3
        assert gain(low, low)[1] == (0, 0)


def test_rows_on_other_questions_are_not_compared() -> None:
    first = [row(0.5, 0)]
    assert f1_gain(first, [row(0.5, 0, group_size=5)]) is None
    assert gains.f1_gain(first, [row(0.5, 1)], 2) is None
    assert f1_gain(first, []) is None
    assert gains.concepts(first, 2) is None
    assert gains.recall_gain([with_recall([0.2, 0.4])], [with_recall([0.6, 0.4], [0, 2])]) is None
    assert gains.recall_gain([with_recall([0.2, 0.4])], first) is None
    assert gains.difficulty_gain(first, [with_difficulty(0.1)], "doa") is None
    assert gains.solved_gain([solved([1, 0] * 20)], [solved([1, 1])], "answers") is None
    swapped = replace(pairs(0.1, 0), labels=pairs(0.1, 0).labels[::-1])
    assert gains.paraphrase_gain([swapped], [pairs(0.6, 1)], "separation") is None
    assert gains.paraphrase_gain([], [pairs(0.6, 1)], "separation") is None


def test_folds_are_pooled_and_seeds_are_averaged() -> None:
    """Each fold has its own questions, and groups of two folds are never one."""
    low = [replace(row(0.5, fold), fold=fold) for fold in (1, 2)]
    high = [replace(row(0.7, 2 + fold), fold=fold) for fold in (1, 2)]
    groups = (np.arange(2 * QUESTIONS) // 4).tolist()

    def pooled(folds: list[RowScores]) -> RowScores:
        values = [v for s in folds for v in s.similar["overall"].precision]
        above, below = ([v for s in folds for v in getattr(s.probe[0], name)] for name in ("above", "below"))
        queries = QueryScores(list(range(2 * QUESTIONS)), groups, values)
        return RowScores({"overall": queries}, [ProbeTerms(1, above, below, groups, 0.25, 0.125)])

    for gain in (gains.precision_gain, f1_gain):
        assert gain([pooled(low)], [pooled(high)]) == gain(low, high)
        seeds = [[replace(s, fold=None) for s in folds] for folds in (low, high)]
        assert gain(low, high)[0] == pytest.approx(gain(*seeds)[0])
        assert gain(low[:1], high) is None
    hard = [replace(with_difficulty(noise), fold=fold) for fold, noise in ((1, 0.1), (2, 0.5))]
    assert gains.difficulty_gain(hard[:1], hard, "mae") is None
    assert gains.difficulty_gain(hard, hard, "mae") == (0, (0, 0))
    result = RowResult(Row("low", source="a"), [Finished("0", scores, []) for scores in low])
    assert "over 2 folds" in render(Suite("A table", "bank"), [result])


def test_difficulty_and_agreement() -> None:
    good, bad = with_difficulty(0.1), with_difficulty(0.5)
    gain, interval = gains.difficulty_gain([bad], [good], "mae") or (0, None)
    assert gain == pytest.approx(gains.difficulty([good], "mae").mean - gains.difficulty([bad], "mae").mean)
    assert interval is not None
    assert interval.low < gain < interval.high < 0
    rows = [baseline("bad", bad), baseline("good", good)]
    suite = Suite("A table", "bank", difficulty=True, agreement=True)
    text = render(suite, [*rows, RowResult(Row("none", source="a"))])
    assert "Difficulty by a linear regression" in text
    assert "khd 4" in text
    (difference,) = differences(suite, rows)
    assert difference.gains["DOA"][0] > 0 > difference.gains["MAE"][0]
    assert rows[1].to_dict()["agreement"][0]["spearman"] == 0.5


def test_recall() -> None:
    low, high = with_recall([0.2, 0.4, 0.0, 1.0]), with_recall([0.6, 0.4, 0.5, 1.0])
    assert gains.recall([low, high]).mean == pytest.approx(0.5125)
    gain, interval = gains.recall_gain([low], [high]) or (0, (0, 0))
    assert gain == pytest.approx(0.225)
    assert interval == pytest.approx((0.2, 0.25))  # the gains of two groups
    rows = [baseline("low", low), baseline("high", high), baseline("old", row(0.5, 0))]
    suite = Suite("A table", "bank", recall=100)
    assert "R@100" in render(suite, rows)
    assert "R@100" not in render(Suite("A table", "bank"), rows)
    against_low, old = differences(suite, rows)
    assert against_low.gains["R@100"] == (gain, interval)
    assert old.gains["R@100"] is None
    assert rows[0].to_dict()["recall"] == [pytest.approx(0.4)]


def test_paraphrases_are_compared_pair_by_pair() -> None:
    low, high = [pairs(0.1, seed) for seed in (0, 1)], [pairs(0.6, seed) for seed in (2, 3)]
    for metric, least in (("separation", 0.4), ("macro_f1", 0.1), ("weighted_f1", 0.1)):
        gain, interval = gains.paraphrase_gain(low, high, metric) or (0, None)
        before, after = (gains.paraphrase_spread(terms, metric) for terms in (low, high))
        assert gain == pytest.approx(after.mean - before.mean)
        assert interval is not None
        assert least < interval.low < gain < interval.high < 0.6
        assert gains.paraphrase_gain(high, high, metric) == (0, (0, 0))
    assert gains.paraphrase_spread([], "separation") is None


def test_tables_of_paraphrases() -> None:
    labels = {"threshold": 0.8, "positive": 6, "negative": 2, "positive_percent": 75.0, "negative_percent": 25.0}
    cost = replace(COST, pseudo_labels=labels)
    trained = RowScores({}, [], paraphrases={"ours": pairs(0.6, 0), "theirs": pairs(0.4, 1)})
    start = RowScores({}, [], paraphrases={"ours": pairs(0.1, 2), "theirs": pairs(0.1, 3)})
    rows = [
        baseline("start", start, paper_paraphrases={"ours": 0.08}),
        RowResult(Row("UDA", ["uda"], paper_paraphrases={"ours": 0.03}), [Finished("0" * 12, trained, [cost])]),
        RowResult(Row("late", ["uda"]), [], ["no memory"]),
    ]
    suite = Suite("A table", "bank", paraphrases=["ours.jsonl", "theirs.jsonl"], paper_metric="separation")
    text = render(suite, rows)
    ours, theirs = text.index("A table: ours"), text.index("A table: theirs")
    assert "paper's separation" in text[ours:theirs]
    assert "paper's separation" not in text[theirs:]
    assert text.count("late failed: no memory") == 1
    assert "ours: 200 pairs of 100 questions, 100 valid" in text
    assert "75.00        25.00" in text[text.index("Pseudo-labels") :]
    compared = differences(suite, rows)
    assert [(d.row, d.over, d.paraphrases) for d in compared] == [("UDA", "start", "ours"), ("UDA", "start", "theirs")]
    assert compared[0].paper == pytest.approx(-0.05)
    assert compared[0].to_dict().keys() > {"paraphrases", "separation", "macro F1", "weighted F1"}
    assert rows[1].to_dict()["paraphrases"][0]["ours"]["separation"] == pytest.approx(0.6, abs=0.1)
    assert "A table" in render(suite, rows[2:])


def test_solvers_are_compared_problem_by_problem() -> None:
    low, high = [solved([1, 0] * 20)], [solved([1, 1] * 20)]
    gain, interval = gains.solved_gain(low, high, "answers") or (0, (0, 0))
    assert gain == 0.5
    assert 0.3 < interval[0] < 0.5 < interval[1] < 0.7
    assert gains.solved_gain(low, high, "answers", "en") == (0, (0, 0))
    spread = gains.solved_spread([solved([1, 0]).solved, solved([1, 1]).solved], "answers", "clean")
    assert (spread.mean, spread.seeds) == (0.5, 2)


def test_problems_of_one_group_are_drawn_together() -> None:
    def width(group_size: int, part: str = "") -> float:
        low, high = (solved([right] * 20 + [1] * 20, group_size) for right in (0, 1))
        gain, interval = gains.solved_gain([low], [high], "answers", part) or (0, (0, 0))
        assert gain == 0.5
        return interval[1] - interval[0]

    assert width(10) > 2 * width(1)
    assert width(10, "en") > 2 * width(1, "en")


def test_a_table_of_solvers() -> None:
    rows = [
        RowResult(Row("plain", ["solver"], paper=0.824), finished(solved([0, 1, 0, 1]))),
        RowResult(Row("contrast", ["solver"], paper=0.832), finished(solved([1, 1, 0, 1]))),
        RowResult(Row("late", ["solver"]), [], ["no memory"]),
    ]
    suite = Suite("Problems", "bank", solved=True, paper_metric="answers")
    text = render(suite, rows)
    for part in ("paper's answers", "Of 4 problems.", "answers, zh", "late failed: no memory"):
        assert part in text
    (difference,) = differences(suite, rows)
    assert (difference.row, difference.over) == ("contrast", "plain")
    assert difference.gains.keys() == {"answers", "equations", "answers, en", "answers, zh"}
    assert difference.paper == pytest.approx(0.008)
    assert rows[1].to_dict()["solved"][0]["answers"] == 0.75
    assert "Problems" in render(suite, rows[2:])


@pytest.mark.parametrize(
    "scores",
    [
        row(0.5, 0),
        with_difficulty(0.1),
        with_recall([0.2, 0.4]),
        solved([1, 0]),
        RowScores({}, [], paraphrases={"ours": pairs(0.6, 0)}),
    ],
    ids=("bank", "difficulty", "recall", "solved", "paraphrases"),
)
def test_finished_rows_are_saved(scores: RowScores, tmp_path: Path) -> None:
    result = Finished("0" * 12, scores, [COST], ("a note",))
    result.save(tmp_path / "scores")
    assert Finished.find(result.key, [tmp_path / "elsewhere", tmp_path / "scores"]) == result
    assert Finished.find("1" * 12, [tmp_path / "scores"]) is None


def test_damaged_files_are_named(tmp_path: Path) -> None:
    result = Finished("0" * 12, row(0.5, 0), [COST])
    result.save(tmp_path)
    (tmp_path / f"{result.key}.json").rename(tmp_path / f"{'1' * 12}.json")
    with pytest.raises(ValueError, match="its key is 000000000000"):
        Finished.find("1" * 12, [tmp_path])
    (tmp_path / f"{result.key}.json").write_text("{}")
    with pytest.raises(ValueError, match=rf"{result.key}\.json: no scores that this version can read"):
        Finished.find(result.key, [tmp_path])


def test_what_rows_took() -> None:
    scl = replace(COST, training="scl-0", questions=30, wall_seconds=60.0)
    rows = [
        RowResult(Row("short", stages=["scl"]), [Finished("0", row(0.5, 0), [scl], measure_seconds=60.0)]),
        RowResult(Row("long", stages=["mlm", "scl"]), [Finished("1", row(0.5, 0), [COST, scl])]),
    ]
    suite = Suite("A table", "bank", stages={name: Stage("pretrain/mlm.py", 64) for name in ("mlm", "scl")})
    costs = [line.split()[-4:-2] for line in render(suite, rows).splitlines()[-2:]]
    assert costs == [["0.5", "1.0"], ["1.5", "4.0"]]
    assert clock([scl, COST], [60.0, 0.0]) == (
        "2 min of steps, each stage counted once; by the clock, training 4 min, measuring 1 min"
    )


def test_accuracy_and_macro_f1() -> None:
    table = concept_table([baseline("a", row(0.5, 0)), RowResult(Row("none", source="a"))])
    assert table.header == ("row", "accuracy L1", "macro F1 L1")
    assert table.rows == (("a", "0.250", "0.125"),)


def test_tables_of_rows_that_lack_something() -> None:
    complete, part = row(0.7, 0), row(0.5, 1)
    complete.similar["image-image"] = part.similar["overall"]
    rows = [
        baseline("part", part),
        RowResult(Row("whole", stages=["mlm"], paper_structures={"image-image": 0.796}), finished(complete)),
        RowResult(Row("third", stages=["mlm"]), finished(part, "has seen the test"), errors=["no memory"]),
    ]
    text = render(Suite("A table", "bank", by_structure=True, stages={"mlm": Stage("pretrain/mlm.py", 64)}), rows)
    for shown in ("image-image (400)", "(0.7960)", "third failed: no memory", "third: has seen the test."):
        assert shown in text
    assert "part: " not in text  # not trained: it lacks no seed
    assert rows[1].to_dict()["structures"][0].keys() == {"image-image"}


def test_compared_rows() -> None:
    rows = [
        baseline("a", row(0.5, 0), paper=0.8),
        baseline("b", row(0.7, 1), paper=0.85),
        RowResult(Row("c", source="minilm"), []),
    ]
    table = difference_table(Suite("A table", "bank"), rows)
    assert [cells[:3] for cells in table.rows] == [("b", "a", "+0.0500")]
    suite = Suite("A table", "bank", paper_metric="F1", compare=[["a", "b"], ["c", "a"], ["x", "a"]])
    table = difference_table(suite, rows)
    assert table.header == ("row", "over", "paper's F1", "P@5", "F1 L1")
    assert [cells[:3] for cells in table.rows] == [("a", "b", "-0.0500")]
    (difference,) = differences(suite, rows)
    assert difference.to_dict()["P@5"]["difference"] == pytest.approx(-0.2, abs=0.1)
