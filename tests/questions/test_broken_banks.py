"""Each folder of ``tests/broken_banks`` has one kind of fault; its ``expected.txt`` is what `tqnet check` says."""

from pathlib import Path

import pytest

from tqnet.cli import main

FOLDER = Path(__file__).parents[1] / "broken_banks"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_faults(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(FOLDER)
    options = ["--unique-names"] if name.startswith("unique_names") else []
    assert main(["check", name, *options]) == 1
    faults = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name}/")]
    assert faults == (FOLDER / name / "expected.txt").read_text(encoding="utf-8").splitlines()
