"""Pictures of an evaluation as SVG or PNG bytes; they need no display, and leave no figure open in matplotlib."""

from __future__ import annotations

import io
import json
import logging
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.metrics import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tqnet.evaluation.agreement import AgreementResult
    from tqnet.evaluation.similar import RankingScores

log = logging.getLogger(__name__)

Format = Literal["svg", "png"]

#: Each character is drawn in the first of these fonts that is installed and has it.
FONTS = (
    "Inter", "Helvetica Neue", "Arial", "Noto Sans", "Noto Sans CJK SC", "Source Han Sans SC", "PingFang SC",
    "Microsoft YaHei", "WenQuanYi Zen Hei", "SimHei", "DejaVu Sans",
)  # fmt: skip

#: Okabe & Ito's palette, which colour-blind readers tell apart; black is left out since it has no dark counterpart.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800")


@dataclass(frozen=True)
class Theme:
    """Colours of text, of the main series, of grid lines, and of the other series."""

    ink: str
    accent: str
    faint: str
    other: str


LIGHT = Theme(ink="#2a2f36", accent="#0072B2", faint="#dfe2e6", other="#c3c8ce")
DARK = Theme(ink="#d5d9df", accent="#56B4E9", faint="#343a43", other="#4b525c")


@dataclass(frozen=True)
class ConceptMap:
    """A map ``[2 n, 2]`` of the questions of two concepts, those of the first first, and the concepts' names."""

    title: str
    concepts: tuple[str, str]
    points: FloatArray


def tsne(vectors: npt.NDArray[np.floating], *, seed: int = 0) -> FloatArray:
    """Map vectors ``[n, width]`` to ``[n, 2]`` by t-SNE (van der Maaten & Hinton 2008), started from their PCA.

    Only directions count. Takes seconds for n up to about 2,000.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    parts = min(50, *unit.shape)
    reduced = PCA(parts, svd_solver="full").fit_transform(unit.astype(np.float64))
    perplexity = min(30.0, max(2.0, (len(unit) - 1) / 3))
    return TSNE(init="pca", perplexity=perplexity, random_state=seed).fit_transform(reduced).astype(np.float64)


def sample(size: int, limit: int = 2000, seed: int = 0) -> IntArray:
    """Draw at most ``limit`` of ``size`` indices, in order."""
    return np.sort(np.random.default_rng(seed).choice(size, limit, replace=False)) if size > limit else np.arange(size)


def knowledge_maps(
    maps: Mapping[str, FloatArray], labels: Sequence[str | None], *, theme: Theme = LIGHT, fmt: Format = "png"
) -> bytes:
    """Draw one t-SNE map per stage, side by side, coloured by knowledge (the most frequent labels, the rest grey).

    Args:
        maps: Stage -> ``[n, 2]``, of the same n questions.
        labels: ``[n]``, ``None`` where a question has none.
    """
    counts = Counter(label for label in labels if label is not None)
    named = [label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: len(PALETTE)]]
    rest = len(counts) - len(named)
    columns = min(3, max(1, len(maps)))
    rows = -(-len(maps) // columns)
    with canvas(4.1 * columns, 4.1 * rows + 0.5, theme, fmt) as (figure, buffer):
        kinds = np.array([named.index(label) if label in named else -1 for label in labels], dtype=np.int64)
        for number, (stage, points) in enumerate(maps.items(), start=1):
            axes = figure.add_subplot(rows, columns, number)
            _scatter(axes, points, kinds, named, theme, rest)
            axes.set_title(stage, fontsize=12, loc="left", color=theme.ink, pad=4)
        handles, texts = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="outside lower center", ncols=min(4, len(texts)), frameon=False, fontsize=10,
            labelcolor=theme.ink, markerscale=2.2, handletextpad=0.2, columnspacing=1.2,
        )  # fmt: skip
    return buffer.getvalue()


def concept_maps(maps: Sequence[ConceptMap]) -> bytes:
    """Draw pairs of concepts, one map each: how far the questions of the two lie apart (FSE, Figure 6)."""
    columns = min(4, len(maps))
    rows = -(-len(maps) // columns)
    legend: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02), "frameon": False, "fontsize": 9}
    with canvas(3.6 * columns, 4.3 * rows, LIGHT, "png") as (figure, buffer):
        for number, concept_map in enumerate(maps, start=1):
            axes = figure.add_subplot(rows, columns, number)
            kinds = np.repeat([0, 1], len(concept_map.points) // 2)
            _scatter(axes, concept_map.points, kinds, list(concept_map.concepts), LIGHT, 0, size=16)
            axes.set_title(concept_map.title, fontsize=12, loc="left", color=LIGHT.ink, pad=4)
            axes.legend(labelcolor=LIGHT.ink, **legend)
    return buffer.getvalue()


def stage_bars(scores: Mapping[str, RankingScores], *, k: int = 5, theme: Theme = LIGHT, fmt: Format = "svg") -> bytes:
    """P@k of each stage as a bar with its 95 % interval; the last stage stands out. Empty stages are not drawn."""
    shown = {name: stage.summary() for name, stage in scores.items() if len(stage)}
    with canvas(7.2, 0.55 + 0.42 * max(1, len(shown)), theme, fmt) as (figure, buffer):
        axes = figure.add_subplot()
        for row, summary in enumerate(shown.values()):
            value = float(summary["precision"] or 0.0)
            low, high = (value if (end := summary[name]) is None else float(end) for name in ("low", "high"))
            last = row == len(shown) - 1
            axes.barh(row, value, height=0.62, color=theme.accent if last else theme.other)
            axes.plot([low, high], [row, row], color=theme.ink, linewidth=1.4, solid_capstyle="butt")
            axes.annotate(
                f"{value:.3f}", (high, row), xytext=(6, 0), textcoords="offset points", va="center",
                color=theme.ink, fontsize=9.5, fontweight="bold" if last else "normal",
            )  # fmt: skip
        axes.set_yticks(range(len(shown)), list(shown))
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlim(left=0)
        axes.spines[["left"]].set_visible(False)
        axes.tick_params(axis="y", length=0, labelsize=10)
        style_axes(axes, theme, x=f"P@{k}, 95 % interval by group", grid="x")
    return buffer.getvalue()


def similarity_by_rank(results: Mapping[str, AgreementResult], *, theme: Theme = LIGHT, fmt: Format = "svg") -> bytes:
    """Mean cosine of each rank under each stage, with its quartiles (QuesCo, Figure 5); the last stage stands out.

    Raises:
        ValueError: Nothing was measured, or no pair has a rank that is known.
    """
    if not any(result.ranks for result in results.values()):
        raise ValueError("there is no similarity by rank to draw: no vectors, or no pair whose rank is known")
    with canvas(7.2, 3.4, theme, fmt) as (figure, buffer):
        axes = figure.add_subplot()
        others = [theme.other] if len(results) == 2 else [color for color in PALETTE if color != theme.accent]
        for number, (stage, result) in enumerate(results.items()):
            last = number == len(results) - 1
            color = theme.accent if last else others[number % len(others)]
            x = np.array([rank.rank for rank in result.ranks])
            mean, low, high = np.array([(rank.mean, rank.low, rank.high) for rank in result.ranks]).T
            axes.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
            axes.plot(x, mean, color=color, linewidth=2.2 if last else 1.6, marker="o", markersize=4.5, label=stage)
        first = next(iter(results.values()))
        axes.set_xticks([rank.rank for rank in first.ranks], [rank.name for rank in first.ranks])
        axes.tick_params(axis="x", labelsize=10)
        style_axes(axes, theme, y="cosine, mean and quartiles")
        axes.legend(frameon=False, fontsize=10, labelcolor=theme.ink)
    return buffer.getvalue()


def style_axes(axes: Axes, theme: Theme, *, x: str = "", y: str = "", grid: Literal["x", "y"] = "y") -> None:
    """Label the axes, and draw a faint grid below the data."""
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.grid(axis=grid, color=theme.faint, linewidth=0.8)
    axes.set_axisbelow(True)


def _scatter(
    axes: Axes, points: FloatArray, kinds: IntArray, named: list[str], theme: Theme, rest: int, size: float = 5
) -> None:
    """The grey points first, so that the coloured ones lie above them."""
    for kind, label in [(-1, f"{rest} more" if rest else "no knowledge"), *enumerate(named)]:
        chosen = points[kinds == kind]
        if not len(chosen):
            continue
        color = theme.other if kind < 0 else PALETTE[kind]
        axes.scatter(chosen[:, 0], chosen[:, 1], s=size, color=color, label=label, linewidths=0, alpha=0.85)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[:].set_color(theme.faint)
    axes.spines[:].set_visible(True)


@contextmanager
def canvas(width: float, height: float, theme: Theme, fmt: Format) -> Iterator[tuple[Figure, io.BytesIO]]:
    """A figure in the theme's colours, written to the buffer when the block is left; as SVG without background."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "font.sans-serif": list(FONTS),
        "axes.edgecolor": theme.other,
        "axes.labelcolor": theme.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "svg.hashsalt": "tqnet",  # the same picture gives the same bytes
        "svg.fonttype": "none",  # drawn with the reader's fonts, which may have more characters
    }
    buffer = io.BytesIO()
    with rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, buffer
        extras = {"metadata": {"Date": None}} if fmt == "svg" else {"dpi": 160}
        with warnings.catch_warnings(record=True) as caught:  # one line in place of one for each character
            warnings.simplefilter("always")
            figure.savefig(buffer, format=fmt, transparent=fmt == "svg", **extras)
        if fmt == "png" and any("missing from font" in str(warning.message) for warning in caught):
            log.warning("labels have characters that no font here has; install one that does, such as Noto Sans CJK")


#: x and y of a curve.
Series = tuple[FloatArray, FloatArray]


def read_series(path: str | PathLike[str], over: str = "step") -> dict[str, Series]:
    """Read the curves of a ``metrics.jsonl``: name -> every finite number, by ``over``.

    A killed run may end in half a line, which is left out; a resumed one may repeat steps, whose last record counts.
    """
    curves: dict[str, dict[float, float]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(record, dict) or not _is_number(record.get(over)):
            continue
        for name, value in record.items():
            if name != over and _is_number(value):
                curves.setdefault(name, {})[float(record[over])] = float(value)
    return {
        name: (np.array(sorted(points)), np.array([points[x] for x in sorted(points)]))
        for name, points in curves.items()
    }


def questions_and_pace(series: Mapping[str, Series]) -> tuple[int, float]:
    """Questions seen in a training, and the median number per second, which other load of the machine hardly changes.

    Raises:
        KeyError: No step was logged.
    """
    return int(series["questions"][1][-1]), float(np.median(series["questions_per_second"][1]))


def training_curves(files: Mapping[str, str | PathLike[str]], *, theme: Theme = LIGHT, fmt: Format = "svg") -> bytes:
    """One row per stage: the loss with its running mean, and what was measured on ``valid``.

    Args:
        files: Stage -> its ``metrics.jsonl``, records such as ``{"step": 10, "loss": 1.2, "valid/p@5": 0.4}``.
    """
    with canvas(9.0, 2.5 * max(1, len(files)), theme, fmt) as (figure, buffer):
        grid = figure.subplots(max(1, len(files)), 2, squeeze=False)
        for (left, right), (stage, path) in zip(grid, files.items(), strict=False):
            series = read_series(path)
            if "loss" in series:
                x, y = series["loss"]
                left.plot(x, y, color=theme.other, linewidth=0.8)
                left.plot(x, running_mean(y), color=theme.accent, linewidth=1.8)
            valid = {name: points for name, points in sorted(series.items()) if name.startswith("valid/")}
            for color, (name, points) in zip(cycle(PALETTE[1:]), valid.items(), strict=False):
                label = name.removeprefix("valid/")
                right.plot(*points, color=color, linewidth=1.6, marker="o", markersize=3.2, label=label)
            if valid:
                right.legend(frameon=False, fontsize=8.5, labelcolor=theme.ink)
            left.set_title(f"{stage}: loss", fontsize=10.5, loc="left")
            right.set_title(f"{stage}: valid", fontsize=10.5, loc="left")
            for axes in (left, right):
                style_axes(axes, theme, x="step")
    return buffer.getvalue()


def running_mean(values: FloatArray, share: float = 0.05) -> FloatArray:
    """Return the mean over a centred window of ``share`` of the series, narrower at its ends; ``[n] -> [n]``."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    reach = np.minimum(np.minimum(at, len(values) - 1 - at), round(share * len(values) / 2))
    low, high = at - reach, at + reach + 1
    return (total[high] - total[low]) / (high - low)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
