"""Views of a figure: drawn from their generator alone, never mirrored unless the paper's settings are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tqnet.augment.view import KINDS, FigureAugmentation
from tqnet.questions.images import fit_square

SIZE = 64


def letter() -> np.ndarray:
    """An F, which is another sign when mirrored either way."""
    picture = Image.new("RGB", (90, 100), "white")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((25, 10, 37, 90), fill="black")
    pen.rectangle((25, 10, 75, 22), fill="black")
    pen.rectangle((25, 45, 60, 57), fill="black")
    return np.array(picture)


def ramp(axis: int) -> np.ndarray:
    """Grey that rises from left to right (axis 1) or from top to bottom."""
    line = np.linspace(0, 255, SIZE).astype(np.uint8)
    plane = np.broadcast_to(line[None, :] if axis else line[:, None], (SIZE, SIZE))
    return np.repeat(plane[..., None], 3, axis=2)


def rises(view: np.ndarray, axis: int) -> bool:
    profile = view.astype(float).mean(axis=(2, 1 - axis))[8:-8]  # the margin may be paper
    return float(np.polyfit(np.arange(len(profile)), profile, 1)[0]) > 0


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Largest correlation over all shifts."""
    spectra = [np.fft.fft2(grey - grey.mean()) for grey in (one, other)]
    return float(np.fft.ifft2(spectra[0] * spectra[1].conj()).real.max())


def views(kind: str, figure: np.ndarray, count: int) -> list[np.ndarray]:
    augment = FigureAugmentation(kind, SIZE)
    return [augment(figure, np.random.default_rng([7, i])) for i in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_generator_state_gives_the_same_view(kind: str) -> None:
    augment = FigureAugmentation(kind, SIZE)
    first = [augment(letter(), np.random.default_rng(i)) for i in range(10)]
    rng = np.random.default_rng(99)
    augment(letter(), rng)  # what was drawn before does not matter
    other = FigureAugmentation(kind, SIZE)
    for i, view in enumerate(first):
        assert view.shape == (SIZE, SIZE, 3)
        assert view.dtype == np.uint8
        assert np.array_equal(augment(letter(), np.random.default_rng(i)), view)
        assert np.array_equal(other(letter(), np.random.default_rng(i)), view)


@pytest.mark.parametrize("kind", ["figure", "mocov2"])
def test_different_views_differ_also_from_one_generator(kind: str) -> None:
    distinct = {view.tobytes() for view in views(kind, letter(), 60)}
    assert len(distinct) > 54
    rng, augment = np.random.default_rng(0), FigureAugmentation(kind, SIZE)
    assert len({augment(letter(), rng).tobytes() for _ in range(20)}) > 15


def test_none_changes_nothing_but_the_size() -> None:
    assert np.array_equal(views("none", letter(), 1)[0], fit_square(letter(), SIZE))


def test_the_mild_views_never_mirror_a_figure() -> None:
    original = fit_square(letter(), SIZE).astype(float).mean(2)
    mirrored = original[:, ::-1], original[::-1], original[::-1, ::-1]
    for view in views("figure", letter(), 150):
        grey = view.astype(float).mean(2)
        assert likeness(grey, original) > 1.1 * max(likeness(grey, other) for other in mirrored)
    for axis in (0, 1):
        assert all(rises(view, axis) for view in views("figure", ramp(axis), 100))


def test_the_papers_views_do_mirror_and_never_turn_upside_down() -> None:
    mirrored = [not rises(view, 1) for view in views("mocov2", ramp(1), 200)]
    assert 0.35 < np.mean(mirrored) < 0.65
    assert all(rises(view, 0) for view in views("mocov2", ramp(0), 100))


def test_the_mild_views_keep_the_figure_on_the_sheet() -> None:
    ink = (fit_square(letter(), SIZE) < 128).all(2).sum()
    for view in views("figure", letter(), 100):
        threshold = (int(view.max()) + int(view.min())) / 2
        assert 0.5 * ink < (view.mean(2) < threshold).sum() < 1.9 * ink


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"^augment\.images: 'strong' is none of figure, mocov2, none"):
        FigureAugmentation("strong", SIZE)
