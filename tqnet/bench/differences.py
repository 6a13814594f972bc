"""What one row of a table is above another, on the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tqnet.bench.paraphrases import COMPARED, paraphrase_gain
from tqnet.bench.results import RowResult, levels, paraphrase_sets, structures
from tqnet.bench.scores import difficulty_gain, f1_gain, precision_gain, recall_gain, solved_gain
from tqnet.bench.solved import COMPARED as SOLVED
from tqnet.bench.solved_tables import languages
from tqnet.bench.spread import Gain
from tqnet.bench.suite import Suite


@dataclass(frozen=True)
class Difference:
    """One row compared with another.

    Attributes:
        row, over: Their names.
        paper: The difference between the paper's numbers; None where it lacks one of them.
        gains: Measure, ``P@5`` or ``F1 L3`` or the like -> how much ``row`` is above ``over``, and the interval of
            that; None where the two were not measured on the same questions.
        paraphrases: The file of labelled paraphrases that they are compared on; None on the bank's own questions.
    """

    row: str
    over: str
    paper: float | None
    gains: dict[str, Gain | None]
    paraphrases: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; an interval as its two ends."""
        found = {measure: gain for measure, gain in self.gains.items() if gain is not None}
        gains = {name: {"difference": by, "interval": [ends.low, ends.high]} for name, (by, ends) in found.items()}
        on = {"paraphrases": self.paraphrases} if self.paraphrases else {}
        return {"row": self.row, "over": self.over, **on, "paper": self.paper, **gains}


def differences(suite: Suite, results: Sequence[RowResult]) -> list[Difference]:
    """Of the pairs in ``suite.compare``; a row that is in none of them is compared with the first row."""
    named = {result.row.name: result for result in results}
    pairs = [pair for pair in suite.compare if named.keys() >= set(pair)]
    compared = {name for pair in suite.compare for name in pair}
    first = results[0].row.name
    pairs += [[name, first] for name in named if name not in compared and name != first]
    measured = [(named[row], named[over]) for row, over in pairs if named[row].scores and named[over].scores]
    if suite.paraphrases:
        return [_on_paraphrases(row, over, file) for file in paraphrase_sets(results) for row, over in measured]
    if suite.solved:
        parts = languages(results)
        return [_in_solving(row, over, parts) for row, over in measured]
    return [_difference(suite, results, row, over) for row, over in measured]


def _difference(suite: Suite, results: Sequence[RowResult], row: RowResult, over: RowResult) -> Difference:
    cells = {"P@5": "overall"} | {f"P@5 {cell}": cell for cell in structures(results) if suite.by_structure}
    gains = {measure: precision_gain(over.scores, row.scores, cell) for measure, cell in cells.items()}
    if suite.recall:
        gains |= {f"R@{suite.recall}": recall_gain(over.scores, row.scores)}
    gains |= {f"F1 L{level}": f1_gain(over.scores, row.scores, level) for level in levels(results)}
    if suite.difficulty:
        gains |= {score: difficulty_gain(over.scores, row.scores, score.lower()) for score in ("MAE", "DOA")}
    return Difference(row.row.name, over.row.name, _apart(row.row.paper, over.row.paper), gains)


def _on_paraphrases(row: RowResult, over: RowResult, file: str) -> Difference:
    own, others = row.paraphrases(file), over.paraphrases(file)
    gains = {measure: paraphrase_gain(others, own, metric) for measure, metric in COMPARED.items()}
    paper = _apart(row.row.paper_paraphrases.get(file), over.row.paper_paraphrases.get(file))
    return Difference(row.row.name, over.row.name, paper, gains, file)


def _in_solving(row: RowResult, over: RowResult, languages: Sequence[str]) -> Difference:
    gains = {measure: solved_gain(over.scores, row.scores, measure) for measure in SOLVED}
    gains |= {f"answers, {part}": solved_gain(over.scores, row.scores, "answers", part) for part in languages}
    return Difference(row.row.name, over.row.name, _apart(row.row.paper, over.row.paper), gains)


def _apart(own: float | None, others: float | None) -> float | None:
    return None if own is None or others is None else own - others
