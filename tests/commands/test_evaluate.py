"""``tqnet evaluate``: what it prints and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tqnet.cli import main

FAST = ["--device", "cpu", "--precision", "fp32"]


def test_similar_as_json(model_folder: str, bank_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "similar", "--model", model_folder, "--bank", bank_folder, "--split", "test", *FAST]
    assert main([*call, "--json", "--no-baselines"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert list(results) == ["model"]
    assert results["model"]["similar"]["split"] == "test"
    assert 0 <= results["model"]["similar"]["overall"]["precision"] <= 1
    assert results["model"]["similar"]["overall"]["queries"] > 10


def test_probe_as_json(model_folder: str, bank_folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "probe", "--model", model_folder, "--bank", bank_folder, *FAST]
    assert main([*call, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert results["model"]["similar"] is None
    assert [level["level"] for level in results["model"]["probe"]["levels"]][:2] == [1, 2]


def test_stages(model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    call = ["evaluate", "stages", "words=tfidf", "bm25", f"scl={model_folder}", "--bank", bank_folder, *FAST]
    assert main([*call, "--out", str(out), "--title", "A title"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith(f"report: {out / 'report.html'}\n")
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert list(results["stages"]) == ["words", "bm25", "scl"]
    assert results["made_by"]["bank"].startswith(Path(bank_folder).name)
    table = (out / "results.md").read_text(encoding="utf-8")
    assert "| scl |" in table
    assert "<title>A title</title>" in (out / "report.html").read_text(encoding="utf-8")
