"""The error of a figure that is drawn again: ink and paper weigh the same."""

from __future__ import annotations

import pytest
import torch

from tqnet.objectives import figure_reconstruction


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


def test_figures_are_compared_at_the_size_of_the_drawing() -> None:
    wanted = torch.rand(2, 3, 8, 8)
    small = wanted.mean(1, keepdim=True).unflatten(2, (4, 2)).unflatten(4, (4, 2)).mean((3, 5))
    assert figure_reconstruction(small, wanted).item() == pytest.approx(0, abs=1e-10)
