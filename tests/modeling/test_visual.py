"""The convolutions take figures a few at a time, where that changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from tqnet.modeling.model import TQNetModel
from tqnet.modeling.visual import split_batchnorm


def figures_at_a_time(visual: nn.Module) -> list[int]:
    """Filled with how many figures each pass of the backbone takes."""
    seen: list[int] = []
    stem = next(module for module in visual.modules() if isinstance(module, nn.Conv2d))
    stem.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    return seen


@pytest.mark.parametrize("norm", ["frozen", "group"])
def test_what_knows_no_batch_passes_in_parts(norm: str, build_tiny: Callable[..., TQNetModel]) -> None:
    visual = build_tiny(awake=True, visual_norm=norm).visual.train()
    pixels = torch.randn(37, 3, 32, 32)
    alone = [visual.backbone.forward_features(pixels[i : i + 1]) for i in range(len(pixels))]
    seen = figures_at_a_time(visual)
    cells = visual.cells(pixels)
    assert seen == [16, 16, 5]
    expected = torch.cat(alone).flatten(2).transpose(1, 2)
    torch.testing.assert_close(cells, expected)
    weights = [weight for weight in visual.backbone.parameters() if weight.requires_grad]
    given, wanted = (torch.autograd.grad(of.square().sum(), weights) for of in (cells, expected))
    for ours, theirs in zip(given, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("splits", [0, 2])
def test_batch_norm_sees_the_batch(splits: int, build_tiny: Callable[..., TQNetModel]) -> None:
    visual = build_tiny(visual_norm="batch").visual.train()
    if splits:
        split_batchnorm(visual, splits)
    seen = figures_at_a_time(visual)
    pixels = torch.randn(37, 3, 32, 32)
    visual.cells(pixels)
    assert seen == [37]
    counts: list[Tensor] = [of for name, of in visual.named_buffers() if name.endswith("num_batches_tracked")]
    assert {int(count) for count in counts} == {max(1, splits)}
    visual.eval().cells(pixels)
    assert seen == [37, 16, 16, 5]
