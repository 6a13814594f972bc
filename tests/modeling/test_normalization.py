"""Split batch norm is batch norm of each part; frozen and group norm know no batch at all."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from timm.layers import BatchNormAct2d
from torch import nn

from tqnet.modeling.model import TQNetModel
from tqnet.modeling.visual import (
    FrozenBatchNorm2d,
    SplitBatchNorm2d,
    convert_batchnorm,
    split_batchnorm,
    statistics_kept,
)

Build = Callable[..., TQNetModel]


def norm_of(channels: int = 5, kind: type[nn.BatchNorm2d] = nn.BatchNorm2d) -> nn.Sequential:
    torch.manual_seed(0)
    norm = nn.Sequential(kind(channels))
    nn.init.normal_(norm[0].weight)
    nn.init.normal_(norm[0].bias)
    return norm


@given(st.integers(1, 4), st.integers(0, 7))
def test_split_batch_norm_is_batch_norm_of_each_part(splits: int, more: int) -> None:
    images = torch.randn(8 * splits + more, 5, 3, 3) * 3 + 1
    plain = norm_of()
    split = copy.deepcopy(plain)
    split_batchnorm(split, splits)
    assert isinstance(split[0], SplitBatchNorm2d)
    expected = torch.cat([plain(part) for part in images.tensor_split(splits)])
    torch.testing.assert_close(split(images), expected)
    torch.testing.assert_close(split.state_dict(), plain.state_dict())
    torch.testing.assert_close(split.eval()(images), plain.eval()(images))


def test_one_part_says_nothing_of_the_others() -> None:
    split = norm_of()
    split_batchnorm(split, 2)
    images = torch.randn(16, 5, 3, 3)
    before = split(images)[:8]
    images[8:] *= 10
    assert torch.equal(split(images)[:8], before)


@pytest.mark.parametrize(("images", "parts"), [(31, 3), (16, 2), (15, 1), (1, 1)])
def test_too_few_images_make_fewer_parts_and_a_warning(images: int, parts: int) -> None:
    plain = norm_of()
    split = copy.deepcopy(plain)
    split_batchnorm(split, 4)
    batch = torch.randn(images, 5, 3, 3)
    with pytest.warns(UserWarning, match="too few images for 4 parts of 8"):
        normed = split(batch)
    torch.testing.assert_close(normed, torch.cat([plain(part) for part in batch.tensor_split(parts)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split.eval()(batch)


def test_frozen_norm_never_moves_and_is_the_same_in_training() -> None:
    norm = norm_of()
    norm[0].running_mean.normal_()
    norm[0].running_var.uniform_(0.5, 2)
    images = torch.randn(8, 5, 3, 3) + 4
    expected = norm.eval()(images)
    convert_batchnorm(norm, FrozenBatchNorm2d)
    before = {name: value.clone() for name, value in norm.named_buffers()}
    for training in (True, False):
        torch.testing.assert_close(norm.train(training)(images), expected)
    assert all(torch.equal(before[name], value) for name, value in norm.named_buffers())
    split_batchnorm(norm, 2)
    assert type(norm[0]) is FrozenBatchNorm2d


def test_kept_statistics_normalise_as_ever_and_stay() -> None:
    norm, images = norm_of(), torch.randn(8, 5, 3, 3) + 4
    norm(images)
    before = copy.deepcopy(norm.state_dict())
    with statistics_kept(norm):
        normed = norm(images)
        assert int(norm[0].num_batches_tracked) == 2
    torch.testing.assert_close(norm.state_dict(), before, rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="shapes"), statistics_kept(norm):
        nn.Sequential(norm, nn.Linear(1, 1))(images)
    torch.testing.assert_close(norm.state_dict(), before, rtol=0, atol=0)
    assert torch.equal(norm(images), normed)


@pytest.mark.parametrize(
    "convert", [lambda m: split_batchnorm(m, 2), lambda m: convert_batchnorm(m, FrozenBatchNorm2d)]
)
def test_an_activation_inside_a_norm_is_kept(convert: Callable[[nn.Module], None]) -> None:
    norm = norm_of(kind=BatchNormAct2d).eval()
    images = torch.randn(16, 5, 3, 3)
    expected = norm(images)
    assert (expected >= 0).all()
    convert(norm)
    torch.testing.assert_close(norm(images), expected)
    assert (norm.train()(images) >= 0).all()


@pytest.mark.parametrize("backbone", ["resnet10t", "resnet18"])
def test_a_group_norm_model_has_no_batch_norm(build_tiny: Build, backbone: str) -> None:
    model = build_tiny(visual=backbone, visual_norm="group")
    assert not any(isinstance(module, nn.BatchNorm2d) for module in model.modules())
    assert not [name for name, _ in model.visual.named_buffers()]
    images = torch.randn(4, 3, 64, 64)
    with torch.no_grad():
        model.train()
        torch.testing.assert_close(model.visual.cells(images)[:1], model.visual.cells(images[:1]))


def test_splitting_a_model_leaves_its_vectors_and_its_folder_as_they_are(tiny_model: TQNetModel) -> None:
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        expected = tiny_model.visual.cells(images)
        names = tiny_model.state_dict().keys()
        split_batchnorm(tiny_model.visual, 4)
        assert torch.equal(tiny_model.visual.cells(images), expected)
    assert tiny_model.state_dict().keys() == names
