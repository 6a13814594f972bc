"""A step waits for nothing that a device has still to compute."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.recipes.conftest import Run
from tqnet.training.loop import TrainingLoop

#: Operations whose result, or its size, the host must know: an accelerator has to finish its work first.
WAITING = {
    "aten::_local_scalar_dense",  # item(), int(), float(), bool(), tolist()
    "aten::is_nonzero",
    "aten::equal",
    "aten::nonzero",  # also rows of a bool mask
    "aten::masked_select",
    "aten::unique_consecutive",
    "aten::_unique2",
}


#: Functions whose tensors never leave the host.
ON_HOST = {"draw_pairs"}


class Waits(TorchDispatchMode):
    """Counts operations that wait, by the line of the project that asked."""

    def __init__(self) -> None:
        super().__init__()
        self.places: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().partition(".")[0]
        indexes = name in ("aten::index", "aten::index_put", "aten::index_put_")
        by_mask = indexes and any(rows is not None and rows.dtype == torch.bool for rows in args[1])
        if by_mask or name in WAITING:
            stack = [frame for frame in traceback.extract_stack() if "/torch/" not in frame.filename]
            if not any(frame.name in ON_HOST for frame in stack):
                self.places[f"{name} at {stack[-2].filename}:{stack[-2].lineno}"] += 1
        return func(*args, **kwargs or {})


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    """Count from the second batch of a run on the device to the end of the body of the loop."""
    waits, batches = Waits(), TrainingLoop.batches

    def measured(loop: TrainingLoop, first: int, stop: int) -> Iterator[Any]:
        for number, batch in enumerate(batches(loop, first, stop)):
            if first or number == 0:  # keys that fill a queue; what is looked at once
                yield batch
            else:
                with waits:
                    yield batch

    monkeypatch.setattr(TrainingLoop, "batches", measured)
    yield waits


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("pretrain.mlm", []),
        ("pretrain.moco", ["queue=32", "bn_splits=1"]),
        ("pretrain.moco", ["queue=8", "mode=seq", "bn_splits=1"]),
        ("pretrain.quesco", ["queue=32", "bn_splits=1"]),
        ("pretrain.consert", []),
        ("pretrain.clip", []),
        ("finetune.similar", ["concept_weight=0.5", "block=2"]),
        ("finetune.similar", ["objective=pair"]),
        ("finetune.similar", ["chunk=4"]),
    ],
)
def test_no_step_waits_for_the_device(
    recipe: str, settings: list[str], train: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    with counted(monkeypatch) as waits:
        train(recipe, *settings, "run.max_steps=3", "run.epochs=3", "run.log_every=100", "run.eval_every=100")
    assert not waits.places
