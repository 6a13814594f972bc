"""The error of a figure that is drawn again: ink and paper weigh the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tqnet.losses.baselines import figure_reconstruction

from tqnet.modeling.visual import TQNetImageProcessor


def figure() -> torch.Tensor:
    """White paper of value 2 with one black line of value -2, [1, 3, 8, 8]."""
    pixels = torch.full((1, 3, 8, 8), 2.0)
    pixels[:, :, 3] = -2
    return pixels


def test_a_figure_as_it_is_costs_nothing() -> None:
    assert figure_reconstruction(figure()[:, :1], figure()).item() == 0


@pytest.mark.parametrize(("ink", "paper"), [(1.0, 0.0), (0.0, 1.0), (0.5, 3.0)])
def test_ink_and_paper_are_a_mean_each(ink: float, paper: float) -> None:
    drawn = figure()[:, :1].clone()
    is_ink = drawn < 0
    drawn[is_ink] += ink
    drawn[~is_ink] += paper
    assert figure_reconstruction(drawn, figure()).item() == pytest.approx((ink**2 + paper**2) / 2)


def test_a_figure_costs_the_same_however_it_is_normalised() -> None:
    square = np.full((8, 8, 3), 255, dtype=np.uint8)
    square[3, 2:6] = (0, 90, 30)
    drawn = torch.rand(1, 1, 8, 8)
    costs = []
    for images in (TQNetImageProcessor(8), TQNetImageProcessor(8, (0.5,) * 3, (0.5,) * 3)):
        figure = images.as_imagenet(images.normalise([square]))
        costs.append(figure_reconstruction(drawn, figure).item())
    assert costs[0] == pytest.approx(costs[1], rel=1e-5)


def test_figures_are_compared_at_the_size_of_the_drawing() -> None:
    wanted = torch.rand(2, 3, 8, 8)
    small = wanted.mean(1, keepdim=True).unflatten(2, (4, 2)).unflatten(4, (4, 2)).mean((3, 5))
    assert figure_reconstruction(small, wanted).item() == pytest.approx(0, abs=1e-10)
