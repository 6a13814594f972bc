"""What a row of a table scores, seed by seed, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tqnet.evaluation.metrics import Interval, bootstrap_interval
from tqnet.evaluation.table import StageResult
from tqnet.files import atomic


@dataclass(frozen=True)
class RowScores:
    """One row with one seed.

    Attributes:
        queries, groups, precision: P@5 of each query that counts, for comparing rows query by query.
        structures: P@5 by pair structure (TQ-Net, Table 6), with the number of queries.
        f1: Micro F1 of the probe at each level, coarsest first.
    """

    queries: list[int]
    groups: list[int]
    precision: list[float]
    structures: dict[str, tuple[float, int]]
    f1: list[float]

    @classmethod
    def of(cls, result: StageResult) -> RowScores:
        overall = result.similar.overall if result.similar else None
        cells = result.similar.structures if result.similar else {}
        return cls(
            queries=[] if overall is None else overall.queries.tolist(),
            groups=[] if overall is None else overall.groups.tolist(),
            precision=[] if overall is None else overall.precision.tolist(),
            structures={name: (float(of.precision.mean()), len(of)) for name, of in cells.items() if len(of)},
            f1=[level.scores.micro_f1 for level in result.probe.levels] if result.probe else [],
        )

    def save(self, path: Path) -> None:
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RowScores:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


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


def gain(first: Sequence[RowScores], second: Sequence[RowScores]) -> tuple[float, Interval] | None:
    """How much P@5 of the second row is above the first's, and its 95 % interval, resampled by group.

    Queries are compared one by one, each by its mean over seeds. None where one was not measured, or on others.
    """
    if not first or not second or not first[0].queries or first[0].queries != second[0].queries:
        return None
    means = [np.mean([scores.precision for scores in row], axis=0) for row in (first, second)]
    difference = means[1] - means[0]
    return float(difference.mean()), bootstrap_interval(difference, first[0].groups)
