"""A short run of every recipe: its first losses, written down; what it leaves behind; that it goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from tests.recipes.conftest import GOLDEN, ROOT, Run, golden_settings, run_recipe
from tqnet.hub.card import is_own

each_recipe = pytest.mark.parametrize("recipe", GOLDEN, ids=" ".join)


@each_recipe
def test_first_losses(recipe: tuple[str, ...], golden: Callable[..., Run]) -> None:
    """A change of sampling, augmentation, model or loss shows."""
    assert golden(*recipe).losses == pytest.approx(GOLDEN[recipe], rel=5e-3)


@each_recipe
def test_resumed_is_as_if_never_stopped(recipe: tuple[str, ...], golden: Callable[..., Run], tmp_path: Path) -> None:
    uninterrupted, name = golden(*recipe), recipe[0]
    resumed = uninterrupted.killed(tmp_path / uninterrupted.out.name)
    assert resumed.state["step"] == 3
    workers = 2 if name in ("pretrain.moco", "finetune.pairs") else 0  # which change nothing
    settings = [*golden_settings(*recipe[1:]), f"data.workers={workers}", "run.resume=true"]
    run_recipe(name, *settings, f"run.out={resumed.out}")
    assert resumed.same_weights(uninterrupted)
    assert resumed.learning == uninterrupted.learning


@each_recipe
def test_what_a_run_leaves_behind(recipe: tuple[str, ...], golden: Callable[..., Run]) -> None:
    run = golden(*recipe)
    assert all(math.isfinite(value) for record in run.records for value in record.values())
    assert run.records[-1]["step"] == run.state["step"] == 4
    assert OmegaConf.load(run.out / "config.yaml").run.max_steps == 4
    facts = json.loads((run.out / "run.json").read_text())
    assert facts["versions"].keys() >= {"tqnet", "torch", "transformers", "python"}
    assert len(facts["bank"]["fingerprint"]) == 16
    vectors = run.model.encode(["Find $x$ if $2x=6$.", "解方程"])
    assert vectors.shape == (2, 48)
    assert np.isfinite(vectors).all()
    card = run.out / "model" / "README.md"
    text = card.read_text(encoding="utf-8")
    assert is_own(card)
    assert "library_name: tqnet" in text
    assert f"`{recipe[0].replace('.', '/')}.py`" in text
    assert not any(str(path) in text for path in (run.out.parent, ROOT))
