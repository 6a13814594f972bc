"""A suite's rows as one table, with what each cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tqnet.bench.runner import Cost
from tqnet.bench.scores import Gain, RowScores, Spread, f1, f1_gain, precision, precision_gain
from tqnet.bench.suite import Row, Suite
from tqnet.evaluation.table import NOTHING, Table


@dataclass
class RowResult:
    """What has come out of a row so far.

    Attributes:
        scores: One per seed that is finished.
        costs: For each of them, what its trainings took; those that rows share count in each.
        errors: Of the seeds that failed, without repeats.
    """

    row: Row
    scores: list[RowScores] = field(default_factory=list)
    costs: list[list[Cost]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def score_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """P@5 and probe F1 by level, with their spread over seeds."""
    rows = tuple(
        (
            result.row.name,
            NOTHING if result.row.paper is None else f"{result.row.paper:.4f}",
            _spread(precision(result.scores)),
            *(_spread(f1(result.scores, level)) for level in _levels(results)),
        )
        for result in results
    )
    header = ("row", "paper", "P@5", *(f"F1 L{level + 1}" for level in _levels(results)))
    return Table(suite.title, header, rows, _notes(suite, results))


def gain_table(results: Sequence[RowResult]) -> Table:
    """What each row has over the first one, on the same questions."""
    first = results[0].scores
    rows = tuple(
        (
            result.row.name,
            _gain(precision_gain(first, result.scores)),
            *(_gain(f1_gain(first, result.scores, level)) for level in _levels(results)),
        )
        for result in results[1:]
        if first and result.scores
    )
    header = ("row", "P@5", *(f"F1 L{level + 1}" for level in _levels(results)))
    notes = ("Intervals are 95 %, bootstrapped by group: of P@5 over queries, of F1 over questions.",)
    return Table(f"Against {results[0].row.name}", header, rows, notes)


def cost_table(results: Sequence[RowResult]) -> Table:
    """What the last stage of each row took, and what all its stages saw."""
    rows = []
    for result in results:
        if not (done := [costs for costs in result.costs if costs]):
            continue
        seen = sum(cost.questions for cost in done[0])
        pace = Spread.of([costs[-1].questions / costs[-1].seconds for costs in done])
        seconds = Spread.of([sum(cost.seconds for cost in costs) for costs in done])
        last = done[0][-1]
        rows.append(
            (
                result.row.name,
                f"{seen:,}",
                _spread(pace, 1),
                NOTHING if seconds is None else f"{seconds.mean / 60:.1f}",
                f"{last.parameters / 1e6:.1f}",
                f"{max(cost.peak_memory_mib for costs in done for cost in costs):,.0f}",
            )
        )
    header = ("row", "questions seen", "questions/s, last stage", "minutes", "parameters, M", "peak memory, MiB")
    return Table("What the rows took", header, tuple(rows))


def structure_table(results: Sequence[RowResult]) -> Table:
    """P@5 by whether query and corpus have figures (TQ-Net, Table 6)."""
    cells = {name: count for r in results for s in r.scores for name, (_, count) in s.structures.items()}
    rows = tuple(
        (result.row.name, *(_spread(Spread.of([s.structures[name][0] for s in result.scores])) for name in cells))
        for result in results
        if result.scores
    )
    header = ("row", *(f"{name} ({count:,})" for name, count in cells.items()))
    return Table("P@5 by pair structure (queries)", header, rows)


def render(suite: Suite, results: Sequence[RowResult], *, markdown: bool = False) -> str:
    """All tables of a suite."""
    tables = [score_table(suite, results), gain_table(results)]
    if suite.by_structure:
        tables.append(structure_table(results))
    tables.append(cost_table(results))
    if markdown:
        return "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in tables if table.rows) + "\n"
    return "\n\n".join(f"{table.title}\n\n{table.text()}" for table in tables if table.rows) + "\n"


def to_dict(results: Sequence[RowResult]) -> dict[str, Any]:
    """Plain numbers for JSON, by row."""
    return {result.row.name: _row(result) for result in results}


def _row(result: RowResult) -> Mapping[str, Any]:
    return {
        "stages": list(result.row.stages),
        "paper": result.row.paper,
        "p@5": [sum(s.precision) / len(s.precision) for s in result.scores if s.precision],
        "structures": [s.structures for s in result.scores],
        "f1": [[level.f1 for level in s.probe] for s in result.scores],
        "costs": [[vars(cost) for cost in costs] for costs in result.costs],
        "errors": result.errors,
    }


def _spread(spread: Spread | None, digits: int = 3) -> str:
    if spread is None:
        return NOTHING
    mean = f"{spread.mean:.{digits}f}"
    return mean if spread.seeds == 1 else f"{mean} ± {spread.deviation:.{digits}f}"


def _levels(results: Sequence[RowResult]) -> range:
    return range(max((len(scores.probe) for result in results for scores in result.scores), default=0))


def _gain(found: Gain | None) -> str:
    if found is None:
        return NOTHING
    difference, interval = found
    return f"{difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _notes(suite: Suite, results: Sequence[RowResult]) -> tuple[str, ...]:
    seeds = max((len(result.scores) for result in results), default=0)
    what = f"Mean ± standard deviation over {seeds} seeds." if seeds > 1 else "One seed."
    trained = (result for result in results if result.row.stages)  # what is not trained has no seed
    missing = (f"{r.row.name}: {len(r.scores)} of {seeds} seeds." for r in trained if len(r.scores) < seeds)
    failed = (f"{result.row.name} failed: {error}" for result in results for error in result.errors)
    return (*([suite.about] if suite.about else []), what, *missing, *failed)
