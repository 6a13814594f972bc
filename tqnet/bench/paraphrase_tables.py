"""Tables of rows that are measured by labelled paraphrases (ParaQD, Tables 1 and 4 to 9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tqnet.bench.cells import paper_header, paper_number, spread_cell, suite_notes
from tqnet.bench.paraphrases import paraphrase_spread
from tqnet.bench.results import RowResult, paraphrase_sets
from tqnet.bench.spread import Spread
from tqnet.bench.suite import Suite
from tqnet.evaluation.table import NOTHING, Table

#: The paper's columns -> the metrics that stand there.
COLUMNS = {
    "macro P": "macro_precision",
    "macro R": "macro_recall",
    "macro F1": "macro_f1",
    "weighted P": "weighted_precision",
    "weighted R": "weighted_recall",
    "weighted F1": "weighted_f1",
    "µ+": "mu_valid",
    "µ-": "mu_invalid",
    "µs": "separation",
}


def paraphrase_table(suite: Suite, results: Sequence[RowResult], file: str) -> Table:
    """The scores of a file's pairs, with their spread over seeds."""
    in_paper = paper_header(suite, results, file)
    rows = []
    for result in results:
        paper = paper_number(result.row, file)
        spreads = (paraphrase_spread(result.paraphrases(file), metric) for metric in COLUMNS.values())
        shown = [NOTHING if paper is None else f"{paper:.3f}"] if in_paper else []
        rows.append((result.row.name, *shown, *map(spread_cell, spreads)))
    about = _about(results, file)
    # What holds for the whole suite stands below the first of its tables.
    notes = (*suite_notes(suite, results), about) if file == next(iter(paraphrase_sets(results))) else (about,)
    return Table(f"{suite.title}: {file}", ("row", *in_paper, *COLUMNS), tuple(rows), notes)


def pseudo_label_table(results: Sequence[RowResult]) -> Table:
    """Shares of the training pairs that the start encoder labelled valid and invalid (ParaQD, Table 9)."""
    rows = []
    for result in results:
        labelled = [cost.pseudo_labels for costs in result.costs for cost in costs if cost.pseudo_labels]
        if labelled:
            pairs = sum(one["positive"] + one["negative"] for one in labelled)
            shares = (Spread.of([one[f"{label}_percent"] for one in labelled]) for label in ("positive", "negative"))
            rows.append((result.row.name, f"{pairs:,.0f}", *(spread_cell(share, 2) for share in shares)))
    return Table("Pseudo-labels", ("row", "pairs", "positive, %", "negative, %"), tuple(rows))


def _about(results: Sequence[RowResult], file: str) -> str:
    found = paraphrase_sets(results)[file].metrics
    return (
        f"{file}: {len(found.valid):,} pairs of {len(np.unique(found.groups)):,} questions, {found.valid.sum():,} "
        f"valid; called so is a score above {found.threshold:g}. F1 is the harmonic mean of the averaged precision "
        "and recall, as in the paper; µ+ and µ- are the mean scores of valid and of invalid pairs, the separation µs "
        "is their difference."
    )
