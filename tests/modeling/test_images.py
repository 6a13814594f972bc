"""Figures of every kind arrive as black on white, square, undistorted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from tqnet.modeling.visual import TQNetImageProcessor
from tqnet.questions.images import fit_square, open_figure

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


def test_16_bits_keep_their_greys(tmp_path: Path) -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None].repeat(4, 0)
    Image.fromarray(ramp).save(tmp_path / "ramp.png")
    assert open_figure(str(tmp_path / "ramp.png"))[0, :, 0].tolist() == list(range(256))


def test_half_transparent_ink_is_grey(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (0, 0, 0, 128)).save(tmp_path / "half.png")
    assert abs(int(open_figure(str(tmp_path / "half.png"))[0, 0, 0]) - 127) <= 1


def bounds(square: np.ndarray) -> tuple[int, int]:
    rows, columns = np.nonzero(square[..., 0] < 128)
    return int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


@pytest.mark.parametrize("shape", [(100, 300), (300, 100), (200, 200), (40, 30)])
def test_a_circle_stays_a_circle_in_the_middle(shape: tuple[int, int]) -> None:
    width, height = shape
    picture = Image.new("RGB", shape, "white")
    radius = min(shape) // 2 - 2
    centre = width // 2, height // 2
    ImageDraw.Draw(picture).ellipse(
        (centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius), fill="black"
    )
    square = fit_square(np.array(picture), 64)
    high, wide = bounds(square)
    assert abs(high - wide) <= 1
    assert abs(high - 2 * radius * 64 / max(shape)) <= 2
    rows, columns = np.nonzero(square[..., 0] < 128)
    assert abs(rows.mean() - 31.5) < 1.5
    assert abs(columns.mean() - 31.5) < 1.5


@given(st.integers(1, 200), st.integers(1, 200), st.sampled_from([16, 64]))
def test_what_is_not_figure_is_white(height: int, width: int, size: int) -> None:
    square = fit_square(np.zeros((height, width, 3), np.uint8), size)
    assert square.shape == (size, size, 3)
    black = (square == 0).all(2)
    assert (black | (square == 255).all(2)).all()
    longest = max(height, width)
    expected = max(1, round(height * size / longest)) * max(1, round(width * size / longest))
    assert black.sum() == expected


def test_a_square_of_the_right_size_is_left_alone() -> None:
    figure = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    assert np.array_equal(fit_square(figure, 64), figure)


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
