"""The report on an accelerator, dry on a processor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes.conftest import ROOT
from tqnet.questions import QuestionBank


@pytest.mark.slow
def test_a_dry_run(sample_bank: QuestionBank, tmp_path: Path) -> None:
    """Every part works, and a second call repeats those that failed."""
    command = [sys.executable, "-m", "reproduce.benchmarks.gpu", "--bank", str(ROOT / "assets/sample"), "--dry-run"]
    command += ["--out", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert len(report) == 18
    assert not [name for name, part in report.items() if str(part).startswith("failed")]
    assert all(part["as on a processor"] for name, part in report.items() if name.startswith("correctness"))
    assert report["resume"]["as if never stopped"]
    assert all(part["mfu"] > 0 for name, part in report.items() if name.endswith(("MiniLM", "encoders")))
    again = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    assert json.loads(again.stdout) == report
    assert not again.stderr
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report | {"resume": "failed: once"}), encoding="utf-8")
    again = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    assert json.loads(again.stdout) == report
    file.write_text(json.dumps(report | {"bank": "another"}), encoding="utf-8")
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "begun on another device or bank" in refused.stderr
