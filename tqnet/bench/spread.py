"""A score over the seeds of a row, and how much one row is above another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tqnet.evaluation.metrics import Interval

#: How much one row is above another, and the 95 % interval of that.
Gain = tuple[float, Interval]


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
