"""Rows that are measured by the word problems that they solve: compared problem by problem, trained in two stages."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.word_problems import write_problems
from tqnet.bench.differences import differences
from tqnet.bench.folds import fold_facts, save_folds
from tqnet.bench.results import Finished, RowResult
from tqnet.bench.run import Bench
from tqnet.bench.scores import RowScores, solved_gain
from tqnet.bench.solved import SolvedTerms, solved_spread
from tqnet.bench.suite import Row, Stage, Suite, SuiteError, load_suite
from tqnet.bench.table import render
from tqnet.evaluation.sources import Encoding
from tqnet.questions import load_bank

ROOT = Path(__file__).parents[2]
ENCODING = Encoding(batch_size=32, device="cpu", precision="fp32")


def terms(right: list[int], group_size: int = 1) -> SolvedTerms:
    languages, groups = ["en", "zh"] * (len(right) // 2), [at // group_size for at in range(len(right))]
    doubles = [1] + [0] * (len(right) - 1)
    return SolvedTerms(list(range(len(right))), right, right, right, doubles, languages, 2.0, groups)


def scores(right: list[int], group_size: int = 1) -> RowScores:
    return RowScores({}, [], solved=terms(right, group_size))


def test_rows_are_compared_problem_by_problem() -> None:
    low, high = [scores([1, 0] * 20)], [scores([1, 1] * 20)]
    gain, interval = solved_gain(low, high, "answers") or (0, (0, 0))
    assert gain == 0.5
    assert 0.3 < interval[0] < 0.5 < interval[1] < 0.7
    assert solved_gain(low, high, "answers", "en") == (0, (0, 0))
    assert solved_gain(low, [scores([1, 1])], "answers") is None
    assert solved_gain([], high, "answers") is None
    spread = solved_spread([terms([1, 0]), terms([1, 1])], "answers", "clean")
    assert (spread.mean, spread.seeds) == (0.5, 2) if spread else False


def test_problems_of_one_group_are_drawn_together() -> None:
    def width(group_size: int, part: str = "") -> float:
        low, high = (scores([of] * 20 + [1] * 20, group_size) for of in (0, 1))
        gain, interval = solved_gain([low], [high], "answers", part) or (0, (0, 0))
        assert gain == 0.5
        return interval[1] - interval[0]

    assert width(10) > 2 * width(1)
    assert width(10, "en") > 2 * width(1, "en")
    kept = asdict(scores([1, 0]))
    assert RowScores.from_dict(kept) == scores([1, 0])
    del kept["solved"]["groups"]  # of an earlier version
    assert RowScores.from_dict(kept).solved.groups_of([1]) == [1]


def test_a_table(tmp_path: Path) -> None:
    kept = Finished("0" * 12, scores([1, 1, 0, 1]), [])
    kept.save(tmp_path)
    assert Finished.find(kept.key, [tmp_path]) == kept
    rows = [
        RowResult(Row("plain", ["solver"], paper=0.824), [Finished("1" * 12, scores([0, 1, 0, 1]), [])]),
        RowResult(Row("contrast", ["solver"], paper=0.832), [kept]),
        RowResult(Row("late", ["solver"]), [], ["no memory"]),
    ]
    suite = Suite("Problems", "bank", solved=True, paper_metric="answers")
    text = render(suite, rows)
    assert "paper's answers" in text
    assert "Of 4 problems." in text
    assert "answers, zh" in text
    assert "late failed: no memory" in text
    (difference,) = differences(suite, rows)
    assert (difference.row, difference.over) == ("contrast", "plain")
    assert difference.gains.keys() == {"answers", "equations", "answers, en", "answers, zh"}
    assert difference.paper == pytest.approx(0.008)
    assert rows[1].to_dict()["solved"][0]["answers"] == 0.75
    assert "Problems" in render(suite, rows[2:])


def solves(stage: Stage) -> bool:
    return stage.recipe == "finetune/solver.py"


def test_shipped_rows_that_are_compared_see_as_many_problems() -> None:
    suites = [load_suite(path) for path in sorted((ROOT / "configs" / "tables").glob("mwp-*.yaml"))]
    assert all(suite.solved for suite in suites)
    for suite in suites:
        seen = {
            row.name: sum(stage.questions for stage in map(suite.stages.__getitem__, row.stages) if solves(stage))
            for row in suite.rows
            if not row.name.endswith("stage I")  # half of the way, and said so
        }
        assert len(set(seen.values())) == 1, (suite.name, seen)
        assert all((stage.per_item == 3) == ("alpha" in stage.settings) for stage in suite.stages.values())


@pytest.fixture
def suite() -> Suite:
    run = {"batch_size": 15, "log_every": 1, "threads": 1, "precision": "fp32"}
    settings: dict[str, Any] = {"run": run, "optim": {"lr": 4e-3}, "decoder_dropout": 0.1}
    triples = settings | {"alpha": 5.0, "run": run | {"batch_size": 5}}
    model = {"text": "scratch", "scratch_hidden": 64, "scratch_layers": 1, "max_length": 60}
    return Suite(
        "Problems",
        "bank",
        solved=True,
        model=model | {"visual": None, "fusion": "none", "vocabulary_min_count": 0},
        rows=[Row("plain", ["whole"]), Row("contrast", ["triples", "rest"])],
        stages={
            "whole": Stage("finetune/solver.py", 60, sees="text", settings=settings, name="whole"),
            "triples": Stage("finetune/solver.py", 30, 3, sees="text", settings=triples, name="triples"),
            "rest": Stage("finetune/solver.py", 30, sees="text", settings=settings, name="rest"),
        },
        name="problems",
    )


@pytest.mark.slow
def test_a_suite_of_solvers(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both rows see as many problems, those of a triple counted; what is finished is not trained again."""
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    bank = str(write_problems(tmp_path / "bank.jsonl"))
    *_, results = Bench(suite, bank, tmp_path / "out", ROOT, ENCODING).run(1)
    assert [result.errors for result in results] == [[], []]
    assert [[cost.questions for cost in result.costs[0]] for result in results] == [[60], [30, 30]]
    assert all(len(result.solved[0].problems) == 24 for result in results)
    bench = Bench(suite, bank, tmp_path / "out", ROOT, ENCODING)
    assert "solved are 24 of test" in bench.facts(results)["bank"]

    # One whose scores are lost is measured anew, from the model that is there.
    (tmp_path / "out" / "scores" / f"{results[0].finished[0].key}.json").unlink()
    capsys.readouterr()
    *_, again = bench.run(1)
    assert "measured before" in capsys.readouterr().err
    assert [result.to_dict() for result in again] == [result.to_dict() for result in results]
    assert len(list((tmp_path / "out" / "trainings").iterdir())) == 3


def test_folds_say_what_is_left_out(suite: Suite, tmp_path: Path) -> None:
    records = [json.loads(line) for line in write_problems(tmp_path / "bank.jsonl", 15).read_text().splitlines()]
    records[1]["equation"] = "3+"
    (tmp_path / "bank.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    bank = load_bank(tmp_path / "bank.jsonl")
    benches = [
        Bench(suite, str(file), tmp_path / "out", ROOT, ENCODING, fold=fold)
        for fold, file in enumerate(save_folds(bank, 3, tmp_path / "folds"), 1)
    ]
    assert sorted(bench.measure.left_out for bench in benches) == [0, 0, 1]
    assert "problems of it whose equations cannot be read" in fold_facts(bank, benches, [])["bank"]


def test_the_bilingual_table_pools_what_the_paper_tells_apart() -> None:
    suite = load_suite(ROOT / "configs" / "tables" / "mwp-bilingual.yaml")
    assert [row.paper for row in suite.rows] == [None, None]


def test_what_cannot_be_measured(suite: Suite, tmp_path: Path) -> None:
    bank = tmp_path / "bank.jsonl"
    bank.write_text(json.dumps({"id": "a", "stem": "Who is it?", "split": "test"}) + "\n")
    with pytest.raises(ValueError, match="no problem of split 'test' has an equation"):
        Bench(suite, str(bank), tmp_path / "out", ROOT, ENCODING)
    suite.rows = [Row("start", source="encoder:minilm")]
    with pytest.raises(SuiteError, match="row start: source: is no solver"):
        Bench(suite, str(bank), tmp_path / "out", ROOT, ENCODING)
    with pytest.raises(ValueError, match="solved: not beside recall"):
        Suite("T", "bank", solved=True, recall=5)
    with pytest.raises(ValueError, match="per_item"):
        Stage("finetune/solver.py", 5, per_item=0)
