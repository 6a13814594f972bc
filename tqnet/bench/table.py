"""A suite's rows as one table, with what each cost."""

from __future__ import annotations

from collections.abc import Sequence

from tqnet.bench.cells import gain_cell, interval_note, paper_header, spread_cell, suite_notes
from tqnet.bench.differences import differences
from tqnet.bench.paraphrase_tables import paraphrase_table, pseudo_label_table
from tqnet.bench.results import RowResult, levels, paraphrase_sets, structures
from tqnet.bench.runner import Cost
from tqnet.bench.scores import concepts, difficulty, f1, precision, recall
from tqnet.bench.solved_tables import solved_table
from tqnet.bench.spread import Spread
from tqnet.bench.suite import Row, Suite
from tqnet.evaluation.agreement import rank_name
from tqnet.evaluation.table import NOTHING, Table


def score_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """P@5, R@n where the suite asks for it, and probe F1 by level, with their spread over seeds."""
    in_paper = paper_header(suite, results)
    rows = tuple(
        (
            result.row.name,
            *([NOTHING if result.row.paper is None else f"{result.row.paper:.4f}"] if in_paper else []),
            spread_cell(precision(result.scores)),
            *([spread_cell(recall(result.scores))] if suite.recall else []),
            *(spread_cell(f1(result.scores, level)) for level in levels(results)),
        )
        for result in results
    )
    measures = ("P@5", *([f"R@{suite.recall}"] if suite.recall else []), *(f"F1 L{level}" for level in levels(results)))
    return Table(suite.title, ("row", *in_paper, *measures), rows, suite_notes(suite, results))


def difference_table(suite: Suite, results: Sequence[RowResult], paraphrases: str | None = None) -> Table:
    """What rows have over others on the same questions or labelled paraphrases, and what they have in the paper."""
    found = [each for each in differences(suite, results) if each.paraphrases == paraphrases]
    in_paper = paper_header(suite, results, paraphrases)
    rows = tuple(
        (
            each.row,
            each.over,
            *([NOTHING if each.paper is None else f"{each.paper:+.4f}"] if in_paper else []),
            *(gain_cell(gain) for gain in each.gains.values()),
        )
        for each in found
    )
    header = ("row", "over", *in_paper, *(found[0].gains if found else ()))
    if paraphrases:
        drawn = "bootstrapped by original, both rows on the same draws"
        return Table(f"Differences between rows: {paraphrases}", header, rows, (interval_note(results, drawn),))
    drawn = "bootstrapped by group: of P@5 over queries, of F1 over questions"
    if suite.solved:
        drawn = "bootstrapped over problems, both rows on the same draws"
    return Table("Differences between rows", header, rows, (interval_note(results, drawn),))


def concept_table(results: Sequence[RowResult]) -> Table:
    """Accuracy and macro F1 of the probe by level, where they were kept (QuesCo, Table 2)."""
    known = levels(results)
    rows = []
    for result in results:
        spreads = [concepts(result.scores, level, score) for level in known for score in ("accuracy", "macro_f1")]
        if any(spreads):
            rows.append((result.row.name, *map(spread_cell, spreads)))
    header = ("row", *(f"{score} L{level}" for level in known for score in ("accuracy", "macro F1")))
    return Table("Knowledge points by the same probe", header, tuple(rows))


def difficulty_table(results: Sequence[RowResult]) -> Table:
    """MAE, RMSE, PCC and DOA with their spread over seeds (QuesCo, Table 2)."""
    measures = ("MAE", "RMSE", "PCC", "DOA")
    rows = tuple(
        (result.row.name, *(spread_cell(difficulty(result.scores, score.lower())) for score in measures))
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
            spread_cell(Spread.of([one.spearman for one in found])),
            spread_cell(Spread.of([one.pearson for one in found])),
            *(spread_cell(Spread.of([one.ranks[rank] for one in found if rank in one.ranks])) for rank in ranks),
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
                spread_cell(pace, 1),
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
        (result.row.name, *(spread_cell(precision(result.scores, cell)) + _paper(result.row, cell) for cell in cells))
        for result in results
        if result.scores
    )
    header = ("row", *(f"{cell} ({queries:,})" for cell, queries in cells.items()))
    return Table("P@5 by pair structure (queries; the paper's in brackets)", header, rows)


def render(suite: Suite, results: Sequence[RowResult], *, markdown: bool = False) -> str:
    """All tables of a suite."""
    if suite.solved:
        tables = [solved_table(suite, results), difference_table(suite, results)]
    else:
        tables = _of_paraphrases(suite, results) if suite.paraphrases else _of_the_bank(suite, results)
    tables.append(cost_table(results))
    if markdown:
        return "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in tables if table.rows) + "\n"
    return "\n\n".join(f"{table.title}\n\n{table.text()}" for table in tables if table.rows) + "\n"


def _of_the_bank(suite: Suite, results: Sequence[RowResult]) -> list[Table]:
    tables = [score_table(suite, results), difference_table(suite, results)]
    if suite.by_structure:
        tables.append(structure_table(results))
    tables.append(concept_table(results))
    if suite.difficulty:
        tables.append(difficulty_table(results))
    if suite.agreement:
        tables.append(agreement_table(results))
    return tables


def _of_paraphrases(suite: Suite, results: Sequence[RowResult]) -> list[Table]:
    files = paraphrase_sets(results)
    if not files:  # no row has come to its end
        return [
            Table(suite.title, ("row",), tuple((result.row.name,) for result in results), suite_notes(suite, results))
        ]
    tables = [table(suite, results, file) for file in files for table in (paraphrase_table, difference_table)]
    return [*tables, pseudo_label_table(results)]


def _paper(row: Row, cell: str) -> str:
    return f" ({row.paper_structures[cell]:.4f})" if cell in row.paper_structures else ""
