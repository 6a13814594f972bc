"""What has come out of a suite so far."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.bench.paraphrases import ParaphraseTerms
from tqnet.bench.runner import Cost
from tqnet.bench.scores import RowScores, precision, recall
from tqnet.bench.solved import SolvedTerms
from tqnet.bench.suite import Row
from tqnet.files import atomic
from tqnet.solver.evaluation import MEASURES


@dataclass(frozen=True)
class Finished:
    """A row with one seed, trained and measured: all that a table needs, without the model.

    Attributes:
        key: Of all that the rest depends on; its file is called so.
        scores: On each question, for comparing rows question by question.
        costs: What its trainings took, in order; those that rows share count in each.
        notes: What a reader of the scores has to know.
        measure_seconds: From the trained model to the scores; None where an earlier version did not take it.
    """

    key: str
    scores: RowScores
    costs: list[Cost]
    notes: tuple[str, ...] = ()
    measure_seconds: float | None = None

    def save(self, folder: Path) -> None:
        """To a file in ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        with atomic(folder / f"{self.key}.json") as temporary:
            temporary.write_text(json.dumps(asdict(self), separators=(",", ":")) + "\n", encoding="utf-8")

    @classmethod
    def find(cls, key: str, folders: Sequence[Path]) -> Finished | None:
        """That of ``key`` in the first folder that has it.

        Raises:
            ValueError: Its file is not as :meth:`save` writes it, or of another key; the message names it.
        """
        file = next((file for folder in folders if (file := folder / f"{key}.json").is_file()), None)
        if file is None:
            return None
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["key"] != key:
                raise ValueError(f"its key is {kept['key']}")
            scores, costs = RowScores.from_dict(kept["scores"]), [Cost(**cost) for cost in kept["costs"]]
            return cls(key, scores, costs, tuple(kept["notes"]), kept.get("measure_seconds"))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file}: no scores that this version can read ({error})") from error


@dataclass
class RowResult:
    """What has come out of a row so far.

    Attributes:
        finished: One per seed.
        errors: Of the seeds that failed, without repeats.
    """

    row: Row
    finished: list[Finished] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def scores(self) -> list[RowScores]:
        """One per seed."""
        return [finished.scores for finished in self.finished]

    def paraphrases(self, file: str) -> list[ParaphraseTerms]:
        """The scores of a file's labelled paraphrases, one for each seed that has them."""
        return [scores.paraphrases[file] for scores in self.scores if file in scores.paraphrases]

    @property
    def solved(self) -> list[SolvedTerms]:
        """The word problems with what was right, one for each seed that has them."""
        return [scores.solved for scores in self.scores if scores.solved]

    @property
    def costs(self) -> list[list[Cost]]:
        """For each seed, what its trainings took."""
        return [finished.costs for finished in self.finished]

    @property
    def notes(self) -> tuple[str, ...]:
        """Of all seeds, without repeats."""
        return tuple(dict.fromkeys(note for finished in self.finished for note in finished.notes))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {
            "stages": list(self.row.stages),
            "kept": [finished.key for finished in self.finished],
            "paper": self.row.paper,
            "p@5": [spread.mean for s in self.scores if (spread := precision([s]))],
            "recall": [spread.mean for s in self.scores if (spread := recall([s]))],
            "structures": [
                {cell: spread.mean for cell in s.similar if cell != "overall" and (spread := precision([s], cell))}
                for s in self.scores
            ],
            "f1": [{f"L{level.level}": level.f1 for level in s.probe} for s in self.scores],
            "concepts": [
                {f"L{level.level}": {"accuracy": level.accuracy, "macro_f1": level.macro_f1} for level in s.probe}
                for s in self.scores
            ],
            "difficulty": [asdict(s.difficulty.scores) for s in self.scores if s.difficulty],
            "agreement": [asdict(s.agreement) for s in self.scores if s.agreement],
            "paraphrases": [
                {file: terms.metrics.values for file, terms in s.paraphrases.items()}
                for s in self.scores
                if s.paraphrases
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
    """Pair structures that were measured in any row, and the queries of each."""
    scores = [scores.similar for result in results for scores in result.scores]
    return {name: len(of.queries) for similar in scores for name, of in similar.items() if name != "overall"}


def paraphrase_sets(results: Sequence[RowResult]) -> dict[str, ParaphraseTerms]:
    """Files of labelled paraphrases that were measured in any row, and the scores of one of them."""
    return {name: terms for result in results for scores in result.scores for name, terms in scores.paraphrases.items()}


def clock(costs: Collection[Cost], measured: Collection[float | None]) -> str:
    """How long it all took, in words: each stage once.

    Of what an earlier version has not timed, an estimate: trainings take as much longer than their steps as those that
    were timed, measurements as long as the others.
    """
    steps = [cost.step_seconds for cost in costs]
    return (
        f"{sum(steps) / 60:,.0f} min of steps, each stage counted once; by the clock, "
        f"training {_minutes([cost.wall_seconds for cost in costs], steps)}, "
        f"measuring {_minutes(measured, [1.0] * len(measured))}"
    )


def _minutes(seconds: Collection[float | None], size: Sequence[float]) -> str:
    known = [(each, of) for each, of in zip(seconds, size, strict=True) if each is not None]
    if seconds and not known:
        return "was not timed"
    taken = sum(each for each, _ in known)
    missing = ""
    if len(known) < len(seconds):
        of_all = taken * sum(size) / sum(of for _, of in known)
        untimed = f"{len(seconds) - len(known)} of {len(seconds)} were not timed"
        missing = f" ({untimed}; all at that rate {of_all / 60:,.0f})"
    return f"{taken / 60:,.0f} min{missing}"
