"""Tables of a suite: scores of its rows, differences between them, and what each row took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from reproduce.bench.results import RowResult, differences, languages, levels, paraphrase_sets, structures
from reproduce.bench.scores import (
    Gain,
    Spread,
    concepts,
    difficulty,
    f1,
    index_spread,
    paraphrase_spread,
    precision,
    recall,
    solved_spread,
)
from reproduce.bench.suite import Row, Suite
from reproduce.bench.trainings import Cost
from tqnet.evaluation.agreement import rank_name
from tqnet.evaluation.table import NOTHING, Table
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


def render(suite: Suite, results: Sequence[RowResult], *, markdown: bool = False) -> str:
    """All tables of a suite, as text or as Markdown."""
    tables = [table for table in (*_tables(suite, results), cost_table(results)) if table.rows]
    if markdown:
        return "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in tables) + "\n"
    return "\n\n".join(f"{table.title}\n\n{table.text()}" for table in tables) + "\n"


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


def score_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """P@5, R@n where the suite asks for it, and probe F1 by level, with their spread over seeds."""
    in_paper = paper_header(suite, results)
    rows = tuple(
        (
            result.row.name,
            *([_paper_cell(result.row.paper, 4)] if in_paper else []),
            spread_cell(precision(result.scores)),
            *([spread_cell(recall(result.scores))] if suite.recall else []),
            *(spread_cell(f1(result.scores, level)) for level in levels(results)),
        )
        for result in results
    )
    measures = ("P@5", *([f"R@{suite.recall}"] if suite.recall else []), *(f"F1 L{level}" for level in levels(results)))
    return Table(suite.title, ("row", *in_paper, *measures), rows, suite_notes(suite, results))


def structure_table(results: Sequence[RowResult]) -> Table:
    """P@5 by whether query and corpus have figures (TQ-Net, Table 6)."""
    cells = structures(results)
    rows = tuple(
        (
            result.row.name,
            *(spread_cell(precision(result.scores, cell)) + _in_paper(result.row, cell) for cell in cells),
        )
        for result in results
        if result.scores
    )
    header = ("row", *(f"{cell} ({queries:,})" for cell, queries in cells.items()))
    return Table("P@5 by pair structure (queries; the paper's in brackets)", header, rows)


def _in_paper(row: Row, cell: str) -> str:
    return f" ({row.paper_structures[cell]:.4f})" if cell in row.paper_structures else ""


def concept_table(results: Sequence[RowResult]) -> Table:
    """Accuracy and macro F1 of the probe by level (QuesCo, Table 2); without rows of versions that lack them."""
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
    notes = ("Training difficulties range from 0 to 1.",)
    return Table("Difficulty by a linear regression", ("row", *measures), rows, notes)


def agreement_table(results: Sequence[RowResult]) -> Table:
    """Correlation of similarities with rank, and the mean cosine by rank (QuesCo, Figure 5)."""
    measured = {r.row.name: scores for r in results if (scores := [s.agreement for s in r.scores if s.agreement])}
    ranks = sorted({rank for seeds in measured.values() for scores in seeds for rank in scores.ranks}, key=int)
    rows = tuple(
        (
            name,
            spread_cell(Spread.of([scores.spearman for scores in seeds])),
            spread_cell(Spread.of([scores.pearson for scores in seeds])),
            *(spread_cell(Spread.of([s.ranks[rank] for s in seeds if rank in s.ranks])) for rank in ranks),
        )
        for name, seeds in measured.items()
    )
    named = (rank_name(int(rank)) for rank in ranks)
    notes = (
        "Correlation of the cosine with minus the rank of a pair: 0 for similar questions, otherwise their "
        "KH-distance. The other columns are the mean cosine of each rank.",
    )
    return Table("Similarity and the knowledge hierarchy", ("row", "Spearman", "Pearson", *named), rows, notes)


def paraphrase_table(suite: Suite, results: Sequence[RowResult], file: str) -> Table:
    """The scores of a file's labelled paraphrases, with their spread over seeds."""
    in_paper = paper_header(suite, results, file)
    rows = []
    for result in results:
        spreads = (paraphrase_spread(result.paraphrases(file), metric) for metric in PARAPHRASE_COLUMNS.values())
        paper = [_paper_cell(result.row.paper_paraphrases.get(file))] if in_paper else []
        rows.append((result.row.name, *paper, *map(spread_cell, spreads)))
    pairs = paraphrase_sets(results)[file].metrics
    about = (
        f"{file}: {len(pairs.valid):,} pairs of {len(np.unique(pairs.groups)):,} questions, {pairs.valid.sum():,} "
        f"valid; a score above {pairs.threshold:g} counts as valid. F1 is the harmonic mean of the averaged precision "
        "and recall, as in the paper; µ+ and µ- are the mean scores of valid and of invalid pairs, the separation µs "
        "is their difference."
    )
    first = file == next(iter(paraphrase_sets(results)))  # whose table carries the notes of the whole suite
    notes = (*suite_notes(suite, results), about) if first else (about,)
    return Table(f"{suite.title}: {file}", ("row", *in_paper, *PARAPHRASE_COLUMNS), tuple(rows), notes)


def pseudo_label_table(results: Sequence[RowResult]) -> Table:
    """Shares of the training pairs that the start encoder labelled valid and invalid (ParaQD, Table 9)."""
    rows = []
    for result in results:
        labelled = [cost.pseudo_labels for costs in result.costs for cost in costs if cost.pseudo_labels]
        if labelled:
            pairs = sum(labels["positive"] + labels["negative"] for labels in labelled)
            shares = (
                Spread.of([labels[f"{kind}_percent"] for labels in labelled]) for kind in ("positive", "negative")
            )
            rows.append((result.row.name, f"{pairs:,.0f}", *(spread_cell(share, 2) for share in shares)))
    return Table("Pseudo-labels", ("row", "pairs", "positive, %", "negative, %"), tuple(rows))


def solved_table(suite: Suite, results: Sequence[RowResult]) -> Table:
    """Shares of right answers and equations with their spread over seeds, and the separation of prototypes."""
    in_paper, parts = paper_header(suite, results), languages(results)
    rows = []
    for result in results:
        terms = result.solved
        spreads = [solved_spread(terms, measure) for measure in MEASURES]
        spreads += [solved_spread(terms, "answers", part) for part in ("clean", *parts)]
        paper = [_paper_cell(result.row.paper)] if in_paper else []
        rows.append((result.row.name, *paper, *map(spread_cell, spreads), spread_cell(index_spread(terms), 1)))
    columns = (*MEASURES.values(), "answers without near-duplicates", *(f"answers, {part}" for part in parts))
    notes = suite_notes(suite, results)
    if first := next((terms for result in results for terms in result.solved), None):
        index = "Calinski-Harabasz: between-prototype over within-prototype variance of the decoder's first goals, of "
        members = f"prototypes with at least {LEAST_MEMBERS} test problems."
        notes += (f"{measures_note(len(first.problems), sum(first.doubles))} {index}{members}",)
    return Table(suite.title, ("row", *in_paper, *columns, "Calinski-Harabasz"), tuple(rows), notes)


def difference_table(suite: Suite, results: Sequence[RowResult], paraphrases: str | None = None) -> Table:
    """Gains of rows over others on the same questions or labelled paraphrases, beside those of the paper."""
    compared = [each for each in differences(suite, results) if each.paraphrases == paraphrases]
    in_paper = paper_header(suite, results, paraphrases)
    rows = tuple(
        (
            each.row,
            each.over,
            *([NOTHING if each.paper is None else f"{each.paper:+.4f}"] if in_paper else []),
            *(gain_cell(gain) for gain in each.gains.values()),
        )
        for each in compared
    )
    header = ("row", "over", *in_paper, *(compared[0].gains if compared else ()))
    if paraphrases:
        title, drawn = f"Differences between rows: {paraphrases}", "by original, both rows on the same draws"
    else:
        title, drawn = "Differences between rows", "by group: of P@5 over queries, of F1 over questions"
    if suite.solved:
        drawn = "over problems, both rows on the same draws"
    seeds = "the spread above" if _repeats(results) > 1 and not _folded(results) else "not measured here"
    note = (
        f"Intervals are 95 %, bootstrapped {drawn}. They hold for these trainings; the effect of the seed is {seeds}."
    )
    return Table(title, header, rows, (note,))


def cost_table(results: Sequence[RowResult]) -> Table:
    """What each row took: speed and size are those of its last stage, the rest of all its stages."""
    machines = {cost.machine for result in results for costs in result.costs for cost in costs}
    rows = []
    for result in results:
        if not (done := [costs for costs in result.costs if costs]):
            continue
        steps = Spread.of([sum(cost.step_seconds for cost in costs) for costs in done])
        walls = Spread.of([wall for costs in done if (wall := _wall(costs)) is not None])
        rows.append(
            (
                result.row.name,
                f"{sum(cost.questions for cost in done[0]):,}",
                spread_cell(Spread.of([costs[-1].pace for costs in done]), 1),
                NOTHING if steps is None else f"{steps.mean / 60:.1f}",
                NOTHING if walls is None else f"{walls.mean / 60:.1f}",
                f"{done[0][-1].parameters / 1e6:.1f}",
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


def spread_cell(spread: Spread | None, digits: int = 3) -> str:
    """The mean, and its deviation where there are several seeds."""
    if spread is None:
        return NOTHING
    mean = f"{spread.mean:.{digits}f}"
    return mean if spread.seeds == 1 else f"{mean} ± {spread.deviation:.{digits}f}"


def gain_cell(gain: Gain | None) -> str:
    """The difference and its interval."""
    if gain is None:
        return NOTHING
    difference, interval = gain
    return f"{difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _paper_cell(number: float | None, digits: int = 3) -> str:
    return NOTHING if number is None else f"{number:.{digits}f}"


def paper_header(suite: Suite, results: Sequence[RowResult], paraphrases: str | None = None) -> list[str]:
    """The heading of the paper's column; empty where it has no number for any row."""
    rows = [result.row for result in results]
    numbers = [row.paper if paraphrases is None else row.paper_paraphrases.get(paraphrases) for row in rows]
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
