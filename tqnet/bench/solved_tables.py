"""Tables of rows that are measured by the word problems that they solve."""

from __future__ import annotations

from collections.abc import Sequence

from tqnet.bench.cells import paper_header, spread_cell, suite_notes
from tqnet.bench.results import RowResult
from tqnet.bench.solved import index_spread, solved_spread
from tqnet.bench.suite import Suite
from tqnet.evaluation.table import NOTHING, Table
from tqnet.solver.evaluation import MEASURES, measures_note
from tqnet.solver.representations import LEAST_MEMBERS


def languages(results: Sequence[RowResult]) -> list[str]:
    """Of the problems, in order; none where they have one."""
    return sorted({language for result in results for terms in result.solved for language in terms.languages})


def solved_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """Shares of right answers and equations with their spread over seeds, and how prototypes lie apart."""
    in_paper, parts = paper_header(suite, results), languages(results)
    rows = []
    for result in results:
        own, paper = result.solved, result.row.paper
        shown = [NOTHING if paper is None else f"{paper:.3f}"] if in_paper else []
        spreads = [solved_spread(own, measure) for measure in MEASURES]
        spreads += [solved_spread(own, "answers", part) for part in ("clean", *parts)]
        rows.append((result.row.name, *shown, *map(spread_cell, spreads), spread_cell(index_spread(own), 1)))
    columns = (*MEASURES.values(), "answers without doubles", *(f"answers, {part}" for part in parts))
    notes = (*suite_notes(suite, results), *_about(results))
    return Table(suite.title, ("row", *in_paper, *columns, "Calinski-Harabasz"), tuple(rows), notes)


def _about(results: Sequence[RowResult]) -> list[str]:
    one = next((terms for result in results for terms in result.solved), None)
    if one is None:
        return []
    about = measures_note(len(one.problems), sum(one.doubles))
    return [
        f"{about} Calinski-Harabasz: how far the prototypes' first goals lie apart, by how far they scatter, of "
        f"prototypes with at least {LEAST_MEMBERS} problems of test."
    ]
