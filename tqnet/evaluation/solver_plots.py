"""Pictures of a solver's representations (mwp-cl, Figures 3, 4 and 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tqnet.evaluation.plots import LIGHT, PALETTE, Format, Theme, canvas

if TYPE_CHECKING:
    from tqnet.evaluation.solver_representations import Analysis

#: Below, a curve through the intervals says nothing.
_LEAST_POINTS = 4


def accuracy_by_centre(results: Mapping[str, Analysis], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """Share of right equations by the cosine to the prototype's centre, larger points for more problems.

    Dotted is a parabola by least squares, each interval weighted by its problems.
    """
    with canvas(7.2, 3.8, theme, fmt) as (figure, buffer):
        axes = figure.add_subplot()
        for (name, found), color in zip(results.items(), PALETTE * len(results), strict=False):
            shown = [one for one in found.distances if one.right is not None]
            x = np.array([(one.low + one.high) / 2 for one in shown])
            y = np.array([one.right for one in shown], dtype=np.float64)
            problems = np.array([one.problems for one in shown], dtype=np.float64)
            axes.plot(x, y, color=color, linewidth=1.6, label=name)
            axes.scatter(x, y, s=12 + 3 * np.sqrt(problems), color=color, linewidths=0)
            if len(x) >= _LEAST_POINTS:
                fitted = np.polynomial.Polynomial.fit(x, y, 2, w=np.sqrt(problems))
                curve = np.linspace(x.min(), x.max(), 60)
                axes.plot(curve, fitted(curve), color=color, linewidth=1.1, linestyle=":")
        axes.set_ylim(0, 1)
        axes.set_xlabel("cosine to the centre of the prototype", fontsize=9)
        axes.set_ylabel("equations right", fontsize=9)
        axes.grid(axis="y", color=theme.faint, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, fontsize=10, labelcolor=theme.ink)
    return buffer.getvalue()


def similarity_by_layer(results: Mapping[str, Analysis], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """Mean cosine of two kinds of pairs behind each layer, a picture for each solver that has layers.

    Raises:
        ValueError: None has.
    """
    shown = {name: found.by_layer for name, found in results.items() if found.by_layer is not None}
    if not shown:
        raise ValueError("there is no similarity by layer to draw")
    kinds = (("alike in words, other prototype", PALETTE[0]), ("of one prototype, unlike in words", PALETTE[5]))
    with canvas(max(3.6 * len(shown), 5.0), 3.6, theme, fmt) as (figure, buffer):
        for place, (name, by_layer) in enumerate(shown.items(), start=1):
            axes = figure.add_subplot(1, len(shown), place)
            for (label, color), means in zip(kinds, by_layer, strict=True):
                axes.plot(range(len(means)), means, color=color, linewidth=1.8, marker="o", markersize=4, label=label)
            axes.set_title(name, fontsize=12, loc="left", color=theme.ink)
            axes.set_xticks(range(len(by_layer[0])))
            axes.set_xlabel("layer, 0 the embeddings", fontsize=9)
            axes.set_ylabel("mean cosine", fontsize=9)
            axes.grid(axis="y", color=theme.faint, linewidth=0.8)
            axes.set_axisbelow(True)
        handles, texts = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="outside lower center", ncols=2, frameon=False, fontsize=10, labelcolor=theme.ink
        )
    return buffer.getvalue()
