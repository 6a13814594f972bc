"""``tqnet index versions`` and ``tqnet index use``, and what a second writer is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import FAST, Tqnet, WriteBank
from tests.cli.test_search import ROOT, killed_when, states
from tqnet.questions import QuestionBank
from tqnet.search.index import Index
from tqnet.search.versions import writing


@pytest.fixture
def index(model_folder: str, write_bank: WriteBank, tmp_path: Path, tqnet: Tqnet) -> Path:
    """Of two versions: with 14 questions and with 5."""
    folder = tmp_path / "index"
    for count in (14, 5):
        tqnet("index", write_bank(count), "--model", model_folder, "--out", folder, "--replace", *FAST)
    return folder


def listed(tqnet: Tqnet, index: Path) -> dict[str, list[str]]:
    lines = tqnet("index", "versions", index).splitlines()[2:]
    return {cells[0]: cells[1:] for line in lines if (cells := re.split(r"  +", line.strip()))}


def test_a_list_and_a_switch(index: Path, model_folder: str, tqnet: Tqnet) -> None:
    versions = listed(tqnet, index)
    assert versions.keys() == {"1", "2"}
    assert versions["2"][0] == "current"
    assert "14" in versions["1"]
    assert "5" in versions["2"]
    assert all(any(cell.startswith(model_folder) for cell in cells) for cells in versions.values())
    assert "version 1 is current: own, 14 questions" in tqnet("index", "use", index, "previous")
    assert listed(tqnet, index)["1"][0] == "current"
    assert len(tqnet.json("search", index, "--id", "q01", "-k", "20", "--unfolded", *FAST)["results"]) > 5
    assert "no version 7; it has 1, 2" in tqnet.fails("index", "use", index, "7")


def test_a_damaged_version_is_left(index: Path, tqnet: Tqnet) -> None:
    for file in (index / "2" / "lance").rglob("*.manifest"):
        file.write_bytes(b"nonsense")
    assert "2/lance: no readable index" in tqnet.fails("search", index, "--id", "q01")
    tqnet("index", "use", index, "1")
    assert "2/lance: no readable index" in tqnet.fails("index", "use", index, "2")
    assert Index(index).engine.count() == 14


def test_how_many_are_kept(index: Path, model_folder: str, write_bank: WriteBank, tqnet: Tqnet) -> None:
    build = ["index", write_bank(3), "--model", model_folder, "--out", index, "--replace", *FAST]
    tqnet(*build, "--keep", "2")
    assert listed(tqnet, index).keys() == {"1", "2", "3"}
    tqnet(*build)
    assert listed(tqnet, index).keys() == {"3", "4"}
    assert "0 is less than 1" in tqnet.fails(*build, "--keep", "0")


def test_a_second_writer(index: Path, model_folder: str, write_bank: WriteBank, tmp_path: Path, tqnet: Tqnet) -> None:
    bank = write_bank(4)
    calls = [
        ["build", bank, "--model", model_folder, "--out", index, "--replace", *FAST],
        *([verb, index, bank, *FAST] for verb in ("add", "update", "sync")),
        ["delete", index, "q01"],
        ["precompute", index],
        ["export", index, tmp_path / "out"],
        ["use", index, "1"],
    ]
    with writing(index):
        for call in calls:
            assert "another process writes to this index" in tqnet.fails("index", *call, code=3)
        assert listed(tqnet, index)["2"][0] == "current"  # reads alone
        assert "another process" in tqnet.fails("index", "delete", index, "q01", "--wait", "0.2", code=3)
        command = [sys.executable, "-m", "tqnet.cli", "index", "delete", str(index), "q01", "--wait", "60"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        waiting = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(3)
    assert "1 deleted, 4 left" in waiting.communicate()[0]
    assert waiting.returncode == 0


@pytest.mark.slow
def test_a_killed_build_leaves_what_is_searched(
    index: Path, model_folder: str, sample_bank: QuestionBank, tmp_path: Path, tqnet: Tqnet
) -> None:
    sample_bank.save(tmp_path / "bank.jsonl")
    call = ("index", str(tmp_path / "bank.jsonl"), "--model", model_folder, "--out", str(index), "--replace", *FAST)
    shards, before = tmp_path / "index.building", states(index)
    killed_when(lambda: len(list(shards.glob("vectors-*.npy"))) >= 3, *call)
    assert states(index) == before
    assert listed(tqnet, index)["2"][0] == "current"
    tqnet(*call)
    assert listed(tqnet, index).keys() == {"2", "3"}
    assert sorted(states(index)) == sorted(sample_bank.ids)
    assert not shards.exists()
