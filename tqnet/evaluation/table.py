"""The results of a run's stages as tables for the screen and for Markdown, and as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

from tqnet.evaluation.agreement import AgreementResult
from tqnet.evaluation.difficulty import DifficultyResult
from tqnet.evaluation.probe import ProbeResult
from tqnet.evaluation.ranking import RecallResult
from tqnet.evaluation.similar import STRUCTURES, RankingScores, SimilarResult, paired_difference
from tqnet.questions.leakage import MEASURED, Contamination

NOTHING = "–"


@dataclass(frozen=True)
class StageResult:
    """What was measured of one stage of a model, or of a baseline; ``None`` where it was not.

    Attributes:
        notes: What a reader of the tables has to know about this stage, printed below them.
        without: Questions that were left out, as doubles of questions in ``train``.
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
        """Aligned by spaces, for a terminal; Chinese characters take two columns."""
        lines = (self.header, *self.rows)
        widths = [max(_width(line[i]) for line in lines) for i in range(len(self.header))]
        rule = tuple("─" * width for width in widths)
        return "\n".join([*(_aligned(line, widths) for line in (self.header, rule, *self.rows)), *self.notes])

    def markdown(self) -> str:
        """A GitHub-flavoured Markdown table, numbers to the right."""
        rule = ("---", *("---:" for _ in self.header[1:]))
        escaped = (tuple(cell.replace("|", "\\|") for cell in line) for line in (self.header, rule, *self.rows))
        below = "".join(f"\n\n{note}" for note in self.notes)
        return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + below


def stage_table(results: Results) -> Table:
    """One row per stage: P@k with its interval, the gain over the first stage, MRR, nDCG, probe F1 per level.

    P@k among labelled questions has a column where the bank has others.
    """
    k, depth = _k_and_depth(results)
    levels = _levels(results)
    unlabelled = any(stage.similar and stage.similar.labelled for stage in results.values())
    baseline = next((stage.similar for stage in results.values() if stage.similar), None)
    rows = []
    for name, stage in results.items():
        scores = stage.similar.overall.summary() if stage.similar else {}
        among = stage.similar.labelled.summary() if stage.similar and stage.similar.labelled else {}
        f1 = _level_values(stage, "micro_f1")
        rows.append(
            (
                name,
                _number(scores.get("precision")),
                _interval(scores.get("low"), scores.get("high")),
                _gain(baseline, stage.similar),
                *(_number(scores.get(metric)) for metric in ("mrr", "recall", "ndcg", "group_mean")),
                *([_number(among.get("precision"))] if unlabelled else []),
                *(_number(f1.get(level)) for level in levels),
            )
        )
    measured = [f"MRR@{depth}", f"R@{k}", f"nDCG@{k}", f"P@{k} by group"]
    measured += [f"P@{k} among labelled"] if unlabelled else []
    header = ("stage", f"P@{k}", "95 % interval", "vs first", *measured, *(f"F1 L{level}" for level in levels))
    title = "Similar questions and knowledge points" if levels else "Similar questions"
    return Table(title, header, tuple(rows), _stage_notes(results))


def structure_table(results: Results) -> Table:
    """P@k by pair structure (TQ-Net, Table 6), the number of queries in the header."""
    k, _ = _k_and_depth(results)
    scored = {name: stage.similar.structures for name, stage in results.items() if stage.similar}
    shown = [name for name in STRUCTURES if any(name in cells and len(cells[name]) for cells in scored.values())]
    first: dict[str, RankingScores] = next(iter(scored.values()), {})
    rows = tuple(
        (name, *(_number(cells[cell].summary()["precision"]) if cell in cells else NOTHING for cell in shown))
        for name, cells in scored.items()
    )
    header = ("stage", *(f"{cell} ({len(first[cell]):,})" if cell in first else cell for cell in shown))
    return Table(f"P@{k} by pair structure (queries)", header, rows)


def probe_table(results: Results) -> Table:
    """One row per stage and level, each level beginning with its majority baseline."""
    rows = []
    for level in _levels(results):
        found = {
            name: own
            for name, stage in results.items()
            if stage.probe
            for own in stage.probe.levels
            if own.level == level
        }
        one = next(iter(found.values()))
        named = {"majority": one.majority} | {name: own.scores for name, own in found.items()}
        classes = f"{one.classes:,}" + (f" (+{one.unseen} unseen)" if one.unseen else "")
        for name, scores in named.items():
            others = map(_number, (scores.macro_f1, scores.accuracy))
            micro = _number(scores.micro_f1), _interval(*scores.interval)
            rows.append((f"L{level} {name}", *micro, *others, classes, f"{one.test:,}"))
    header = ("level and stage", "micro F1", "95 % interval", "macro F1", "accuracy", "concepts", "test questions")
    return Table("Knowledge points by a linear probe", header, tuple(rows), _probe_notes(results))


def difficulty_table(results: Results) -> Table:
    """One row per stage, below that of always predicting the mean: MAE, RMSE, PCC and DOA with their intervals."""
    found = {name: stage.difficulty for name, stage in results.items() if stage.difficulty}
    one = next(iter(found.values()))
    rows = [("mean of train", *(_number(value) for value in vars(one.mean).values()), "", f"{one.test:,}")]
    for name, own in found.items():
        cells = (f"{value:.3f} ({_interval(*own.intervals[score])})" for score, value in vars(own.scores).items())
        rows.append((name, *cells, f"{own.penalty:g}", f"{own.test:,}"))
    header = ("stage", "MAE", "RMSE", "PCC", "DOA", "penalty", "test questions")
    notes = ("Difficulties of train span 0 to 1; 95 % intervals, resampled by group, in brackets.",)
    return Table("Difficulty by a linear regression", header, tuple(rows), notes)


def agreement_table(results: Results) -> Table:
    """One row per stage: correlation of cosine and nearness, and the mean cosine of each rank (QuesCo, Figure 5).

    Where a judge gave scores, their mean by rank comes first (QuesCo, Figure 3).
    """
    found = {name: stage.agreement for name, stage in results.items() if stage.agreement}
    one = next(iter(found.values()))
    rows = []
    if one.judged and one.ranks:
        rows.append(("(mean score)", NOTHING, NOTHING, *(_number(rank.score) for rank in one.ranks)))
    for name, own in found.items():
        spearman = f"{own.spearman:.3f} ({_interval(*own.spearman_interval)})"
        rows.append((name, spearman, _number(own.pearson), *(_number(rank.mean) for rank in own.ranks)))
    ranks = (f"{rank.name} ({rank.pairs:,})" for rank in one.ranks)
    compared = f"the scores of {one.pairs:,} pairs" if one.judged else "minus the rank of pairs"
    note = f"Correlations between the cosine and {compared}."
    if one.ranks:
        note += (
            " Then the mean cosine by rank (pairs): questions of one group are similar, others have a KH-distance "
            f"(khd) in a hierarchy of {one.depth} levels."
        )
    if one.judged and one.ranks:
        note += " The first row has the mean score of each rank instead."
    title = "Similarity as judged" if one.judged else "Similarity and the knowledge hierarchy"
    return Table(title, ("stage", "Spearman", "Pearson", *ranks), tuple(rows), (note,))


def render(results: Results, *, markdown: bool = False) -> str:
    """All tables that have rows, one below the other."""
    tables = []
    if any(stage.similar for stage in results.values()):
        tables.append(stage_table(results))
    if any(stage.similar and stage.similar.structures for stage in results.values()):
        tables.append(structure_table(results))
    if _levels(results):
        tables.append(probe_table(results))
    if any(stage.difficulty for stage in results.values()):
        tables.append(difficulty_table(results))
    if any(stage.agreement for stage in results.values()):
        tables.append(agreement_table(results))
    return render_tables(tables, markdown=markdown)


def render_tables(tables: Iterable[Table], *, markdown: bool = False) -> str:
    """Return the tables with their titles, one below the other."""
    if markdown:
        return "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in tables) + "\n"
    return "\n\n".join(f"{table.title}\n\n{table.text()}" for table in tables) + "\n"


def to_dict(results: Results) -> dict[str, Any]:
    """Plain numbers for JSON, by stage."""
    return {
        name: {
            "similar": stage.similar.to_dict() if stage.similar else None,
            "probe": stage.probe.to_dict() if stage.probe else None,
            "difficulty": stage.difficulty.to_dict() if stage.difficulty else None,
            "agreement": stage.agreement.to_dict() if stage.agreement else None,
            "notes": list(stage.notes),
            "without_doubles": {s: stage.without.counts(s) for s in MEASURED} if stage.without else None,
        }
        for name, stage in results.items()
    }


def _stage_notes(results: Results) -> tuple[str, ...]:
    own = tuple(f"{name}: {note}." for name, stage in results.items() for note in stage.notes)
    if any(stage.similar and stage.similar.labelled for stage in results.values()):
        own += (
            "Among labelled: the same queries, searched without the questions of which nobody has said what they are "
            "similar to; searched in the whole bank, each of those that is found is a mistake.",
        )
    without = dict.fromkeys(_without(stage.without) for stage in results.values() if stage.without)
    return (*own, *without)


def _without(found: Contamination) -> str:
    """What was left out, e.g. "12 of test (1 exact, 8 near, 3 figure)"."""
    parts = []
    for split in MEASURED:
        kinds = found.counts(split)
        parts.append(f"{sum(kinds.values()):,} of {split} ({', '.join(f'{n:,} {kind}' for kind, n in kinds.items())})")
    return f"Without the questions that have a double in train: {' and '.join(parts)}."


def _probe_notes(results: Results) -> tuple[str, ...]:
    """Splits that the bank does not know are worth a line: no training kept clear of their test questions."""
    drawn = {stage.probe.drawn for stage in results.values() if stage.probe and stage.probe.drawn is not None}
    splits = tuple(
        f"The bank has no splits: train, valid and test were drawn by group with seed {seed}. "
        "A model that was fine-tuned on this bank has seen the test questions."
        for seed in sorted(drawn)
    )
    return splits if any(stage.similar for stage in results.values()) else (*splits, *_stage_notes(results))


def _levels(results: Results) -> list[int]:
    return sorted({own.level for stage in results.values() if stage.probe for own in stage.probe.levels})


def _level_values(stage: StageResult, figure: str) -> dict[int, float]:
    return {own.level: getattr(own.scores, figure) for own in stage.probe.levels} if stage.probe else {}


def _k_and_depth(results: Results) -> tuple[int, int]:
    settings = {(stage.similar.k, stage.similar.depth) for stage in results.values() if stage.similar}
    if len(settings) > 1:
        raise ValueError(f"the stages were scored with different (k, depth): {sorted(settings)}")
    return settings.pop() if settings else (5, 100)


def _gain(first: SimilarResult | None, similar: SimilarResult | None) -> str:
    """Paired difference in P@k with its 95 % interval; a dash for the first stage itself."""
    if first is None or similar is None or similar is first or not len(similar.overall):
        return NOTHING
    paired = paired_difference(first.overall, similar.overall)
    return f"{paired.difference:+.3f} [{paired.interval.low:+.3f}, {paired.interval.high:+.3f}]"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _interval(low: float | None, high: float | None) -> str:
    return NOTHING if low is None or high is None else f"{low:.3f}–{high:.3f}"


def _width(text: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = (" " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True))
    return "  ".join([line[0] + first, *(pad + cell for pad, cell in zip(rest, line[1:], strict=True))]).rstrip()
