"""Rows compared: question by question, on the same draws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tqnet.bench.differences import differences
from tqnet.bench.results import Finished, RowResult, clock
from tqnet.bench.runner import Cost
from tqnet.bench.scores import (
    AgreementScores,
    DifficultyTerms,
    ProbeTerms,
    QueryScores,
    RecallTerms,
    RowScores,
    difficulty,
    difficulty_gain,
    f1,
    f1_gain,
    precision,
    precision_gain,
    recall,
    recall_gain,
)
from tqnet.bench.suite import Row, Stage, Suite
from tqnet.bench.table import concept_table, difference_table, render
from tqnet.evaluation.table import NOTHING

QUESTIONS = 400


def row(right: float, seed: int, groups: np.ndarray | None = None) -> RowScores:
    """A row that finds a share ``right`` of single labels, and as much of its similar questions."""
    groups = np.arange(QUESTIONS) // 4 if groups is None else groups
    hit = np.random.default_rng(seed).random(QUESTIONS) < right
    terms = ProbeTerms(1, (2 * hit).tolist(), np.full(QUESTIONS, 2).tolist(), groups.tolist())
    queries = QueryScores(list(range(QUESTIONS)), groups.tolist(), hit.astype(float).tolist())
    return RowScores({"overall": queries}, [terms])


def values(scores: RowScores) -> list[float]:
    return scores.similar["overall"].precision


def finished(scores: RowScores, *notes: str) -> list[Finished]:
    """One seed of a row that took nothing."""
    return [Finished("0" * 12, scores, [], notes)]


def test_gains_are_those_of_the_same_questions() -> None:
    low, high = [row(0.5, seed) for seed in (0, 1)], [row(0.7, seed) for seed in (2, 3)]
    for of, gain in ((precision, precision_gain), (lambda r: f1(r, 1), lambda a, b: f1_gain(a, b, 1))):
        found = gain(low, high)
        assert found is not None
        difference, interval = found
        assert difference == pytest.approx(of(high).mean - of(low).mean)
        assert 0.1 < interval.low < difference < interval.high < 0.3
        assert gain(low, low)[1] == (0, 0)


def test_rows_on_other_questions_are_not_compared() -> None:
    other = row(0.5, 0, groups=np.arange(QUESTIONS) // 5)
    assert f1_gain([row(0.5, 0)], [other], 1) is None
    assert f1_gain([row(0.5, 0)], [row(0.5, 1)], 2) is None
    assert f1_gain([row(0.5, 0)], [], 1) is None
    assert f1([row(0.5, 0)], 2) is None


def test_folds_are_pooled_and_seeds_are_averaged() -> None:
    """Each fold asks its own questions: their answers stand side by side, and groups of two folds are not one."""
    low = [replace(row(0.5, fold), fold=fold) for fold in (1, 2)]
    high = [replace(row(0.7, 2 + fold), fold=fold) for fold in (1, 2)]
    groups = (np.arange(2 * QUESTIONS) // 4).tolist()
    for gain in (precision_gain, lambda a, b: f1_gain(a, b, 1)):
        pooled, averaged = gain(low, high), gain(*([replace(s, fold=None) for s in r] for r in (low, high)))
        assert pooled is not None
        assert averaged is not None
        assert pooled[0] == pytest.approx(averaged[0])
        whole = [
            RowScores(
                {"overall": QueryScores(list(range(2 * QUESTIONS)), groups, [v for s in r for v in values(s)])},
                [
                    ProbeTerms(
                        1, *([v for s in r for v in getattr(s.probe[0], name)] for name in ("above", "below")), groups
                    )
                ],
            )
            for r in (low, high)
        ]
        assert gain(whole[:1], whole[1:]) == pooled
        assert gain(low[:1], high) is None
    hard = [replace(with_difficulty(noise), fold=fold) for fold, noise in ((1, 0.1), (2, 0.5))]
    assert difficulty_gain(hard[:1], hard, "mae") is None
    assert difficulty_gain(hard, hard, "mae") == (0, (0, 0))
    text = render(Suite("A table", "bank"), [RowResult(Row("low", source="a"), [Finished("0", s, []) for s in low])])
    assert "over 2 folds" in text


def test_what_is_finished_is_kept(tmp_path: Path) -> None:
    cost = Cost("mlm-0", questions=64, pace=42.0, peak_memory_mib=100.0, parameters=7, machine="this")
    kept = Finished("0" * 12, row(0.5, 0), [cost], ("a note",))
    kept.save(tmp_path / "scores")
    assert Finished.find(kept.key, [tmp_path / "elsewhere", tmp_path / "scores"]) == kept
    assert Finished.find("1" * 12, [tmp_path / "scores"]) is None
    (tmp_path / "scores" / f"{kept.key}.json").rename(tmp_path / "scores" / f"{'1' * 12}.json")
    with pytest.raises(ValueError, match="its key is 000000000000"):
        Finished.find("1" * 12, [tmp_path / "scores"])
    (tmp_path / "scores" / f"{kept.key}.json").write_text("{}")
    with pytest.raises(ValueError, match=rf"{kept.key}\.json: no scores that this version can read"):
        Finished.find(kept.key, [tmp_path / "scores"])


def test_what_was_not_timed_is_said(tmp_path: Path) -> None:
    old = Cost("mlm-0", questions=60, pace=1.0, peak_memory_mib=100.0, parameters=7, machine="this")
    new = replace(old, training="scl-0", wall_seconds=180.0)
    (timed,), (part,) = finished(row(0.5, 0)), finished(row(0.5, 0))
    rows = [
        RowResult(Row("timed", stages=["scl"]), [replace(timed, costs=[new], measure_seconds=60.0)]),
        RowResult(Row("part", stages=["mlm", "scl"]), [replace(part, costs=[old, new])]),
    ]
    suite = Suite("A table", "bank", stages={name: Stage("pretrain/mlm.py", 64) for name in ("mlm", "scl")})
    costs = [line.split()[-4:-2] for line in render(suite, rows).splitlines()[-2:]]
    assert costs == [["1.0", "3.0"], ["2.0", NOTHING]]
    assert clock({"scl-0": new, "mlm-0": old}.values(), [60.0, None]) == (
        "2 min of steps, each stage counted once; by the clock, "
        "training 3 min (1 of 2 were not timed; all at that rate 6), "
        "measuring 1 min (1 of 2 were not timed; all at that rate 2)"
    )


def test_accuracy_and_macro_f1_where_they_were_kept() -> None:
    old, new = row(0.5, 0), row(0.5, 0)
    new.probe[0] = replace(new.probe[0], accuracy=0.25, macro_f1=0.125)
    rows = [RowResult(Row(name, source="tfidf"), finished(of)) for name, of in (("old", old), ("new", new))]
    table = concept_table(rows)
    assert table.header == ("row", "accuracy L1", "macro F1 L1")
    assert table.rows == (("new", "0.250", "0.125"),)
    assert rows[1].to_dict()["concepts"] == [{"L1": {"accuracy": 0.25, "macro_f1": 0.125}}]


def with_difficulty(noise: float) -> RowScores:
    """A row that errs so much about difficulties."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 100) / 4
    predicted = truth + noise * rng.normal(size=100)
    terms = DifficultyTerms(truth.tolist(), predicted.tolist(), (np.arange(100) // 2).tolist())
    return replace(row(0.5, 0), difficulty=terms, agreement=AgreementScores(0.5, 0.4, {"0": 0.9, "1": 0.7, "4": 0.1}))


def test_difficulty_and_agreement(tmp_path: Path) -> None:
    good, bad = with_difficulty(0.1), with_difficulty(0.5)
    found = difficulty_gain([bad], [good], "mae")
    assert found is not None
    gain, interval = found
    assert gain == pytest.approx(difficulty([good], "mae").mean - difficulty([bad], "mae").mean)
    assert interval.low < gain < interval.high < 0
    assert difficulty_gain([row(0.5, 0)], [good], "doa") is None
    (kept,) = finished(good)
    kept.save(tmp_path)
    assert Finished.find(kept.key, [tmp_path]) == kept
    rows = [RowResult(Row(name, source="tfidf"), finished(of)) for name, of in (("bad", bad), ("good", good))]
    text = render(
        Suite("A table", "bank", difficulty=True, agreement=True), [*rows, RowResult(Row("none", source="a"))]
    )
    assert "Difficulty by a linear regression" in text
    assert "khd 4" in text
    (difference,) = differences(Suite("A table", "bank", difficulty=True), rows)
    assert difference.gains["DOA"][0] > 0 > difference.gains["MAE"][0]
    assert rows[1].to_dict()["agreement"][0]["spearman"] == 0.5


def with_recall(values: list[float], queries: list[int] | None = None) -> RowScores:
    terms = RecallTerms(100, queries or list(range(len(values))), [i // 2 for i in range(len(values))], values)
    return replace(row(0.5, 0), recall=terms)


def test_recall(tmp_path: Path) -> None:
    low, high = with_recall([0.2, 0.4, 0.0, 1.0]), with_recall([0.6, 0.4, 0.5, 1.0])
    assert recall([low, high]).mean == pytest.approx(0.5125)
    found = recall_gain([low], [high])
    assert found is not None
    assert found[0] == pytest.approx(0.225)
    assert found[1] == pytest.approx((0.2, 0.25))  # the gains of two groups
    assert recall_gain([low], [with_recall([0.6, 0.4, 0.5, 1.0], [0, 1, 2, 4])]) is None  # other queries
    assert recall_gain([low], [row(0.5, 0)]) is None
    (kept,) = finished(high)
    kept.save(tmp_path)
    assert Finished.find(kept.key, [tmp_path]) == kept
    rows = [RowResult(Row(name, source="tfidf"), finished(of)) for name, of in (("low", low), ("high", high))]
    rows.append(RowResult(Row("old", source="tfidf"), finished(row(0.5, 0))))
    suite = Suite("A table", "bank", recall=100)
    assert "R@100" in render(suite, rows)
    assert "R@100" not in render(Suite("A table", "bank"), rows)
    against_low, old = differences(suite, rows)
    assert against_low.gains["R@100"] == found
    assert old.gains["R@100"] is None
    assert rows[0].to_dict()["recall"] == [pytest.approx(0.4)]
    with pytest.raises(ValueError, match="recall"):
        Suite("A table", "bank", recall=0)


def test_tables_of_rows_that_lack_something() -> None:
    """A cell that was not measured of a row is a dash; a row of another paper number shows it."""
    whole, part = row(0.7, 0), row(0.5, 1)
    whole.similar["image-image"] = part.similar["overall"]
    rows = [
        RowResult(Row("part", source="tfidf"), finished(part)),
        RowResult(Row("whole", stages=["mlm"], paper_structures={"image-image": 0.796}), finished(whole)),
        RowResult(Row("third", stages=["mlm"]), finished(part, "has seen the test"), errors=["no memory"]),
    ]
    text = render(Suite("A table", "bank", by_structure=True, stages={"mlm": Stage("pretrain/mlm.py", 64)}), rows)
    assert "image-image (400)" in text
    assert "(0.7960)" in text
    assert "third failed: no memory" in text
    assert "third: has seen the test." in text
    assert "part: " not in text  # not trained: it has no seeds to lack
    assert rows[1].to_dict()["structures"][0].keys() == {"image-image"}


def test_the_rows_that_are_compared() -> None:
    rows = [
        RowResult(Row("a", source="tfidf", paper=0.8), finished(row(0.5, 0))),
        RowResult(Row("b", source="bm25", paper=0.85), finished(row(0.7, 1))),
        RowResult(Row("c", source="minilm"), []),
    ]
    table = difference_table(Suite("A table", "bank"), rows)
    assert [cells[:3] for cells in table.rows] == [("b", "a", "+0.0500")]
    suite = Suite("A table", "bank", paper_metric="F1", compare=[["a", "b"], ["c", "a"], ["x", "a"]])
    table = difference_table(suite, rows)
    assert table.header == ("row", "over", "paper's F1", "P@5", "F1 L1")
    assert [cells[:3] for cells in table.rows] == [("a", "b", "-0.0500")]
    assert table.rows[0][3].startswith("-0.")
    (found,) = differences(suite, rows)
    assert found.to_dict()["P@5"]["difference"] == pytest.approx(-0.2, abs=0.1)


def test_a_row_that_the_suite_does_not_compare_is_compared_with_the_first() -> None:
    rows = [RowResult(Row(name, source="tfidf"), finished(row(0.5, 0))) for name in ("a", "b", "mine")]
    suite = Suite("A table", "bank", compare=[["b", "a"]])
    assert [(each.row, each.over) for each in differences(suite, rows)] == [("b", "a"), ("mine", "a")]
    assert [(each.row, each.over) for each in differences(suite, rows[1:])] == [("mine", "b")]
    suite.compare.append(["mine", "b"])
    assert not differences(suite, [rows[0], rows[2]])  # its partner is not there
