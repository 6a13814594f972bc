"""Reliability of predicted probabilities, as a picture."""

from __future__ import annotations

from collections.abc import Mapping

from tqnet.evaluation.plots import LIGHT, PALETTE, Format, Theme, canvas
from tqnet.evaluation.prediction import LevelScores


def reliability_plot(
    results: Mapping[str, Mapping[int, LevelScores]], *, theme: Theme = LIGHT, fmt: Format = "png"
) -> bytes:
    """Share of hits by probability, a panel for each level; a point's area is its share of the questions."""
    levels = sorted({level for own in results.values() for level in own})
    with canvas(3.6 * len(levels), 4.0, theme, fmt) as (figure, buffer):
        for column, level in enumerate(levels, 1):
            axes = figure.add_subplot(1, len(levels), column)
            axes.plot([0, 1], [0, 1], color=theme.other, linewidth=1, linestyle=":")
            for color, (name, own) in zip(PALETTE, results.items(), strict=False):
                if level not in own:
                    continue
                chance, share, count = zip(*own[level].reliability(), strict=True)
                areas = [8 + 160 * number / sum(count) for number in count]
                axes.plot(chance, share, color=color, linewidth=1.2, label=name)
                axes.scatter(chance, share, s=areas, color=color, linewidths=0, alpha=0.8)
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            axes.set_aspect("equal")
            axes.set_title(f"level {level}", fontsize=11, loc="left", color=theme.ink)
            axes.set_xlabel("probability of the likeliest concept", fontsize=9)
        figure.axes[0].set_ylabel("share of questions that have it", fontsize=9)
        handles, texts = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside lower center", ncols=3, frameon=False, labelcolor=theme.ink)
    return buffer.getvalue()
