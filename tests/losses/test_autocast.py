"""Under autocast the losses are computed in fp32, and so to the bit as without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from tqnet.losses.pairs import cosine_triplet, euclidean_triplet

from tests.losses.conftest import unit
from tqnet.losses.contrastive import cross_modal_infonce, in_batch_infonce, infonce, supervised_contrastive

SIMILAR = torch.eye(8, dtype=torch.bool).roll(4, 0)
LOSSES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "infonce": lambda query, key, negatives: infonce(query, key, negatives, 0.07)[0],
    "in batch": lambda query, key, _: in_batch_infonce(query, key, 0.05)[0],
    "cross-modal": lambda text, visual, _: cross_modal_infonce(text, visual, 100.0)[0],
    "supervised": lambda features, *_: supervised_contrastive(
        features, torch.eye(8, dtype=torch.bool).roll(4, 0), 0.07
    ),
    "triplet, cosine": lambda *rows: cosine_triplet(*rows, 1.0),
    "triplet, euclidean": lambda *rows: euclidean_triplet(*rows, 1.0),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_is_in_fp32_under_autocast(name: str) -> None:
    rows = [unit(8, 64, seed=seed).float() for seed in range(3)]
    with torch.autocast("cpu", torch.bfloat16):
        loss = LOSSES[name](*rows)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, LOSSES[name](*rows))
