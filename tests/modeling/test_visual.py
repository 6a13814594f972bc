"""The visual stream: its convolutions, norms and projection, and figures of every kind."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from timm.layers import BatchNormAct2d
from torch import Tensor, nn

from tqnet.config import ConfigError
from tqnet.modeling.model import TQNetModel, fit_projection
from tqnet.modeling.pretrained import new_backbone
from tqnet.modeling.visual import (
    FrozenBatchNorm2d,
    SplitBatchNorm2d,
    TQNetImageProcessor,
    feature_cells,
    freeze_batchnorm,
    split_batchnorm,
    statistics_kept,
)
from tqnet.questions import QuestionBank
from tqnet.questions.images import fit_square, open_figure
from tqnet.training.config import OptimConfig
from tqnet.training.optim import freeze_streams


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
    given, wanted = (torch.autograd.grad(result.square().sum(), weights) for result in (cells, expected))
    for ours, theirs in zip(given, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)  # sums over the batch, in another order


@pytest.mark.parametrize("splits", [0, 2])
def test_batch_norm_sees_the_batch(splits: int, build_tiny: Callable[..., TQNetModel]) -> None:
    visual = build_tiny(visual_norm="batch").visual.train()
    if splits:
        split_batchnorm(visual, splits)
    seen = figures_at_a_time(visual)
    pixels = torch.randn(37, 3, 32, 32)
    visual.cells(pixels)
    assert seen == [37]
    counts: list[Tensor] = [buffer for name, buffer in visual.named_buffers() if name.endswith("num_batches_tracked")]
    assert {int(count) for count in counts} == {max(1, splits)}
    visual.eval().cells(pixels)
    assert seen == [37, 16, 16, 5]


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
    freeze_batchnorm(norm)
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


@pytest.mark.parametrize("convert", [lambda m: split_batchnorm(m, 2), freeze_batchnorm])
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


@pytest.mark.parametrize("fusion", ["coordinated", "joint"])
def test_figures_lie_around_zero_and_are_as_long_as_what_they_join(
    fusion: str, build_tiny: Callable[..., TQNetModel], tiny_bank: QuestionBank
) -> None:
    model = build_tiny(awake=True, fusion=fusion)
    questions = [question for question in tiny_bank if question.images]
    fit_projection(model, questions)
    with torch.no_grad():
        output = model(**model.processor(questions))
    texts = output.text_embedding if fusion == "coordinated" else model.get_input_embeddings().weight
    assert output.visual_embedding.mean(0).abs().max() < 1e-4
    torch.testing.assert_close(output.visual_embedding.norm(dim=1).mean(), texts.norm(dim=1).mean())


@pytest.mark.parametrize("count", [1, 3])
def test_one_figure_alone_leaves_the_projection_as_it_is(
    count: int, tiny_model: TQNetModel, tiny_bank: QuestionBank
) -> None:
    before = tiny_model.visual.projection.weight.clone()
    fit_projection(tiny_model, [next(question for question in tiny_bank if len(question.images) == 1)] * count)
    assert torch.equal(tiny_model.visual.projection.weight, before)
    assert not tiny_model.visual.projection.bias.any()


TRANSPARENT = ("transparent LA", "transparent RGBA", "transparent P")

#: Where the picture of :func:`save` is paper, and where it is ink.
PAPER, INK = (slice(0, 8), slice(0, 40)), (slice(12, 18), slice(12, 28))


def grey_picture() -> Image.Image:
    picture = Image.new("L", (40, 30), 255)
    ImageDraw.Draw(picture).rectangle((10, 10, 30, 20), fill=0)
    return picture


def save(kind: str, folder: Path) -> str:
    """A black bar on white paper, [30, 40], in the mode and format ``kind``; transparent kinds have no paper."""
    grey = grey_picture()
    suffix = "png"
    if kind in ("L", "1", "P", "RGB", "RGBA"):
        picture = grey.convert(kind)
    elif kind in ("16 bit", "16 bit tiff", "32 bit tiff"):
        depth = np.int32 if kind.startswith("32") else np.uint16
        picture = Image.fromarray(np.array(grey).astype(depth) * 257)
        suffix = "tiff" if kind.endswith("tiff") else "png"
    elif kind == "CMYK":
        picture, suffix = grey.convert("RGB").convert("CMYK"), "jpg"
    elif kind == "grey gif":
        picture, suffix = grey, "gif"
    else:
        alpha = Image.eval(grey, lambda value: 255 - value)
        black = Image.new("L", grey.size, 0)
        if kind == "transparent LA":
            picture = Image.merge("LA", (black, alpha))
        elif kind == "transparent RGBA":
            picture = Image.merge("RGBA", (black, black, black, alpha))
        else:  # a palette of two blacks, the first one transparent
            picture = Image.fromarray((np.array(alpha) > 0).astype(np.uint8), "P")
            picture.putpalette([0, 0, 0] * 2)
            picture.info["transparency"] = 0
    path = folder / f"{kind}.{suffix}"
    picture.save(path)
    return str(path)


@pytest.mark.parametrize(
    "kind",
    ["L", "1", "P", "RGB", "RGBA", "CMYK", "16 bit", "16 bit tiff", "32 bit tiff", "grey gif", *TRANSPARENT],
)
def test_a_figure_of_any_kind_is_black_on_white(kind: str, tmp_path: Path) -> None:
    figure = open_figure(save(kind, tmp_path))
    assert figure.shape == (30, 40, 3)
    assert figure.dtype == np.uint8
    assert figure[PAPER].min() > 245
    assert figure[INK].max() < 20


@given(st.integers(1, 200), st.integers(1, 200), st.sampled_from([16, 64]))
def test_what_is_not_figure_is_white(height: int, width: int, size: int) -> None:
    square = fit_square(np.zeros((height, width, 3), np.uint8), size)
    assert square.shape == (size, size, 3)
    black = (square == 0).all(2)
    assert (black | (square == 255).all(2)).all()
    longest = max(height, width)
    expected = max(1, round(height * size / longest)) * max(1, round(width * size / longest))
    assert black.sum() == expected


def test_pixels_are_normalised_by_imagenets_statistics() -> None:
    processor = TQNetImageProcessor(16)
    white = np.full((16, 16, 3), 255, np.uint8)
    pixels = processor([white, 0 * white])["pixel_values"]
    assert pixels.shape == (2, 3, 16, 16)
    expected = (torch.tensor([1.0, 1.0, 1.0]) - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor(
        [0.229, 0.224, 0.225]
    )
    torch.testing.assert_close(pixels[0, :, 3, 5], expected)
    assert processor.normalise([]).shape == (0, 3, 16, 16)


@pytest.mark.parametrize(
    "name", ["vit_tiny_patch16_224", "vit_small_patch16_dinov3", "swin_tiny_patch4_window7_224", "convnext_atto"]
)
def test_cells_are_those_of_timm_whatever_the_layout(name: str) -> None:
    backbone = new_backbone(name, 64).eval()
    pixels = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        cells = feature_cells(backbone, pixels)
        last = backbone.forward_intermediates(pixels, indices=1, norm=True, intermediates_only=True)[-1]
    torch.testing.assert_close(cells, last.flatten(2).mT)


def test_a_backbone_without_batch_norm_has_none_to_replace(build_tiny: Callable[..., TQNetModel]) -> None:
    with pytest.raises(ValueError, match=r"^visual_norm: group, but vit_tiny_patch16_224 has no batch norm"):
        build_tiny(visual="vit_tiny_patch16_224", visual_norm="group")


def test_random_weights_are_not_frozen_whatever_their_norm(build_tiny: Callable[..., TQNetModel]) -> None:
    for options in ({"visual": "vit_tiny_patch16_224"}, {"visual_norm": "group"}):
        with pytest.raises(ConfigError, match="its random weights"):
            freeze_streams(build_tiny(**options), OptimConfig(visual_lr=0))
