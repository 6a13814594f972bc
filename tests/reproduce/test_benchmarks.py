"""The benchmarks run, and divide and count what they should."""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from reproduce.benchmarks import mfu, paraphrase, quesco, score, spelling, versions
from reproduce.benchmarks.harness import open_recipe
from reproduce.benchmarks.shares import PARTS, Stopwatch
from tests.recipes.conftest import ROOT, TINY
from tqnet.augment.strategies import GROUPS
from tqnet.config import ConfigError
from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.questions.paraphrase_pairs import ParaphrasePair
from tqnet.search.background import Words
from tqnet.training.config import RecipeConfig, RunConfig

BATCH, INPUTS, OUTPUTS = 16, 64, 32


def linear_recipe(steps: int) -> ModuleType:
    def main(config: RecipeConfig) -> None:
        layer = nn.Linear(INPUTS, OUTPUTS)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            layer(torch.ones(BATCH, INPUTS)).sum().backward()
            optimizer.step()

    recipe = ModuleType("linear")
    recipe.__dict__["main"] = main
    return recipe


def test_mfu_counts_forward_and_backward(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seconds = iter(range(0, 100, 2))
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    config = RecipeConfig(run=RunConfig(out=str(tmp_path), precision="fp32"))
    report = mfu.utilisation(linear_recipe(4), config, peak=1e-6)
    operations = 2 * (2 * BATCH * INPUTS * OUTPUTS)  # forwards, and the gradient of the weights
    assert report["tflop_per_step"] == pytest.approx(operations / 1e12, rel=1e-3)
    assert report["seconds_per_step"] == 2
    assert report["mfu"] == pytest.approx(operations / 2 / 1e6, rel=1e-3)


def test_mfu_measures_the_peak_without_a_data_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mfu, "SIDE", 64)
    peak, method = mfu._peak("fp32")
    assert peak > 0
    assert method == "a product of two fp32 matrices of side 64"


def test_versions_are_compared_by_medians_and_one_peak() -> None:
    reports = [{"questions_per_step": 64, "tflop_per_step": 1.0, "seconds_per_step": s} for s in (2.0, 9.0, 4.0)]
    assert versions.summary(reports, peak=0.5) == {"questions_per_second": 16.0, "mfu": 0.5}


@pytest.mark.skipif(not Path(".git").exists(), reason="not a git checkout")
def test_versions_are_checked_out_and_removed() -> None:
    with versions.worktrees({"now": "HEAD"}) as roots:
        assert (roots["now"] / "pretrain" / "moco.py").is_file()
    assert not roots["now"].exists()


def test_stopwatch_times_a_module_forwards_and_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))  # one second passes between two readings
    watch, layer = Stopwatch(), nn.Linear(2, 2)
    watch.watch("text", layer, None)
    for _ in range(2):  # the first step is not counted
        layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
        with torch.no_grad():
            layer(torch.ones(1, 2))
        watch.optimizer_begins()
        watch.optimizer_ends()
    assert watch.steps == 1
    assert watch.seconds == {"text": 2, "keys": 1, "optimizer": 1}
    assert watch.total > sum(watch.seconds.values())


@pytest.mark.slow
def test_shares_divide_all_time_of_a_recipe(tmp_path: Path) -> None:
    settings = [*TINY, "data.bank=assets/sample", "queue=32", "run.max_steps=4", f"run.out={tmp_path}"]
    command = [sys.executable, "-m", "reproduce.benchmarks.shares", "./pretrain/moco.py", *settings]
    report = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert report["steps"] == 3
    parts = report["shares_of_time"]
    assert parts.keys() == set(PARTS)
    assert sum(parts.values()) == pytest.approx(1, abs=0.01)
    assert all(parts[name] for name in PARTS if name not in ("loss", "other")), parts


def test_a_single_step_cannot_be_timed() -> None:
    settings = ["data.bank=assets/sample", "run.out=out", "run.max_steps=1"]
    with pytest.raises(ConfigError, match=r"run\.max_steps: a single step leaves nothing to clock"):
        open_recipe(argparse.ArgumentParser(), ROOT / "finetune" / "similar.py", settings)


def test_quesco_times_every_group_of_strategies() -> None:
    bank = QuestionBank.load(ROOT / "assets" / "sample").select(range(40))
    assert quesco.loss(bank, batch_size=4, size=100, dimension=8) > 0
    milliseconds = quesco.augmentation(bank, probability=1.0)
    assert milliseconds.keys() == {*GROUPS, "all"}
    assert min(milliseconds.values()) > 0


def test_paraphrase_operators_are_counted() -> None:
    pytest.importorskip("spacy")
    texts = ["Tom ran 5 km in May. How many hours did Tom run?", "Ann ate 3 of 7 apples. Why?"]
    report = paraphrase.measure(texts, epochs=2)
    assert report["triplets"] == 4
    assert report["operators"]["f4"]["applies"] == 0.5
    assert {"f2", "f3", "f6", "f7", "f8", "f10", "f_a", "f_c", "f_d"} <= report["operators"].keys()


def test_scoring_is_compared_with_encoding(tiny_model: TQNetModel) -> None:
    pytest.importorskip("spacy")
    pairs = [ParaphrasePair("Tom ran 5 km. How far?", "Tom ran five km. How far?", 1, "1")]
    report = score.compare(tiny_model, pairs, batch_size=2, precision="fp32", rounds=1)
    assert report["pairs_per_second"].keys() == {"encoding alone", "scoring", "scoring and explaining"}
    assert min(report["ratios"].values()) > 0


def test_spelling_counts_every_misspelt_and_every_changed_word() -> None:
    counts = Words({"the": 100, "evaluate": 90, "integral": 80, "parallelogram": 70})
    fates = spelling.restored(["Evaluate the integral", "parallelogram $x$", "$x$"] * 20, counts, seed=0)
    assert 40 <= fates.pop("words") <= 60
    assert sum(fates.values()) == pytest.approx(1, abs=0.002)
    assert fates["restored"] > 0.7
    changed = spelling.changed(["evaluate the secant", "the intergal"], counts)
    assert changed == {"words": 5, "changed": 1, "share": 0.2, "changes": {"intergal -> integral": 1}}
