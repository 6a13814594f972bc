"""What one row of a table is above another, on the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tqnet.bench.results import RowResult, levels, structures
from tqnet.bench.scores import Gain, difficulty_gain, f1_gain, precision_gain, recall_gain
from tqnet.bench.suite import Suite


@dataclass(frozen=True)
class Difference:
    """One row compared with another.

    Attributes:
        row, over: Their names.
        paper: The difference between the paper's numbers; None where it lacks one of them.
        gains: Measure, ``P@5`` or ``F1 L3`` or the like -> how much ``row`` is above ``over``, and the interval of
            that; None where the two were not measured on the same questions.
    """

    row: str
    over: str
    paper: float | None
    gains: dict[str, Gain | None]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; an interval as its two ends."""
        found = {measure: gain for measure, gain in self.gains.items() if gain is not None}
        gains = {name: {"difference": by, "interval": [ends.low, ends.high]} for name, (by, ends) in found.items()}
        return {"row": self.row, "over": self.over, "paper": self.paper, **gains}


def differences(suite: Suite, results: Sequence[RowResult]) -> list[Difference]:
    """Of the pairs in ``suite.compare``; a row that is in none of them is compared with the first row."""
    named = {result.row.name: result for result in results}
    pairs = [pair for pair in suite.compare if named.keys() >= set(pair)]
    compared = {name for pair in suite.compare for name in pair}
    first = results[0].row.name
    pairs += [[name, first] for name in named if name not in compared and name != first]
    measured = [(named[row], named[over]) for row, over in pairs if named[row].scores and named[over].scores]
    return [_difference(suite, results, row, over) for row, over in measured]


def _difference(suite: Suite, results: Sequence[RowResult], row: RowResult, over: RowResult) -> Difference:
    cells = {"P@5": "overall"} | {f"P@5 {cell}": cell for cell in structures(results) if suite.by_structure}
    gains = {measure: precision_gain(over.scores, row.scores, cell) for measure, cell in cells.items()}
    if suite.recall:
        gains |= {f"R@{suite.recall}": recall_gain(over.scores, row.scores)}
    gains |= {f"F1 L{level}": f1_gain(over.scores, row.scores, level) for level in levels(results)}
    if suite.difficulty:
        gains |= {score: difficulty_gain(over.scores, row.scores, score.lower()) for score in ("MAE", "DOA")}
    own, others = row.row.paper, over.row.paper
    paper = None if own is None or others is None else own - others
    return Difference(row.row.name, over.row.name, paper, gains)
