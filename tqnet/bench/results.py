"""What has come out of a suite so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tqnet.bench.runner import Cost
from tqnet.bench.scores import RowScores, precision
from tqnet.bench.suite import Row


@dataclass
class RowResult:
    """What has come out of a row so far.

    Attributes:
        scores: One per seed that is finished.
        costs: For each of them, what its trainings took; those that rows share count in each.
        notes: What a reader of the scores has to know.
        errors: Of the seeds that failed, without repeats.
    """

    row: Row
    scores: list[RowScores] = field(default_factory=list)
    costs: list[list[Cost]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    errors: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {
            "stages": list(self.row.stages),
            "paper": self.row.paper,
            "p@5": [spread.mean for s in self.scores if (spread := precision([s]))],
            "structures": [
                {cell: spread.mean for cell in s.similar if cell != "overall" and (spread := precision([s], cell))}
                for s in self.scores
            ],
            "f1": [{f"L{level.level}": level.f1 for level in s.probe} for s in self.scores],
            "costs": [[asdict(cost) for cost in costs] for costs in self.costs],
            "notes": list(self.notes),
            "errors": self.errors,
        }


def levels(results: Sequence[RowResult]) -> list[int]:
    """Levels of the hierarchy that were probed in any row."""
    return sorted({terms.level for result in results for scores in result.scores for terms in scores.probe})


def structures(results: Sequence[RowResult]) -> dict[str, int]:
    """Pair structures that were measured in any row, and the queries of each."""
    scores = [scores.similar for result in results for scores in result.scores]
    return {name: len(of.queries) for similar in scores for name, of in similar.items() if name != "overall"}
