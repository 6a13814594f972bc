"""Cards of single folders: what is told, what is kept, what is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import ModelCard

from tqnet.cli import main
from tqnet.hub.card import is_own, put, without_paths, write_card
from tqnet.hub.lineage import lineage, short_name
from tqnet.modeling.build import build_model
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pairs import PairClassifier
from tqnet.modeling.settings import ModelConfig
from tqnet.search.ranker import CrossEncoder
from tqnet.solver.model import WordProblemSolver
from tqnet.solver.problems import Alphabet
from tqnet.training.provenance import bank_licence

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def solver(_: TQNetModel) -> WordProblemSolver:
    shape = ModelConfig(text="scratch", visual=None, fusion="none", vocabulary_min_count=0, max_length=60)
    shape.scratch_hidden, shape.scratch_layers = 32, 1
    torch.manual_seed(0)
    return WordProblemSolver(build_model(shape, ["Tom has 3 pens and buys 5 more."])[0], Alphabet(("1",)))


@pytest.mark.parametrize(
    ("make", "sentence", "pipeline"),
    [
        (lambda model: CrossEncoder(model, length=60), "A ranker, which reads two questions as one", "text-ranking"),
        (lambda model: PairClassifier(model, 16, 0.0), "A classifier of pairs of questions", "text-classification"),
        (solver, "A solver of word problems", None),
    ],
    ids=["ranker", "pairs", "solver"],
)
def test_models_that_are_no_encoders(
    tiny_model: TQNetModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., Any],
    sentence: str,
    pipeline: str | None,
) -> None:
    folder = tmp_path / "run" / "model"
    make(tiny_model).save_pretrained(folder)
    assert main(["card", str(folder)]) == 0
    card = ModelCard.load(folder / "README.md")
    assert sentence in card.text
    assert "# run" in card.text
    assert card.data.to_dict().get("pipeline_tag") == pipeline
    assert "sentence-transformers" not in card.text
    assert "whose training is unknown" in card.text
    monkeypatch.chdir(folder)
    exec("\n".join(CODE.findall(card.text)), {})


def test_a_card_that_was_changed_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    assert put(file, "# One\n")
    assert is_own(file)
    assert put(file, "# Two\n")
    file.write_text(file.read_text().replace("Two", "Three"))
    assert not is_own(file)
    assert not put(file, "# Four\n")
    assert "# Three" in file.read_text()
    assert put(file, "# Four\n", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def make_run(folder: Path, start: str | None, out: str) -> None:
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "config.json").write_text('{"model_type": "tqnet"}')
    facts = {"command": "/home/somebody/pretrain/moco.py --config x.yaml", "bank": {"name": "b", "questions": 3}}
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "config.yaml").write_text(
        yaml.safe_dump({"model": {"start": start, "text": "minilm"}, "run": {"out": out}})
    )
    records = [
        {"step": 0, "valid/p@5": 0.9},
        {"step": 10, "loss": 1.0, "questions": 80, "questions_per_second": 4.0},
        {"step": 10, "valid/p@5": 0.5, "valid/mrr": 0.1},
        {"step": 20, "valid/p@5": 0.5, "valid/mrr": 0.2},
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def test_stages_of_runs_of_an_earlier_version(tmp_path: Path) -> None:
    """Relative to where the command was given, which is not where the card is written."""
    make_run(tmp_path / "runs" / "one", None, "runs/one")
    make_run(tmp_path / "runs" / "two", "runs/one/model", "runs/two")
    ancestry = lineage(tmp_path / "runs" / "two")
    assert [(stage.recipe, stage.run) for stage in ancestry.stages] == [
        ("pretrain/moco.py", "one"),
        ("pretrain/moco.py", "two"),
    ]
    assert ancestry.lost is None
    last = ancestry.stages[-1]
    assert (last.step, dict(last.valid), dict(last.before)) == (
        10,
        {"valid/p@5": 0.5, "valid/mrr": 0.1},
        {"valid/p@5": 0.9},
    )
    assert last.minutes == pytest.approx(80 / 4 / 60)
    facts = json.loads((tmp_path / "runs" / "two" / "run.json").read_text())
    (tmp_path / "runs" / "two" / "run.json").write_text(json.dumps(facts | {"start": "0" * 16}))
    changed = lineage(tmp_path / "runs" / "two")
    assert (len(changed.stages), changed.lost) == (1, "one, which has changed since")


def test_a_run_that_starts_from_itself_ends(tmp_path: Path) -> None:
    make_run(tmp_path / "one", str(tmp_path / "one" / "model"), str(tmp_path / "one"))
    assert len(lineage(tmp_path / "one").stages) == 1


def test_settings_tell_no_path(tmp_path: Path) -> None:
    settings = {
        "model": {"text": "bert/base", "visual": "resnet18", "start": "/home/me/runs/moco/model"},
        "data": {"bank": str(tmp_path), "held_out": ["../a/b.jsonl"], "pairs": None},
        "optim": {"lr": 1e-3},
    }
    assert without_paths(settings) == {
        "model": {"text": "bert/base", "visual": "resnet18", "start": "moco"},
        "data": {"bank": tmp_path.name, "held_out": ["b.jsonl"], "pairs": None},
        "optim": {"lr": 1e-3},
    }
    assert short_name("model") == "model"


def test_a_bank_says_its_licence(tmp_path: Path) -> None:
    assert bank_licence(str(tmp_path)) is None
    (tmp_path / "README.md").write_text("# No head\n")
    assert bank_licence(str(tmp_path)) is None
    (tmp_path / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n# Bank\n")
    assert bank_licence(str(tmp_path)) == bank_licence(str(tmp_path / "questions.jsonl")) == "cc-by-4.0"


def test_results_are_added(tiny_model: TQNetModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, results = tmp_path / "model", tmp_path / "results.json"
    tiny_model.save_pretrained(model)
    overall = {"precision": 0.5, "mrr": 0.75, "recall": None, "ndcg": 0.25, "queries": 1234}
    similar = {"k": 5, "depth": 100, "split": "test", "overall": overall}
    probe = {"levels": [{"level": 2, "scores": {"micro_f1": 0.625}}]}
    stages = {"mine": {"similar": similar, "probe": probe}, "other": {"similar": None, "probe": None}}

    def card(*arguments: str) -> str:
        results.write_text(json.dumps({"made_by": {"bank": "opl, 5 questions"}, "stages": stages}))
        assert main(["card", str(model), *arguments]) == 0
        return (model / "README.md").read_text()

    added = ["--results", str(results), "--name", "mine"]
    text = card(*added)
    assert "## Measured afterwards: opl, 5 questions" in text
    for row in ("P@5 | 0.500 |", "MRR@100 | 0.750 |", "queries | 1,234 |", "level 2: micro F1 | 0.625 |"):
        assert row in text
    assert "R@5" not in text

    # What one call has stated, the next one keeps, until the weights are new.
    stated = card("--license", "cc-by-4.0")
    assert "license: cc-by-4.0" in stated
    assert stated.split("## Training")[1].split("<!--")[0] == text.split("## Training")[1].split("<!--")[0]
    overall["precision"] = 0.25
    text = card(*added)
    assert "license: cc-by-4.0" in text
    assert "P@5 | 0.250 |" in text
    assert text.count("P@5") == text.count("## Measured afterwards") == 1
    assert write_card(model)
    text = (model / "README.md").read_text()
    assert "license: cc-by-4.0" in text
    assert "Measured afterwards" not in text
    for folder, arguments, message in (
        (model, [*added[:3], "nobody"], "--name: 'nobody' is not one of mine, other"),
        (model, ["--results", str(model / "config.json")], "not results of tqnet evaluate stages"),
        (model, ["--results", str(tmp_path / "gone.json")], "gone.json"),
        (tmp_path, [], "no model here (config.json is missing)"),
    ):
        assert main(["card", str(folder), *arguments]) == 2
        assert message in capsys.readouterr().err
