"""One short run of every recipe: its first losses, written down; that it goes on from a checkpoint; its card."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recipes.conftest import GOLDEN, ROOT, Run, golden_settings, run_recipe
from tqnet.hub.card import is_own

each_recipe = pytest.mark.parametrize("recipe", GOLDEN, ids=" ".join)


@each_recipe
def test_first_losses(recipe: tuple[str, ...], golden: Callable[..., Run]) -> None:
    """A change of sampling, augmentation, model or loss shows."""
    assert golden(*recipe).losses == pytest.approx(GOLDEN[recipe], rel=5e-3)


@each_recipe
def test_resumed_is_as_if_never_stopped(recipe: tuple[str, ...], golden: Callable[..., Run], tmp_path: Path) -> None:
    whole, name = golden(*recipe), recipe[0]
    resumed = whole.killed(tmp_path / whole.out.name)
    assert resumed.state["step"] == 3
    workers = 2 if name in ("pretrain.moco", "pretrain.quesco", "finetune.pairs") else 0  # which change nothing
    settings = [*golden_settings(*recipe[1:]), f"data.workers={workers}", "run.resume=true"]
    run_recipe(name, *settings, f"run.out={resumed.out}")
    assert resumed.same_weights(whole)
    assert resumed.learning == whole.learning


@each_recipe
def test_the_card_names_no_path_of_this_machine(recipe: tuple[str, ...], golden: Callable[..., Run]) -> None:
    run = golden(*recipe)
    file = run.out / "model" / "README.md"
    text = file.read_text(encoding="utf-8")
    assert is_own(file)
    assert "library_name: tqnet" in text
    assert f"`{recipe[0].replace('.', '/')}.py`" in text
    assert not any(str(path) in text for path in (run.out.parent, ROOT))
