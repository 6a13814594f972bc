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
            *([NOTHING if result.row.paper is None else f"{result.row.paper:.4f}"] if _in_paper(results) else []),
            _spread(precision(result.scores)),
            *(_spread(f1(result.scores, level)) for level in _levels(results)),
        )
        for result in results
    )
    header = ("row", *_paper_header(suite, results), "P@5", *(f"F1 L{level}" for level in _levels(results)))
    return Table(suite.title, header, rows, _notes(suite, results))


def gain_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """What a row has over another on the same questions, and what it has in the paper.

    The pairs are those of ``suite.compare``, else every row and the first one.
    """
    named = {result.row.name: result for result in results}
    first = results[0].row.name
    pairs = suite.compare or [[name, first] for name in named if name != first]
    measured = [
        (named[better], named[than])
        for better, than in pairs
        if all(name in named and named[name].scores for name in (better, than))
    ]
    cells = ["overall", *(_structures(results) if suite.by_structure else {})]
    rows = tuple(
        (
            row.row.name,
            than.row.name,
            *([_paper_gain(than.row, row.row)] if _in_paper(results) else []),
            *(_gain(precision_gain(than.scores, row.scores, cell)) for cell in cells),
            *(_gain(f1_gain(than.scores, row.scores, level)) for level in _levels(results)),
        )
        for row, than in measured
    )
    measures = ("P@5", *(f"P@5 {cell}" for cell in cells[1:]), *(f"F1 L{level}" for level in _levels(results)))
    header = ("row", "over", *_paper_header(suite, results), *measures)
    notes = (
        "Intervals are 95 %, bootstrapped by group: of P@5 over queries, of F1 over questions. They hold for these "
        "trainings; what another seed would change is the spread above.",
    )
    return Table("Differences between rows", header, rows, notes)


def cost_table(results: Sequence[RowResult]) -> Table:
    """What each row took: speed and size are those of its last stage, the rest of all its stages."""
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
    cells = _structures(results)
    rows = tuple(
        (result.row.name, *(_spread(precision(result.scores, cell)) + _paper(result.row, cell) for cell in cells))
        for result in results
        if result.scores
    )
    header = ("row", *(f"{cell} ({queries:,})" for cell, queries in cells.items()))
    return Table("P@5 by pair structure (queries; the paper's in brackets)", header, rows)


def render(suite: Suite, results: Sequence[RowResult], *, markdown: bool = False) -> str:
    """All tables of a suite."""
    tables = [score_table(suite, results), gain_table(suite, results)]
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
        "p@5": [spread.mean for s in result.scores if (spread := precision([s]))],
        "structures": [
            {cell: spread.mean for cell in s.similar if cell != "overall" and (spread := precision([s], cell))}
            for s in result.scores
        ],
        "f1": [{f"L{level.level}": level.f1 for level in s.probe} for s in result.scores],
        "costs": [[vars(cost) for cost in costs] for costs in result.costs],
        "errors": result.errors,
    }


def _spread(spread: Spread | None, digits: int = 3) -> str:
    if spread is None:
        return NOTHING
    mean = f"{spread.mean:.{digits}f}"
    return mean if spread.seeds == 1 else f"{mean} ± {spread.deviation:.{digits}f}"


def _levels(results: Sequence[RowResult]) -> list[int]:
    return sorted({terms.level for result in results for scores in result.scores for terms in scores.probe})


def _structures(results: Sequence[RowResult]) -> dict[str, int]:
    """Pair structures that were measured, and the queries of each."""
    scores = [scores.similar for result in results for scores in result.scores]
    return {name: len(of.queries) for similar in scores for name, of in similar.items() if name != "overall"}


def _in_paper(results: Sequence[RowResult]) -> bool:
    """Whether the paper has a number for any row; its column is left out otherwise."""
    return any(result.row.paper is not None for result in results)


def _paper_header(suite: Suite, results: Sequence[RowResult]) -> list[str]:
    return [f"paper's {suite.paper_metric}"] if _in_paper(results) else []


def _paper(row: Row, cell: str) -> str:
    return f" ({row.paper_structures[cell]:.4f})" if cell in row.paper_structures else ""


def _paper_gain(first: Row, second: Row) -> str:
    return NOTHING if first.paper is None or second.paper is None else f"{second.paper - first.paper:+.4f}"


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
    transductive = (
        f"{result.row.name}: {', '.join(stages)} also read the questions of valid and test (transductive)."
        for result in results
        if (stages := suite.transductive(result.row))
    )
    return (*([suite.about] if suite.about else []), what, *transductive, *missing, *failed)
