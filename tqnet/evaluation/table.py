"""Results of stages as tables for the screen and for Markdown, as plain numbers, and as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from tqnet.evaluation.agreement import AgreementResult
from tqnet.evaluation.difficulty import DifficultyResult
from tqnet.evaluation.metrics import gain_text
from tqnet.evaluation.probe import ProbeResult
from tqnet.evaluation.similar import STRUCTURES, RankingScores, RecallResult, SimilarResult, paired_difference
from tqnet.files import atomic
from tqnet.questions.leakage import MEASURED, Contamination

NOTHING = "–"


@dataclass(frozen=True)
class StageResult:
    """Measurements of one stage of a model, or of a baseline; ``None`` where a task was not measured.

    Attributes:
        notes: Notes on this stage, printed below the tables.
        without: Questions that were left out as near-duplicates of questions in ``train``.
    """

    similar: SimilarResult | None = None
    probe: ProbeResult | None = None
    difficulty: DifficultyResult | None = None
    agreement: AgreementResult | None = None
    notes: tuple[str, ...] = ()
    without: Contamination | None = None
    recall: RecallResult | None = None


Results = Mapping[str, StageResult]


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the row, and the notes go below."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Align columns by spaces, for a terminal; Chinese characters take two columns."""
        widths = [max(map(_width, column)) for column in zip(self.header, *self.rows, strict=True)]
        rule = tuple("─" * width for width in widths)
        return "\n".join([*(_aligned(line, widths) for line in (self.header, rule, *self.rows)), *self.notes])

    def markdown(self) -> str:
        """Return a GitHub-flavoured Markdown table, numbers to the right."""
        rule = ("---", *("---:" for _ in self.header[1:]))
        escaped = (tuple(cell.replace("|", "\\|") for cell in line) for line in (self.header, rule, *self.rows))
        below = "".join(f"\n\n{note}" for note in self.notes)
        return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + below


def measured(results: Results, task: str) -> dict[str, Any]:
    """Return the results of ``similar`` or another task by stage, without the stages where it was not measured."""
    return {name: result for name, stage in results.items() if (result := getattr(stage, task))}


def stage_table(results: Results) -> Table:
    """Make a row per stage: P@k with its interval, the gain over the first stage, MRR, nDCG, probe F1 per level.

    P@k among labelled questions has a column where the bank has others.
    """
    k, depth = _k_and_depth(results)
    levels, similar = _levels(results), measured(results, "similar")
    unlabelled = any(result.labelled for result in similar.values())
    baseline = next(iter(similar.values()), None)
    rows = []
    for name, stage in results.items():
        overall = stage.similar.overall if stage.similar else None
        scores = overall.summary() if overall else {}
        among = stage.similar.labelled.summary() if stage.similar and stage.similar.labelled else {}
        f1 = {result.level: result.scores.micro_f1 for result in stage.probe.levels} if stage.probe else {}
        cells = [
            _number(scores.get("precision")),
            str(overall.interval) if overall else NOTHING,
            _gain(baseline, stage.similar),
            *(_number(scores.get(metric)) for metric in ("mrr", "recall", "ndcg", "group_mean")),
            *([_number(among.get("precision"))] if unlabelled else []),
            *(_number(f1.get(level)) for level in levels),
        ]
        rows.append((name, *cells))
    measures = [f"MRR@{depth}", f"R@{k}", f"nDCG@{k}", f"P@{k} by group"]
    measures += [f"P@{k} among labelled"] if unlabelled else []
    header = ("stage", f"P@{k}", "95 % interval", "vs first", *measures, *(f"F1 L{level}" for level in levels))
    title = "Similar questions and knowledge points" if levels else "Similar questions"
    return Table(title, header, tuple(rows), _stage_notes(results))


def structure_table(results: Results) -> Table:
    """Make a table of P@k by pair structure (TQ-Net, Table 6), the number of queries in the header."""
    k, _ = _k_and_depth(results)
    scored = {name: similar.structures for name, similar in measured(results, "similar").items()}
    shown = [name for name in STRUCTURES if any(name in cells and len(cells[name]) for cells in scored.values())]
    first: dict[str, RankingScores] = next(iter(scored.values()), {})
    rows = tuple(
        (name, *(_number(cells[cell].summary()["precision"]) if cell in cells else NOTHING for cell in shown))
        for name, cells in scored.items()
    )
    header = ("stage", *(f"{cell} ({len(first[cell]):,})" if cell in first else cell for cell in shown))
    return Table(f"P@{k} by pair structure (queries)", header, rows)


def probe_table(results: Results) -> Table:
    """Make a row per stage and level, each level beginning with its majority baseline."""
    rows = []
    probes = measured(results, "probe")
    for level in _levels(results):
        at_level = {name: result for name, probe in probes.items() for result in probe.levels if result.level == level}
        first = next(iter(at_level.values()))
        classes = f"{first.classes:,}" + (f" (+{first.unseen} unseen)" if first.unseen else "")
        for name, scores in {"majority": first.majority, **{n: r.scores for n, r in at_level.items()}}.items():
            cells = _number(scores.micro_f1), str(scores.interval), _number(scores.macro_f1)
            rows.append((f"L{level} {name}", *cells, _number(scores.accuracy), classes, f"{first.test:,}"))
    header = ("level and stage", "micro F1", "95 % interval", "macro F1", "accuracy", "concepts", "test questions")
    return Table("Knowledge points by a linear probe", header, tuple(rows), _probe_notes(results))


def difficulty_table(results: Results) -> Table:
    """Make a row per stage, below that of always predicting the mean: MAE, RMSE, PCC and DOA with their intervals."""
    difficulties = measured(results, "difficulty")
    first = next(iter(difficulties.values()))
    rows = [("mean of train", *(_number(value) for value in vars(first.mean).values()), "", f"{first.test:,}")]
    for name, result in difficulties.items():
        scores = vars(result.scores).items()
        cells = (f"{value:.3f} ({result.intervals[score]})" for score, value in scores)
        rows.append((name, *cells, f"{result.penalty:g}", f"{result.test:,}"))
    header = ("stage", "MAE", "RMSE", "PCC", "DOA", "penalty", "test questions")
    notes = ("Difficulties of train span 0 to 1; 95 % intervals, resampled by group, in brackets.",)
    return Table("Difficulty by a linear regression", header, tuple(rows), notes)


def agreement_table(results: Results) -> Table:
    """Make a row per stage: correlation of cosine and nearness, and the mean cosine of each rank (QuesCo, Figure 5).

    Where a judge gave scores, their mean by rank comes first (QuesCo, Figure 3).
    """
    agreements = measured(results, "agreement")
    first = next(iter(agreements.values()))
    rows = []
    if first.judged and first.ranks:
        rows.append(("(mean score)", NOTHING, NOTHING, *(_number(rank.score) for rank in first.ranks)))
    for name, result in agreements.items():
        spearman = f"{result.spearman:.3f} ({result.spearman_interval})"
        rows.append((name, spearman, _number(result.pearson), *(_number(rank.mean) for rank in result.ranks)))
    compared = f"the scores of {first.pairs:,} pairs" if first.judged else "minus the rank of pairs"
    note = f"Correlations between the cosine and {compared}."
    if first.ranks:
        note += (
            " Then the mean cosine by rank (pairs): questions of one group are similar, others have a KH-distance "
            f"(khd) in a hierarchy of {first.depth} levels."
        )
    if first.judged and first.ranks:
        note += " The first row has the mean score of each rank instead."
    title = "Similarity as judged" if first.judged else "Similarity and the knowledge hierarchy"
    header = ("stage", "Spearman", "Pearson", *(f"{rank.name} ({rank.pairs:,})" for rank in first.ranks))
    return Table(title, header, tuple(rows), (note,))


def render(results: Results, *, markdown: bool = False) -> str:
    """Return all tables that have rows, one below the other."""
    similar = measured(results, "similar")
    makers = {
        stage_table: bool(similar),
        structure_table: any(result.structures for result in similar.values()),
        probe_table: bool(_levels(results)),
        difficulty_table: bool(measured(results, "difficulty")),
        agreement_table: bool(measured(results, "agreement")),
    }
    return render_tables([make(results) for make, has_rows in makers.items() if has_rows], markdown=markdown)


def render_tables(tables: Iterable[Table], *, markdown: bool = False) -> str:
    """Return the tables with their titles, one below the other."""
    if markdown:
        return "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in tables) + "\n"
    return "\n\n".join(f"{table.title}\n\n{table.text()}" for table in tables) + "\n"


def to_dict(results: Results) -> dict[str, Any]:
    """Plain numbers for JSON, by stage."""
    numbers = {}
    for name, stage in results.items():
        tasks = {task: getattr(stage, task) for task in ("similar", "probe", "difficulty", "agreement")}
        numbers[name] = {task: result.to_dict() if result else None for task, result in tasks.items()} | {
            "notes": list(stage.notes),
            "without_doubles": {s: stage.without.counts(s) for s in MEASURED} if stage.without else None,
        }
    return numbers


def write_results(folder: Path, facts: Mapping[str, str], document: Mapping[str, Any], markdown: str) -> None:
    """Write ``results.json`` and ``results.md``, each whole or not at all, headed by how the numbers were made."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "results.json") as temporary:
        whole = {"made_by": dict(facts), **document}
        temporary.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with atomic(folder / "results.md") as temporary:
        lines = [f"- {name}: `{fact}`" for name, fact in facts.items()]
        temporary.write_text("\n".join((*lines, "", markdown)), encoding="utf-8")


def write_pictures(folder: Path, pictures: Mapping[str, bytes]) -> list[Path]:
    """Write PNG pictures, name -> content, each whole or not at all, and return their paths."""
    files = {folder / f"{name}.png": picture for name, picture in pictures.items()}
    for file, picture in files.items():
        with atomic(file) as temporary:
            temporary.write_bytes(picture)
    return list(files)


def _stage_notes(results: Results) -> tuple[str, ...]:
    notes = [f"{name}: {note}." for name, stage in results.items() for note in stage.notes]
    if any(similar.labelled for similar in measured(results, "similar").values()):
        notes.append(
            "Among labelled: the same queries, searched without the unlabelled questions; in the whole bank each of "
            "those counts as a mistake."
        )
    return (*notes, *dict.fromkeys(map(_without, measured(results, "without").values())))


def _without(doubles: Contamination) -> str:
    """Note the questions that were left out, e.g. "12 of test (1 exact, 8 near, 3 figure)"."""
    parts = []
    for split in MEASURED:
        kinds = doubles.counts(split)
        parts.append(f"{sum(kinds.values()):,} of {split} ({', '.join(f'{n:,} {kind}' for kind, n in kinds.items())})")
    return f"Without the questions that have a near-duplicate in train: {' and '.join(parts)}."


def _probe_notes(results: Results) -> tuple[str, ...]:
    """Warn where splits were drawn: no training kept clear of their test questions."""
    drawn = {probe.drawn for probe in measured(results, "probe").values() if probe.drawn is not None}
    splits = tuple(
        f"The bank has no splits: train, valid and test were drawn by group with seed {seed}. "
        "A model that was fine-tuned on this bank has seen the test questions."
        for seed in sorted(drawn)
    )
    return splits if measured(results, "similar") else (*splits, *_stage_notes(results))


def _levels(results: Results) -> list[int]:
    return sorted({result.level for probe in measured(results, "probe").values() for result in probe.levels})


def _k_and_depth(results: Results) -> tuple[int, int]:
    settings = {(similar.k, similar.depth) for similar in measured(results, "similar").values()}
    if len(settings) > 1:
        raise ValueError(f"the stages were scored with different (k, depth): {sorted(settings)}")
    return settings.pop() if settings else (5, 100)


def _gain(first: SimilarResult | None, similar: SimilarResult | None) -> str:
    """Paired difference in P@k with its 95 % interval; a dash for the first stage itself."""
    if first is None or similar is None or similar is first or not len(similar.overall):
        return NOTHING
    return gain_text(*paired_difference(first.overall, similar.overall))


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _width(text: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = (" " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True))
    return "  ".join([line[0] + first, *(pad + cell for pad, cell in zip(rest, line[1:], strict=True))]).rstrip()
