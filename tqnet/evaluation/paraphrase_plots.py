"""Pictures of scored paraphrases: histograms of scores by label, and maps of triplets (ParaQD, Figures 2 and 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tqnet.evaluation.metrics import FloatArray
from tqnet.evaluation.plots import LIGHT, PALETTE, Format, Theme, canvas
from tqnet.questions.paraphrase_pairs import ParaphrasePair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tqnet.evaluation.paraphrase import ParaphraseMetrics

#: Triplets that are drawn in colours of their own, as many as the paper's.
_FEW = len(PALETTE)

#: Markers of the original, the valid paraphrase and the invalid one.
_PARTS = {"original": "o", "valid": "^", "invalid": "X"}


def triplets(pairs: Sequence[ParaphrasePair]) -> list[tuple[str, str, str]]:
    """(original, valid, invalid) of each original that has both, the first of each."""
    first: dict[str, dict[int | None, str]] = {}
    for pair in pairs:
        first.setdefault(pair.original, {}).setdefault(pair.label, pair.paraphrase)
    return [(original, own[1], own[0]) for original, own in first.items() if own.keys() >= {0, 1}]


def score_histograms(results: Mapping[str, ParaphraseMetrics], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """Scores of valid and of invalid pairs, one row per stage, over the same range; their means as lines."""
    low = min(float(found.scores.min()) for found in results.values())
    edges = np.linspace(np.floor(10 * low) / 10, 1.0, 41).tolist()
    with canvas(7.2, 0.5 + 1.7 * len(results), theme, fmt) as (figure, buffer):
        first: Axes | None = None
        for row, (stage, found) in enumerate(results.items()):
            axes = figure.add_subplot(len(results), 1, row + 1, sharex=first)
            first = first or axes
            for label, of, color in (("valid", found.valid, theme.accent), ("invalid", ~found.valid, PALETTE[5])):
                own = found.scores[of]
                axes.hist(own, edges, color=color, alpha=0.55, label=f"{label} ({len(own):,})")
                axes.axvline(own.mean(), color=color, linewidth=1.4)
            axes.axvline(found.threshold, color=theme.ink, linewidth=0.8, linestyle=":")
            axes.set_title(f"{stage}, µs {found.values['separation']:.3f}", fontsize=11, loc="left", color=theme.ink)
            axes.legend(frameon=False, fontsize=9, labelcolor=theme.ink, loc="upper left")
        axes.set_xlabel("cosine; lines: means, dotted: threshold", fontsize=9, color=theme.ink)
    return buffer.getvalue()


def triplet_maps(maps: Mapping[str, FloatArray], *, theme: Theme = LIGHT, fmt: Format = "png") -> bytes:
    """t-SNE maps of triplets, one row per stage: a few of them, each in a colour, then all, by part.

    Shape:
        - maps: stage -> ``[3 n, 2]``: original, valid and invalid of the first triplet, then of the next
    """
    with canvas(8.2, 4.1 * len(maps) + 0.4, theme, fmt) as (figure, buffer):
        for row, (stage, points) in enumerate(maps.items()):
            parts = points.reshape(-1, 3, 2)
            few = parts[np.linspace(0, len(parts) - 1, min(_FEW, len(parts))).astype(int)]
            left, right = (figure.add_subplot(len(maps), 2, 2 * row + column) for column in (1, 2))
            for triplet, color in zip(few, PALETTE, strict=False):
                _triplets(left, triplet[None], [color] * 3, 60)
            _triplets(right, parts, (theme.other, theme.accent, PALETTE[5]), 14)
            left.set_title(f"{stage}: {len(few)} triplets", fontsize=12, loc="left", color=theme.ink)
            right.set_title(f"all {len(parts):,}", fontsize=12, loc="left", color=theme.ink)
            for axes in (left, right):
                axes.set_xticks([])
                axes.set_yticks([])
                axes.set_aspect("equal", adjustable="datalim")
                axes.spines[:].set_color(theme.faint)
                axes.spines[:].set_visible(True)
        handles, texts = figure.axes[1].get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="outside lower center", ncols=3, frameon=False, fontsize=10, labelcolor=theme.ink
        )
    return buffer.getvalue()


def _triplets(axes: Axes, points: FloatArray, colors: Sequence[str], size: float) -> None:
    for at, (part, marker) in enumerate(_PARTS.items()):
        x, y = points[:, at].T
        axes.scatter(x, y, s=size, color=colors[at], marker=marker, label=part, linewidths=0, alpha=0.85)
