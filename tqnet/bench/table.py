"""A suite's rows as one table, with what each cost."""

from __future__ import annotations

from collections.abc import Sequence

from tqnet.bench.differences import differences
from tqnet.bench.results import RowResult, levels, structures
from tqnet.bench.runner import Cost
from tqnet.bench.scores import Gain, Spread, concepts, difficulty, f1, precision, recall
from tqnet.bench.suite import Row, Suite
from tqnet.evaluation.agreement import rank_name
from tqnet.evaluation.table import NOTHING, Table


def score_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """P@5, R@n where the suite asks for it, and probe F1 by level, with their spread over seeds."""
    rows = tuple(
        (
            result.row.name,
            *([NOTHING if result.row.paper is None else f"{result.row.paper:.4f}"] if _in_paper(results) else []),
            _spread(precision(result.scores)),
            *([_spread(recall(result.scores))] if suite.recall else []),
            *(_spread(f1(result.scores, level)) for level in levels(results)),
        )
        for result in results
    )
    measures = ("P@5", *([f"R@{suite.recall}"] if suite.recall else []), *(f"F1 L{level}" for level in levels(results)))
    header = ("row", *_paper_header(suite, results), *measures)
    return Table(suite.title, header, rows, _notes(suite, results))


def difference_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """What rows have over others on the same questions, and what they have in the paper."""
    found = differences(suite, results)
    rows = tuple(
        (
            each.row,
            each.over,
            *([NOTHING if each.paper is None else f"{each.paper:+.4f}"] if _in_paper(results) else []),
            *(_gain(gain) for gain in each.gains.values()),
        )
        for each in found
    )
    header = ("row", "over", *_paper_header(suite, results), *(found[0].gains if found else ()))
    another = "the spread above" if _repeats(results) > 1 and not _folded(results) else "not measured here"
    notes = (
        "Intervals are 95 %, bootstrapped by group: of P@5 over queries, of F1 over questions. They hold for these "
        f"trainings; what another seed would change is {another}.",
    )
    return Table("Differences between rows", header, rows, notes)


def concept_table(results: Sequence[RowResult]) -> Table:
    """Accuracy and macro F1 of the probe by level, where they were kept (QuesCo, Table 2)."""
    known = levels(results)
    rows = []
    for result in results:
        spreads = [concepts(result.scores, level, score) for level in known for score in ("accuracy", "macro_f1")]
        if any(spreads):
            rows.append((result.row.name, *map(_spread, spreads)))
    header = ("row", *(f"{score} L{level}" for level in known for score in ("accuracy", "macro F1")))
    return Table("Knowledge points by the same probe", header, tuple(rows))


def difficulty_table(results: Sequence[RowResult]) -> Table:
    """MAE, RMSE, PCC and DOA with their spread over seeds (QuesCo, Table 2)."""
    measures = ("MAE", "RMSE", "PCC", "DOA")
    rows = tuple(
        (result.row.name, *(_spread(difficulty(result.scores, score.lower())) for score in measures))
        for result in results
        if any(scores.difficulty for scores in result.scores)
    )
    notes = ("Difficulties of train span 0 to 1.",)
    return Table("Difficulty by a linear regression", ("row", *measures), rows, notes)


def agreement_table(results: Sequence[RowResult]) -> Table:
    """Correlation of similarities with rank, and the mean cosine by rank (QuesCo, Figure 5)."""
    measured = {result.row.name: [s.agreement for s in result.scores if s.agreement] for result in results}
    ranks = sorted({rank for found in measured.values() for one in found for rank in one.ranks}, key=int)
    rows = tuple(
        (
            name,
            _spread(Spread.of([one.spearman for one in found])),
            _spread(Spread.of([one.pearson for one in found])),
            *(_spread(Spread.of([one.ranks[rank] for one in found if rank in one.ranks])) for rank in ranks),
        )
        for name, found in measured.items()
        if found
    )
    named = (rank_name(int(rank)) for rank in ranks)
    notes = (
        "Between the cosine and minus the rank of pairs: 0 for similar questions, then their KH-distance. Then the "
        "mean cosine of each rank.",
    )
    return Table("Similarity and the knowledge hierarchy", ("row", "Spearman", "Pearson", *named), rows, notes)


def cost_table(results: Sequence[RowResult]) -> Table:
    """What each row took: speed and size are those of its last stage, the rest of all its stages."""
    machines = {cost.machine for result in results for costs in result.costs for cost in costs}
    rows = []
    for result in results:
        if not (done := [costs for costs in result.costs if costs]):
            continue
        seen = sum(cost.questions for cost in done[0])
        pace = Spread.of([costs[-1].pace for costs in done])
        steps = Spread.of([sum(cost.step_seconds for cost in costs) for costs in done])
        walls = Spread.of([wall for costs in done if (wall := _wall(costs)) is not None])
        last = done[0][-1]
        rows.append(
            (
                result.row.name,
                f"{seen:,}",
                _spread(pace, 1),
                NOTHING if steps is None else f"{steps.mean / 60:.1f}",
                NOTHING if walls is None else f"{walls.mean / 60:.1f}",
                f"{last.parameters / 1e6:.1f}",
                f"{max(cost.peak_memory_mib for costs in done for cost in costs):,.0f}",
                *(["; ".join(sorted({cost.machine for costs in done for cost in costs}))] if len(machines) > 1 else []),
            )
        )
    header = (
        "row",
        "questions seen",
        "questions/s, last stage",
        "minutes of steps",
        "by the clock",
        "parameters, M",
        "peak memory, MiB",
        *(["machine"] if len(machines) > 1 else []),
    )
    return Table("What the rows took", header, tuple(rows))


def _wall(costs: Sequence[Cost]) -> float | None:
    """Seconds of a row's trainings by the clock; None where one was not timed."""
    walls = [cost.wall_seconds for cost in costs]
    return None if None in walls else sum(wall for wall in walls if wall is not None)


def structure_table(results: Sequence[RowResult]) -> Table:
    """P@5 by whether query and corpus have figures (TQ-Net, Table 6)."""
    cells = structures(results)
    rows = tuple(
        (result.row.name, *(_spread(precision(result.scores, cell)) + _paper(result.row, cell) for cell in cells))
        for result in results
        if result.scores
    )
    header = ("row", *(f"{cell} ({queries:,})" for cell, queries in cells.items()))
    return Table("P@5 by pair structure (queries; the paper's in brackets)", header, rows)


def render(suite: Suite, results: Sequence[RowResult], *, markdown: bool = False) -> str:
    """All tables of a suite."""
    tables = [score_table(suite, results), difference_table(suite, results)]
    if suite.by_structure:
        tables.append(structure_table(results))
    tables.append(concept_table(results))
    if suite.difficulty:
        tables.append(difficulty_table(results))
    if suite.agreement:
        tables.append(agreement_table(results))
    tables.append(cost_table(results))
    if markdown:
        return "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in tables if table.rows) + "\n"
    return "\n\n".join(f"{table.title}\n\n{table.text()}" for table in tables if table.rows) + "\n"


def _spread(spread: Spread | None, digits: int = 3) -> str:
    if spread is None:
        return NOTHING
    mean = f"{spread.mean:.{digits}f}"
    return mean if spread.seeds == 1 else f"{mean} ± {spread.deviation:.{digits}f}"


def _in_paper(results: Sequence[RowResult]) -> bool:
    """Whether the paper has a number for any row; its column is left out otherwise."""
    return any(result.row.paper is not None for result in results)


def _paper_header(suite: Suite, results: Sequence[RowResult]) -> list[str]:
    return [f"paper's {suite.paper_metric}"] if _in_paper(results) else []


def _paper(row: Row, cell: str) -> str:
    return f" ({row.paper_structures[cell]:.4f})" if cell in row.paper_structures else ""


def _gain(found: Gain | None) -> str:
    if found is None:
        return NOTHING
    difference, interval = found
    return f"{difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _repeats(results: Sequence[RowResult]) -> int:
    return max((len(result.scores) for result in results), default=0)


def _folded(results: Sequence[RowResult]) -> bool:
    """Whether the repeats are folds of a cross-validation, and no seeds."""
    return any(scores.fold is not None for result in results for scores in result.scores)


def _notes(suite: Suite, results: Sequence[RowResult]) -> tuple[str, ...]:
    repeats, folded = _repeats(results), _folded(results)
    each = "folds" if folded else "seeds"
    what = f"Mean ± standard deviation over {repeats} {each}." if repeats > 1 else f"One {each[:-1]}."
    repeated = (result for result in results if folded or result.row.stages)  # what is not trained has no seed
    missing = (f"{r.row.name}: {len(r.scores)} of {repeats} {each}." for r in repeated if len(r.scores) < repeats)
    failed = (f"{result.row.name} failed: {error}" for result in results for error in result.errors)
    known = (f"{result.row.name}: {note}." for result in results for note in result.notes)
    return (*([suite.about] if suite.about else []), what, *known, *missing, *failed)
