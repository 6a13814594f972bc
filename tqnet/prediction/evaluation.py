"""Score predictions of knowledge points and difficulty: accuracy, calibration and coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from tqnet.evaluation.metrics import BoolArray, FloatArray, Interval, bootstrap_interval, gain_text
from tqnet.evaluation.plots import LIGHT, PALETTE, Format, Theme, canvas
from tqnet.evaluation.table import NOTHING, Table
from tqnet.prediction.difficulty import Estimates
from tqnet.prediction.knowledge import KnowledgeHead
from tqnet.prediction.tree import FloatMatrix
from tqnet.questions.question import KnowledgePath

#: Equal bins of the probability of the likeliest concept, for the expected calibration error (Guo et al. 2017).
BINS = 15


@dataclass(frozen=True)
class LevelScores:
    """Scores of a level, over questions with a concept there.

    Attributes:
        chance: Probability of the likeliest concept, ``[questions]``.
        first, third: Whether it, or one of the top three, is correct, ``[questions]``.
        groups: Each question's group, for intervals.
    """

    chance: FloatArray
    first: BoolArray
    third: BoolArray
    groups: Sequence[str]

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean difference between a bin's mean probability and its share of hits."""
        return float(sum(count * abs(mean - share) for mean, share, count in self.reliability()) / len(self.chance))

    def reliability(self, bins: int = BINS) -> list[tuple[float, float, int]]:
        """Return mean probability, share of hits and number of questions of each bin with questions."""
        place = np.clip(np.ceil(self.chance * bins).astype(int) - 1, 0, bins - 1)
        masks = [place == number for number in np.unique(place)]
        return [(float(self.chance[mask].mean()), float(self.first[mask].mean()), int(mask.sum())) for mask in masks]

    def over(self, other: LevelScores) -> tuple[float, Interval]:
        """Return the gain in top-1 accuracy on the same questions, with its 95 % interval by group."""
        gain = self.first.astype(np.float64) - other.first
        return float(gain.mean()), bootstrap_interval(gain, self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers for JSON."""
        return {
            "questions": len(self.chance),
            "top1": float(self.first.mean()),
            "top1_interval": bootstrap_interval(self.first.astype(np.float64), self.groups).to_json(),
            "top3": float(self.third.mean()),
            "ece": self.ece,
            "mean_probability": float(self.chance.mean()),
            "reliability": list(map(list, self.reliability())),
        }


@dataclass(frozen=True)
class IntervalScores:
    """Coverage (measured, and ``asked`` for) and mean width of the intervals, and the mean absolute error.

    Without intervals the width is infinite, and coverage and width are null in JSON.
    """

    questions: int
    coverage: float
    coverage_interval: Interval
    asked: float
    width: float
    mae: float

    def to_dict(self) -> dict[str, Any]:
        """Return numbers for JSON."""
        numbers = vars(self) | {"coverage_interval": self.coverage_interval.to_json()}
        if self.has_intervals:
            return numbers
        return numbers | dict.fromkeys(("coverage", "coverage_interval", "width"))

    @property
    def has_intervals(self) -> bool:
        return math.isfinite(self.width)


def score_knowledge(
    head: KnowledgeHead, chance: FloatMatrix, knowledge: Sequence[Sequence[KnowledgePath]], groups: Sequence[str]
) -> dict[int, LevelScores]:
    """Return level -> scores; a concept without training questions cannot be predicted and counts as missed.

    Args:
        chance: From ``head.predict``, ``[questions, nodes]``.
        knowledge, groups: Paths and group of each question.
    """
    scores = {}
    for level in range(1, head.tree.depth + 1):
        truth = [{path[:level] for path in paths if len(path) >= level} for paths in knowledge]
        rows = np.array([row for row, concepts in enumerate(truth) if concepts], dtype=np.int64)
        if not len(rows):
            continue
        nodes = head.tree.concepts(level)
        level_chance = chance[rows][:, nodes]
        order = nodes[np.argsort(-level_chance, axis=1, kind="stable")[:, :3]]
        hits = np.array(
            [[head.tree.nodes[i] in truth[row] for i in best] for row, best in zip(rows, order, strict=True)],
            dtype=bool,
        )
        likeliest = level_chance.max(axis=1).astype(np.float64)
        scores[level] = LevelScores(likeliest, hits[:, 0], np.asarray(hits.any(axis=1)), [groups[row] for row in rows])
    return scores


def score_difficulty(estimates: Estimates, truth: FloatArray, groups: Sequence[str], asked: float) -> IntervalScores:
    """Score intervals of the nominal coverage ``asked``."""
    held = (truth >= estimates.low - 1e-9) & (truth <= estimates.high + 1e-9)
    return IntervalScores(
        questions=len(truth),
        coverage=float(held.mean()),
        coverage_interval=bootstrap_interval(held.astype(np.float64), groups),
        asked=asked,
        width=float((estimates.high - estimates.low).mean()),
        mae=float(np.abs(estimates.value - truth).mean()),
    )


def knowledge_table(results: Mapping[str, Mapping[int, LevelScores]]) -> Table:
    """Return a table with a row per model and level, compared with the first model."""
    baseline = next(iter(results.values()), {})
    rows = []
    for level in sorted({level for by_level in results.values() for level in by_level}):
        for name, by_level in results.items():
            if level not in by_level:
                continue
            scores = by_level[level].to_dict()
            gain = NOTHING
            if by_level is not baseline and level in baseline:
                gain = gain_text(*by_level[level].over(baseline[level]))
            numbers = (f"{scores[metric]:.3f}" for metric in ("top1", "top3", "ece", "mean_probability"))
            rows.append((f"level {level}: {name}", f"{scores['questions']:,}", *numbers, gain))
    header = ("level and model", "questions", "top 1", "top 3", "ECE", "mean probability", "top 1 against the first")
    note = (
        f"ECE: expected calibration error of the likeliest concept's probability, {BINS} bins of equal width. "
        "Intervals are 95 %, bootstrapped by group."
    )
    return Table("Knowledge points", header, tuple(rows), (note,))


def difficulty_table(results: Mapping[str, IntervalScores]) -> Table:
    """Return a table with a row per model."""
    rows = []
    for name, scores in results.items():
        coverage, width = f"{scores.coverage:.3f} ({scores.coverage_interval})", f"{scores.width:.3f}"
        intervals = (coverage, width) if scores.has_intervals else (NOTHING, NOTHING)
        rows.append((name, f"{scores.questions:,}", f"{scores.asked:.0%}", *intervals, f"{scores.mae:.3f}"))
    header = ("model", "questions", "asked", "intervals that hold", "mean width", "MAE")
    return Table("Difficulty, in the bank's unit", header, tuple(rows))


def reliability_plot(
    results: Mapping[str, Mapping[int, LevelScores]], *, theme: Theme = LIGHT, fmt: Format = "png"
) -> bytes:
    """Plot the share of hits by probability, one panel per level; areas are shares of questions."""
    levels = sorted({level for by_level in results.values() for level in by_level})
    with canvas(3.6 * len(levels), 4.0, theme, fmt) as (figure, buffer):
        for column, level in enumerate(levels, 1):
            axes = figure.add_subplot(1, len(levels), column)
            axes.plot([0, 1], [0, 1], color=theme.other, linewidth=1, linestyle=":")
            for color, (name, by_level) in zip(cycle(PALETTE), results.items(), strict=False):
                if level not in by_level:
                    continue
                chance, share, count = zip(*by_level[level].reliability(), strict=True)
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
