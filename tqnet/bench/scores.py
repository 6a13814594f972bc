"""What a row of a table scores, seed by seed, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tqnet.evaluation.metrics import Interval, bootstrap_interval, percentiles, resampled_ratio
from tqnet.evaluation.probe import LevelResult
from tqnet.evaluation.table import StageResult
from tqnet.files import atomic


@dataclass(frozen=True)
class ProbeTerms:
    """Micro F1 of one level as a ratio of sums over the questions (`tqnet.evaluation.metrics.f1_terms`).

    Attributes:
        above, below, groups: Of each question of ``test``.
    """

    above: list[int]
    below: list[int]
    groups: list[int]

    @classmethod
    def of(cls, level: LevelResult) -> ProbeTerms:
        above, below = level.f1_terms.tolist()
        return cls(above, below, level.groups.tolist())

    @property
    def f1(self) -> float:
        return sum(self.above) / max(1, sum(self.below))


@dataclass(frozen=True)
class RowScores:
    """One row with one seed.

    Attributes:
        queries, groups, precision: P@5 of each query that counts, for comparing rows query by query.
        structures: P@5 by pair structure (TQ-Net, Table 6), with the number of queries.
        probe: Of each level of the hierarchy, coarsest first.
    """

    queries: list[int]
    groups: list[int]
    precision: list[float]
    structures: dict[str, tuple[float, int]]
    probe: list[ProbeTerms]

    @classmethod
    def of(cls, result: StageResult) -> RowScores:
        overall = result.similar.overall if result.similar else None
        cells = result.similar.structures if result.similar else {}
        return cls(
            queries=[] if overall is None else overall.queries.tolist(),
            groups=[] if overall is None else overall.groups.tolist(),
            precision=[] if overall is None else overall.precision.tolist(),
            structures={name: (float(of.precision.mean()), len(of)) for name, of in cells.items() if len(of)},
            probe=[ProbeTerms.of(level) for level in result.probe.levels] if result.probe else [],
        )

    def save(self, path: Path) -> None:
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RowScores:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(**kept | {"probe": [ProbeTerms(**level) for level in kept["probe"]]})


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, and their standard deviation (0 for one seed)."""

    mean: float
    deviation: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """None of nothing."""
        if not values:
            return None
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0, len(values))


def precision(row: Sequence[RowScores]) -> Spread | None:
    """P@5 of a row."""
    return Spread.of([float(np.mean(scores.precision)) for scores in row if scores.precision])


def f1(row: Sequence[RowScores], level: int) -> Spread | None:
    """Probe F1 of a row; level 0 is the coarsest."""
    return Spread.of([scores.probe[level].f1 for scores in row if level < len(scores.probe)])


Gain = tuple[float, Interval]


def precision_gain(first: Sequence[RowScores], second: Sequence[RowScores]) -> Gain | None:
    """How much P@5 of the second row is above the first's, and its 95 % interval, resampled by group.

    Queries are compared one by one, each by its mean over seeds. None where one was not measured, or on others.
    """
    if not first or not second or not first[0].queries or first[0].queries != second[0].queries:
        return None
    means = [np.mean([scores.precision for scores in row], axis=0) for row in (first, second)]
    difference = means[1] - means[0]
    return float(difference.mean()), bootstrap_interval(difference, first[0].groups)


def f1_gain(first: Sequence[RowScores], second: Sequence[RowScores], level: int) -> Gain | None:
    """How much probe F1 of the second row is above the first's, and its 95 % interval, resampled by group.

    Both rows answer the same questions of each draw; the answers of all seeds are pooled. None where one has no
    probe of that level, or on other questions.
    """
    rows = [[scores.probe[level] for scores in row if level < len(scores.probe)] for row in (first, second)]
    if not all(rows) or rows[0][0].groups != rows[1][0].groups:
        return None
    groups = rows[0][0].groups
    terms = [[np.sum([getattr(of, name) for of in row], axis=0) for name in ("above", "below")] for row in rows]
    f1s = [above.sum() / max(1, below.sum()) for above, below in terms]
    draws = [resampled_ratio(above, below, groups) for above, below in terms]
    return float(f1s[1] - f1s[0]), percentiles(draws[1] - draws[0])
