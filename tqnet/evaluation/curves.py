"""Training curves from the ``metrics.jsonl`` files of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from tqnet.evaluation.metrics import FloatArray
from tqnet.evaluation.plots import LIGHT, PALETTE, Format, Theme, canvas

Series = tuple[FloatArray, FloatArray]


def read_series(path: str | PathLike[str], over: str = "step") -> dict[str, Series]:
    """Every finite number of the records against ``over``, in its order: name -> (x, y).

    A run that was killed may end in half a line, which is left out; one that was resumed may repeat steps, of
    which the last record counts.
    """
    found: dict[str, dict[float, float]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(record, dict) or not _is_number(record.get(over)):
            continue
        for name, value in record.items():
            if name != over and _is_number(value):
                found.setdefault(name, {})[float(record[over])] = float(value)
    return {
        name: (np.array(sorted(points)), np.array([points[x] for x in sorted(points)]))
        for name, points in found.items()
    }


def questions_and_pace(series: Mapping[str, Series]) -> tuple[int, float]:
    """Questions seen in a training, and how many per second: the median, which leaves out what else a machine did.

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
            for color, (name, points) in zip(PALETTE[1:], valid.items(), strict=False):
                label = name.removeprefix("valid/")
                right.plot(*points, color=color, linewidth=1.6, marker="o", markersize=3.2, label=label)
            if valid:
                right.legend(frameon=False, fontsize=8.5, labelcolor=theme.ink)
            left.set_title(f"{stage}: loss", fontsize=10.5, loc="left")
            right.set_title(f"{stage}: valid", fontsize=10.5, loc="left")
            for axes in (left, right):
                axes.grid(axis="y", color=theme.faint, linewidth=0.8)
                axes.set_xlabel("step", fontsize=9)
    return buffer.getvalue()


def running_mean(values: FloatArray, share: float = 0.05) -> FloatArray:
    """Mean over a centred window of ``share`` of the series, narrower at its ends; ``[n] -> [n]``."""
    reach = max(0, round(share * len(values) / 2))
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    reach_here = np.minimum(np.minimum(at, len(values) - 1 - at), reach)
    low, high = at - reach_here, at + reach_here + 1
    return (total[high] - total[low]) / (high - low)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
