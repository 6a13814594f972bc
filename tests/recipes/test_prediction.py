"""All the road: training, heads, the import of what learning platforms export, and predictions of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from finetune import heads
from tests.importers.generators import awkward_quiz, qti2_package, qti3_package
from tests.recipes.conftest import WHOLE_SAMPLE, Run
from tqnet.cli import main
from tqnet.config import load_config
from tqnet.questions import QuestionBank

pytest.importorskip("lxml")


@pytest.mark.slow
def test_exports_of_platforms_are_imported_and_predicted(train: Callable[..., Run], tmp_path: Path) -> None:
    """Tables, nested lists, MathML, figures within the file, missing answers."""
    run = train("finetune.knowledge", WHOLE_SAMPLE, "run.max_steps=3", "run.eval_every=3")
    model = str(run.out / "model")
    given = [WHOLE_SAMPLE, f"model={model}", "precision=fp32"]
    heads.main(load_config(heads.HeadsConfig, [], given))
    (tmp_path / "quiz.xml").write_text(awkward_quiz(), encoding="utf-8")
    for source in (tmp_path / "quiz.xml", qti2_package(tmp_path / "two.zip"), qti3_package(tmp_path / "three.zip")):
        bank, out = tmp_path / f"bank-{source.stem}", tmp_path / f"{source.stem}.jsonl"
        assert main(["import", str(source), "--out", str(bank)]) == 0
        call = ["predict", "--model", model, "--bank", str(bank), "--out", str(out), "--device", "cpu"]
        assert main([*call, "--precision", "fp32"]) == 0
        records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert [record["id"] for record in records] == QuestionBank.load(bank).ids
        for record in records:
            levels = [level["concepts"] for level in record["knowledge"]]
            chance = {tuple(concept["path"]): concept["probability"] for concepts in levels for concept in concepts}
            assert all(len(concepts) == 3 for concepts in levels[:2])
            assert all(chance[path] <= chance.get(path[:-1], 1) for path in chance)
            assert record["difficulty"]["low"] <= record["difficulty"]["value"] <= record["difficulty"]["high"]
