"""Commands with something wrong: those of the table that fail early, here; some that are interrupted, as processes.

``python -m tests.faults.trial WORD ..`` tries the cases whose names begin with one of the words, or all of them.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import materials
from tests.faults.table import Case, cases
from tests.faults.trial import is_clear
from tqnet.cli import main

pytest.importorskip("lancedb")

#: Faults that are found before anything is computed.
EARLY = ("unknown option value", "unknown setting", "configuration", "output where none can be")


def is_early(case: Case) -> bool:
    return case.fault.startswith(EARLY) or (case.fault.endswith((": not there", ": an empty folder")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("faults") / "materials"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TQNET_CACHE", str(made.parent / "cache"))
        materials.make(made, main)
    return made


@pytest.fixture
def place(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a case runs, with links to what is there."""
    for name in os.listdir(folder):
        if (folder / name).is_file():
            shutil.copy(folder / name, tmp_path / name)
        else:
            (tmp_path / name).symlink_to(folder / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TQNET_CACHE", str(folder.parent / "cache"))
    monkeypatch.delenv("TQNET_DEBUG", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if is_early(case) and not case.command.endswith(".py")],
    ids=lambda case: case.id,
)
def test_what_is_wrong_is_one_line(case: Case, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = sorted(place.rglob("*"))
    try:
        code = main(list(case.argv))
    except SystemExit as error:  # argparse
        code = int(str(error.code))
    lines = capfd.readouterr().err.splitlines()
    assert code in case.codes, lines
    assert is_clear(case, code, lines), lines
    assert sorted(path for path in place.rglob("*") if path.is_file()) == [path for path in before if path.is_file()]


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in cases()
        if case.command in ("pretrain/mlm.py", "finetune/solver.py", "finetune/probe.py") and is_early(case)
    ],
    ids=lambda case: case.id,
)
def test_recipes_too(
    case: Case, place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", list(case.argv))
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(materials.ROOT / case.argv[0]), run_name="__main__")
    lines = capfd.readouterr().err.splitlines()
    assert caught.value.code in case.codes, lines
    assert is_clear(case, int(str(caught.value.code)), lines), lines


def test_what_befalls_a_process(folder: Path) -> None:
    """A full disk, Ctrl-C and a closed pipe end a command with its code and a line, and leave no half of a file."""
    kinds = ["merge: full disk", "merge: closed pipe", "solve: full disk", "solve: Ctrl-C"]
    code = (
        "import sys; from pathlib import Path; from tests.faults.trial import outcomes\n"
        f"found = list(outcomes(Path({str(folder)!r}), sys.argv[1:]))\n"
        "print(*(f'{case.id} {outcome}' for case, outcome in found if not outcome.right), sep='\\n')\n"
        "sys.exit(len(found))"
    )
    finished = subprocess.run([sys.executable, "-c", code, *kinds], cwd=materials.ROOT, capture_output=True, text=True)
    assert finished.returncode == len(kinds), finished.stderr
    assert not finished.stdout.strip()
