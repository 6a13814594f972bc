"""Tables of a suite: scores of its rows, differences between them, and what each row took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from reproduce.bench import scores as spreads
from reproduce.bench.results import RowResult, differences, languages, levels, paraphrase_sets, structures
from reproduce.bench.scores import Gain, Spread
from reproduce.bench.suite import Suite
from tqnet.evaluation.agreement import rank_name
from tqnet.evaluation.metrics import gain_text
from tqnet.evaluation.table import NOTHING, Table, render_tables
from tqnet.solver.evaluation import MEASURES, measures_note
from tqnet.solver.representations import LEAST_MEMBERS

#: ParaQD's columns (Tables 1 and 4 to 9) -> metrics.
PARAPHRASE_COLUMNS = {
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

#: Heading -> the spread of each row.
Columns = Mapping[str, Sequence[Spread | None]]


def render(suite: Suite, results: Sequence[RowResult], *, markdown: bool = False) -> str:
    """Return all tables of a suite that have rows, as text or as Markdown."""
    tables = (*_tables(suite, results), cost_table(results))
    return render_tables([table for table in tables if table.rows], markdown=markdown)


def _tables(suite: Suite, results: Sequence[RowResult]) -> Iterable[Table]:
    if suite.solved:
        return [solved_table(suite, results), difference_table(suite, results)]
    if suite.paraphrases:
        files = paraphrase_sets(results)
        if not files:  # no row is finished
            names = tuple((result.row.name,) for result in results)
            return [Table(suite.title, ("row",), names, suite_notes(suite, results))]
        tables = [table(suite, results, file) for file in files for table in (paraphrase_table, difference_table)]
        return [*tables, pseudo_label_table(results)]
    return [
        score_table(suite, results),
        difference_table(suite, results),
        *([structure_table(results)] if suite.by_structure else []),
        concept_table(results),
        *([difficulty_table(results)] if suite.difficulty else []),
        *([agreement_table(results)] if suite.agreement else []),
    ]


def _suite_table(
    suite: Suite, results: Sequence[RowResult], columns: Columns, notes: Sequence[str], digits: int = 3, file: str = ""
) -> Table:
    """A row for each row of the suite, the paper's number first if it has any."""
    in_paper = paper_header(suite, results, file)
    rows = []
    for result, *row in zip(results, *columns.values(), strict=True):
        paper = result.row.paper_paraphrases.get(file) if file else result.row.paper
        cells = [NOTHING if paper is None else f"{paper:.{digits}f}"] if in_paper else []
        rows.append((result.row.name, *cells, *map(spread_cell, row)))
    title = f"{suite.title}: {file}" if file else suite.title
    return Table(title, ("row", *in_paper, *columns), tuple(rows), tuple(notes))


def _measured_table(title: str, results: Sequence[RowResult], columns: Columns, *notes: str) -> Table:
    """A row for each row of the suite that has any of the scores."""
    rows = zip(results, *columns.values(), strict=True)
    shown = tuple((result.row.name, *map(spread_cell, row)) for result, *row in rows if any(row))
    return Table(title, ("row", *columns), shown, notes)


def score_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """P@5, R@n where the suite asks for it, and probe F1 by level, with their spread over seeds."""
    columns = {"P@5": [spreads.precision(result.scores) for result in results]}
    if suite.recall:
        columns[f"R@{suite.recall}"] = [spreads.recall(result.scores) for result in results]
    for level in levels(results):
        columns[f"F1 L{level}"] = [spreads.concepts(result.scores, level) for result in results]
    return _suite_table(suite, results, columns, suite_notes(suite, results), digits=4)


def structure_table(results: Sequence[RowResult]) -> Table:
    """P@5 by whether query and corpus have figures (TQ-Net, Table 6)."""
    cells = structures(results)
    rows = []
    for result in results:
        papers = (result.row.paper_structures.get(cell) for cell in cells)
        in_paper = ("" if paper is None else f" ({paper:.4f})" for paper in papers)
        here = (spread_cell(spreads.precision(result.scores, cell)) for cell in cells)
        if result.scores:
            rows.append((result.row.name, *map("".join, zip(here, in_paper, strict=True))))
    header = ("row", *(f"{cell} ({queries:,})" for cell, queries in cells.items()))
    return Table("P@5 by pair structure (queries; the paper's in brackets)", header, tuple(rows))


def concept_table(results: Sequence[RowResult]) -> Table:
    """Accuracy and macro F1 of the probe by level (QuesCo, Table 2)."""
    columns = {
        f"{score.replace('_f1', ' F1')} L{level}": [spreads.concepts(result.scores, level, score) for result in results]
        for level in levels(results)
        for score in ("accuracy", "macro_f1")
    }
    return _measured_table("Knowledge points by the same probe", results, columns)


def difficulty_table(results: Sequence[RowResult]) -> Table:
    """MAE, RMSE, PCC and DOA with their spread over seeds (QuesCo, Table 2)."""
    scores = ("MAE", "RMSE", "PCC", "DOA")
    columns = {score: [spreads.difficulty(result.scores, score.lower()) for result in results] for score in scores}
    note = "Training difficulties range from 0 to 1."
    return _measured_table("Difficulty by a linear regression", results, columns, note)


def agreement_table(results: Sequence[RowResult]) -> Table:
    """Correlation of similarities with rank, and the mean cosine by rank (QuesCo, Figure 5)."""
    measured = [[scores.agreement for scores in result.scores if scores.agreement] for result in results]
    ranks = sorted({rank for seeds in measured for agreement in seeds for rank in agreement.ranks}, key=int)
    columns = {
        "Spearman": [Spread.of(agreement.spearman for agreement in seeds) for seeds in measured],
        "Pearson": [Spread.of(agreement.pearson for agreement in seeds) for seeds in measured],
    }
    for rank in ranks:
        cosines = ([agreement.ranks[rank] for agreement in seeds if rank in agreement.ranks] for seeds in measured)
        columns[rank_name(int(rank))] = list(map(Spread.of, cosines))
    note = (
        "Correlation of the cosine with minus the rank of a pair: 0 for similar questions, otherwise their "
        "KH-distance. The other columns are the mean cosine of each rank."
    )
    return _measured_table("Similarity and the knowledge hierarchy", results, columns, note)


def paraphrase_table(suite: Suite, results: Sequence[RowResult], file: str) -> Table:
    """The scores of a file's labelled paraphrases, with their spread over seeds."""
    columns = {
        heading: [spreads.paraphrase_spread(result.paraphrases(file), metric) for result in results]
        for heading, metric in PARAPHRASE_COLUMNS.items()
    }
    pairs = paraphrase_sets(results)[file].metrics
    about = (
        f"{file}: {len(pairs.valid):,} pairs of {len(np.unique(pairs.groups)):,} questions, {pairs.valid.sum():,} "
        f"valid; a score above {pairs.threshold:g} counts as valid. F1 is the harmonic mean of the averaged precision "
        "and recall, as in the paper; µ+ and µ- are the mean scores of valid and of invalid pairs, the separation µs "
        "is their difference."
    )
    first = file == next(iter(paraphrase_sets(results)))  # whose table carries the notes of the whole suite
    notes = (*suite_notes(suite, results), about) if first else (about,)
    return _suite_table(suite, results, columns, notes, file=file)


def pseudo_label_table(results: Sequence[RowResult]) -> Table:
    """Shares of the training pairs that the start encoder labelled valid and invalid (ParaQD, Table 9)."""
    rows = []
    for result in results:
        labelled = [cost.pseudo_labels for costs in result.costs for cost in costs if cost.pseudo_labels]
        if labelled:
            pairs = sum(labels["positive"] + labels["negative"] for labels in labelled)
            shares = (Spread.of(labels[f"{kind}_percent"] for labels in labelled) for kind in ("positive", "negative"))
            rows.append((result.row.name, f"{pairs:,.0f}", *(spread_cell(share, 2) for share in shares)))
    return Table("Pseudo-labels", ("row", "pairs", "positive, %", "negative, %"), tuple(rows))


def solved_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """Shares of right answers and equations with their spread over seeds, and the separation of prototypes."""
    parts = {heading: (measure, "") for measure, heading in MEASURES.items()}
    parts |= {"answers without near-duplicates": ("answers", "clean")}
    parts |= {f"answers, {language}": ("answers", language) for language in languages(results)}
    columns = {
        heading: [spreads.solved_spread(result.solved, *part) for result in results] for heading, part in parts.items()
    }
    notes = suite_notes(suite, results)
    if first := next((terms for result in results for terms in result.solved), None):
        index = "Calinski-Harabasz: between-prototype over within-prototype variance of the decoder's first goals, of "
        members = f"prototypes with at least {LEAST_MEMBERS} test problems."
        notes += (f"{measures_note(len(first.problems), sum(first.doubles))} {index}{members}",)
    table = _suite_table(suite, results, columns, notes)
    indices = (spread_cell(spreads.index_spread(result.solved), 1) for result in results)
    rows = tuple((*row, index) for row, index in zip(table.rows, indices, strict=True))
    return Table(table.title, (*table.header, "Calinski-Harabasz"), rows, table.notes)


def difference_table(suite: Suite, results: Sequence[RowResult], paraphrases: str = "") -> Table:
    """Gains of rows over others on the same questions or labelled paraphrases, next to those of the paper."""
    compared = [each for each in differences(suite, results) if (each.paraphrases or "") == paraphrases]
    in_paper = paper_header(suite, results, paraphrases)
    rows = []
    for each in compared:
        paper = [NOTHING if each.paper is None else f"{each.paper:+.4f}"] if in_paper else []
        rows.append((each.row, each.over, *paper, *map(gain_cell, each.gains.values())))
    header = ("row", "over", *in_paper, *(compared[0].gains if compared else ()))
    title, drawn = "Differences between rows", "by group: of P@5 over queries, of F1 over questions"
    if paraphrases:
        title, drawn = f"Differences between rows: {paraphrases}", "by original, both rows on the same draws"
    if suite.solved:
        drawn = "over problems, both rows on the same draws"
    seeds = "the spread above" if _repeats(results) > 1 and not _folded(results) else "not measured here"
    note = (
        f"Intervals are 95 %, bootstrapped {drawn}. They hold for these trainings; the effect of the seed is {seeds}."
    )
    return Table(title, header, tuple(rows), (note,))


def cost_table(results: Sequence[RowResult]) -> Table:
    """What each row took: speed and size are those of its last stage, the rest of all its stages."""
    machines = {cost.machine for result in results for costs in result.costs for cost in costs}
    rows = []
    for result in results:
        if not (done := [costs for costs in result.costs if costs]):
            continue
        steps, walls = (
            np.mean([sum(getattr(cost, name) for cost in costs) for costs in done]) / 60
            for name in ("step_seconds", "wall_seconds")
        )
        cells = [
            result.row.name,
            f"{sum(cost.questions for cost in done[0]):,}",
            spread_cell(Spread.of(costs[-1].pace for costs in done), 1),
            f"{steps:.1f}",
            f"{walls:.1f}",
            f"{done[0][-1].parameters / 1e6:.1f}",
            f"{max(cost.peak_memory_mib for costs in done for cost in costs):,.0f}",
            "; ".join(sorted({cost.machine for costs in done for cost in costs})),
        ]
        rows.append(tuple(cells if len(machines) > 1 else cells[:-1]))
    header = ["row", "questions seen", "questions/s, last stage", "minutes of steps", "by the clock", "parameters, M"]
    header += ["peak memory, MiB", *(["machine"] if len(machines) > 1 else [])]
    return Table("What the rows took", tuple(header), tuple(rows))


def spread_cell(spread: Spread | None, digits: int = 3) -> str:
    """The mean, and its deviation where there are several seeds."""
    if spread is None:
        return NOTHING
    mean = f"{spread.mean:.{digits}f}"
    return mean if spread.seeds == 1 else f"{mean} ± {spread.deviation:.{digits}f}"


def gain_cell(gain: Gain | None) -> str:
    """The difference and its interval."""
    return NOTHING if gain is None else gain_text(*gain)


def paper_header(suite: Suite, results: Sequence[RowResult], paraphrases: str = "") -> list[str]:
    """The heading of the paper's column; empty where it has no number for any row."""
    rows = [result.row for result in results]
    numbers = [row.paper_paraphrases.get(paraphrases) if paraphrases else row.paper for row in rows]
    return [] if all(number is None for number in numbers) else [f"paper's {suite.paper_metric}"]


def suite_notes(suite: Suite, results: Sequence[RowResult]) -> tuple[str, ...]:
    """Notes below a table: the number of seeds or folds, and what is missing."""
    count, folded = _repeats(results), _folded(results)
    each = "folds" if folded else "seeds"
    spread = f"Mean ± standard deviation over {count} {each}." if count > 1 else f"One {each[:-1]}."
    repeated = (result for result in results if folded or result.row.stages)  # what is not trained has no seed
    missing = (f"{r.row.name}: {len(r.scores)} of {count} {each}." for r in repeated if len(r.scores) < count)
    failed = (f"{result.row.name} failed: {error}" for result in results for error in result.errors)
    notes = (f"{result.row.name}: {note}." for result in results for note in result.notes)
    return (*([suite.about] if suite.about else []), spread, *notes, *missing, *failed)


def _repeats(results: Sequence[RowResult]) -> int:
    return max((len(result.scores) for result in results), default=0)


def _folded(results: Sequence[RowResult]) -> bool:
    return any(scores.fold is not None for result in results for scores in result.scores)
