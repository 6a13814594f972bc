"""Results of a suite: finished rows, kept as files, and the differences between them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.bench.scores import (
    Gain,
    difficulty_gain,
    f1_gain,
    paraphrase_gain,
    precision,
    precision_gain,
    recall,
    recall_gain,
    solved_gain,
)
from reproduce.bench.suite import Row, Suite
from reproduce.bench.terms import ParaphraseTerms, RowScores, SolvedTerms
from reproduce.bench.trainings import Cost
from tqnet.files import atomic
from tqnet.solver.evaluation import MEASURES

#: Heading -> metric of labelled paraphrases that rows are compared by; the first is the paper's primary metric.
PARAPHRASE_METRICS = {"separation": "separation", "macro F1": "macro_f1", "weighted F1": "weighted_f1"}

#: Measures of solved problems that rows are compared by.
SOLVED_MEASURES = ("answers", "equations")


@dataclass(frozen=True)
class Finished:
    """A row with one seed, trained and measured: all that a table needs, without the model.

    Attributes:
        key: Digest of all that the rest depends on, and the name of its file.
        costs: What its trainings took, in order; a training that rows share counts in each.
        notes: Caveats that a reader of the scores has to know.
        measure_seconds: Seconds from the trained model to the scores.
    """

    key: str
    scores: RowScores
    costs: list[Cost]
    notes: tuple[str, ...] = ()
    measure_seconds: float = 0.0

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic(folder / f"{self.key}.json") as temporary:
            temporary.write_text(json.dumps(asdict(self), separators=(",", ":")) + "\n", encoding="utf-8")

    @classmethod
    def find(cls, key: str, folders: Sequence[Path]) -> Finished | None:
        """Read ``key`` from the first folder that has it.

        Raises:
            ValueError: The file is not as :meth:`save` writes it, or has another key; the message names it.
        """
        file = next((file for folder in folders if (file := folder / f"{key}.json").is_file()), None)
        if file is None:
            return None
        try:
            saved = json.loads(file.read_text(encoding="utf-8"))
            if saved["key"] != key:
                raise ValueError(f"its key is {saved['key']}")
            scores, costs = RowScores.from_dict(saved["scores"]), [Cost(**cost) for cost in saved["costs"]]
            return cls(key, scores, costs, tuple(saved["notes"]), saved["measure_seconds"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file}: no scores that this version can read ({error})") from error


@dataclass
class RowResult:
    """Results of a row so far.

    Attributes:
        finished: One per seed.
        errors: Errors of the seeds that failed, without repeats.
    """

    row: Row
    finished: list[Finished] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def scores(self) -> list[RowScores]:
        return [finished.scores for finished in self.finished]

    def paraphrases(self, file: str) -> list[ParaphraseTerms]:
        """The scores of a file's labelled paraphrases, one for each seed that has them."""
        return [scores.paraphrases[file] for scores in self.scores if file in scores.paraphrases]

    @property
    def solved(self) -> list[SolvedTerms]:
        return [scores.solved for scores in self.scores if scores.solved]

    @property
    def costs(self) -> list[list[Cost]]:
        """For each seed, what its trainings took."""
        return [finished.costs for finished in self.finished]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all seeds, without repeats."""
        return tuple(dict.fromkeys(note for finished in self.finished for note in finished.notes))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        scores = self.scores
        return {
            "stages": list(self.row.stages),
            "kept": [finished.key for finished in self.finished],
            "paper": self.row.paper,
            "p@5": [spread.mean for s in scores if (spread := precision([s]))],
            "recall": [spread.mean for s in scores if (spread := recall([s]))],
            "structures": [
                {cell: spread.mean for cell in s.similar if cell != "overall" and (spread := precision([s], cell))}
                for s in scores
            ],
            "f1": [{f"L{level.level}": level.f1 for level in s.probe} for s in scores],
            "concepts": [
                {f"L{level.level}": {"accuracy": level.accuracy, "macro_f1": level.macro_f1} for level in s.probe}
                for s in scores
            ],
            "difficulty": [asdict(s.difficulty.scores) for s in scores if s.difficulty],
            "agreement": [asdict(s.agreement) for s in scores if s.agreement],
            "paraphrases": [
                {f: terms.metrics.values for f, terms in s.paraphrases.items()} for s in scores if s.paraphrases
            ],
            "solved": [
                {measure: float(np.mean(terms.right(measure))) for measure in MEASURES}
                | {"calinski_harabasz": terms.index}
                for terms in self.solved
            ],
            "costs": [[asdict(cost) for cost in costs] for costs in self.costs],
            "notes": list(self.notes),
            "errors": self.errors,
        }


def levels(results: Sequence[RowResult]) -> list[int]:
    """Levels of the hierarchy that were probed in any row."""
    return sorted({terms.level for result in results for scores in result.scores for terms in scores.probe})


def structures(results: Sequence[RowResult]) -> dict[str, int]:
    """Pair structures that were measured in any row, and their number of queries."""
    scores = [scores.similar for result in results for scores in result.scores]
    cells = {name: len(terms.queries) for similar in scores for name, terms in similar.items()}
    return {name: queries for name, queries in cells.items() if name != "overall"}


def paraphrase_sets(results: Sequence[RowResult]) -> dict[str, ParaphraseTerms]:
    """Files of labelled paraphrases that were measured in any row, and the scores of one row."""
    return {name: terms for result in results for scores in result.scores for name, terms in scores.paraphrases.items()}


def languages(results: Sequence[RowResult]) -> list[str]:
    """Languages of the problems, in order; empty where there is only one."""
    return sorted({language for result in results for terms in result.solved for language in terms.languages})


@dataclass(frozen=True)
class Difference:
    """One row compared with another.

    Attributes:
        row, over: Their names.
        paper: The difference between the paper's numbers; None where it lacks one of them.
        gains: Measure, ``P@5`` or ``F1 L3`` -> gain of ``row`` over ``over``; None where the two were not measured on
            the same questions.
        paraphrases: The file of labelled paraphrases that they are compared on; None on the bank's own questions.
    """

    row: str
    over: str
    paper: float | None
    gains: dict[str, Gain | None]
    paraphrases: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; an interval as its two ends."""
        measured = {measure: gain for measure, gain in self.gains.items() if gain is not None}
        gains = {name: {"difference": by, "interval": ends.to_json()} for name, (by, ends) in measured.items()}
        pairs = {"paraphrases": self.paraphrases} if self.paraphrases else {}
        return {"row": self.row, "over": self.over, **pairs, "paper": self.paper, **gains}


def differences(suite: Suite, results: Sequence[RowResult]) -> list[Difference]:
    """Compare the pairs in ``suite.compare``; a row that is in none of them is compared with the first row."""
    named = {result.row.name: result for result in results}
    pairs = [pair for pair in suite.compare if named.keys() >= set(pair)]
    compared = {name for pair in suite.compare for name in pair}
    first = results[0].row.name
    pairs += [[name, first] for name in named if name not in compared and name != first]
    measured = [(named[row], named[over]) for row, over in pairs if named[row].scores and named[over].scores]
    if suite.paraphrases:
        return [_on_paraphrases(row, over, file) for file in paraphrase_sets(results) for row, over in measured]
    if suite.solved:
        return [_on_problems(row, over, languages(results)) for row, over in measured]
    return [_on_the_bank(suite, results, row, over) for row, over in measured]


def _on_the_bank(suite: Suite, results: Sequence[RowResult], row: RowResult, over: RowResult) -> Difference:
    cells = {"P@5": "overall"} | {f"P@5 {cell}": cell for cell in structures(results) if suite.by_structure}
    gains = {measure: precision_gain(over.scores, row.scores, cell) for measure, cell in cells.items()}
    if suite.recall:
        gains |= {f"R@{suite.recall}": recall_gain(over.scores, row.scores)}
    gains |= {f"F1 L{level}": f1_gain(over.scores, row.scores, level) for level in levels(results)}
    if suite.difficulty:
        gains |= {score: difficulty_gain(over.scores, row.scores, score.lower()) for score in ("MAE", "DOA")}
    return Difference(row.row.name, over.row.name, _apart(row.row.paper, over.row.paper), gains)


def _on_paraphrases(row: RowResult, over: RowResult, file: str) -> Difference:
    first, second = over.paraphrases(file), row.paraphrases(file)
    gains = {heading: paraphrase_gain(first, second, metric) for heading, metric in PARAPHRASE_METRICS.items()}
    paper = _apart(row.row.paper_paraphrases.get(file), over.row.paper_paraphrases.get(file))
    return Difference(row.row.name, over.row.name, paper, gains, file)


def _on_problems(row: RowResult, over: RowResult, parts: Sequence[str]) -> Difference:
    gains = {measure: solved_gain(over.scores, row.scores, measure) for measure in SOLVED_MEASURES}
    gains |= {f"answers, {part}": solved_gain(over.scores, row.scores, "answers", part) for part in parts}
    return Difference(row.row.name, over.row.name, _apart(row.row.paper, over.row.paper), gains)


def _apart(row: float | None, over: float | None) -> float | None:
    return None if row is None or over is None else row - over


def clock(costs: Collection[Cost], measured: Collection[float]) -> str:
    """Say how long it all took, each stage counted once."""
    steps, training = (sum(getattr(cost, name) for cost in costs) for name in ("step_seconds", "wall_seconds"))
    return (
        f"{steps / 60:,.0f} min of steps, each stage counted once; by the clock, "
        f"training {training / 60:,.0f} min, measuring {sum(measured) / 60:,.0f} min"
    )
