"""The losses of the recipes' first steps, written down: a change of sampling, augmentation, model or loss shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

#: Recipe and settings -> losses at steps 2 and 4. They change with what a recipe draws, hardly with a library.
GOLDEN = {
    ("pretrain.mlm",): [7.464, 7.410],
    ("pretrain.autoencoder", "target=32"): [2.982, 2.519],
    ("pretrain.moco", "queue=64", "bn_splits=1"): [3.902, 4.100],
    ("pretrain.moco", "queue=64", "bn_splits=1", "mode=seq"): [5.016, 5.686],
    ("pretrain.quesco", "queue=64", "bn_splits=1"): [2.497, 3.059],
    ("pretrain.consert",): [3.023, 3.162],
    ("pretrain.disenqnet",): [6.232, 6.355],
    ("pretrain.clip",): [2.792, 2.869],
    ("pretrain.multitask",): [14.710, 15.085],
    ("pretrain.quesnet", "stage=embedding", "target=32"): [5.856, 5.960],
    ("pretrain.quesnet", "stage=holes", "target=32"): [9.145, 9.187],
    ("finetune.similar", "concept_weight=0.5"): [3.815, 3.650],
    ("finetune.similar", "objective=pair"): [0.660, 0.643],
    ("finetune.knowledge",): [3.704, 3.765],
    ("finetune.pairs",): [1.343, 1.392],
    ("finetune.pairs", "frozen=false"): [1.348, 1.392],
}


@pytest.mark.parametrize(("recipe_and_settings", "losses"), GOLDEN.items(), ids=map(" ".join, GOLDEN))
def test_first_losses(recipe_and_settings: tuple[str, ...], losses: list[float], train: Callable[..., Any]) -> None:
    name, *settings = recipe_and_settings
    run = train(name, *settings, "run.max_steps=4", "run.log_every=2", "optim.lr=1e-3", "optim.text_lr=1e-3")
    assert run.losses == pytest.approx(losses, rel=5e-3)
