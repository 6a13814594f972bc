"""What a row solves of the word problems of ``test`` (mwp-cl, Tables 3 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tqnet.bench.spread import Spread
from tqnet.evaluation.metrics import BoolArray
from tqnet.solver.evaluation import GoldProblem, SolverScores

#: What rows are compared by.
COMPARED = ("answers", "equations")


@dataclass(frozen=True)
class SolvedTerms:
    """The problems with what was right, 1 or 0, for comparing rows problem by problem.

    Attributes:
        problems: Places in the bank.
        answers, equations, commutative: As in `tqnet.solver.evaluation.SolverScores`.
        doubles: 1 where the problem stands in ``train`` too, but for numbers or few words.
        languages: Of each problem; empty where they have one.
        index: Calinski-Harabasz, of representations by prototype; None where that has no sense.
        groups: Of each problem (`tqnet.solver.evaluation.groups_of`); empty where an earlier version did not keep them,
            which drew problem by problem.
    """

    problems: list[int]
    answers: list[int]
    equations: list[int]
    commutative: list[int]
    doubles: list[int]
    languages: list[str]
    index: float | None = None
    groups: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls, scores: SolverScores, told: Sequence[GoldProblem], doubles: BoolArray, index: float | None
    ) -> SolvedTerms:
        """From a solver that was measured."""
        languages = [one.question.language or "unknown" for one in told]
        return cls(
            problems=[one.place for one in told],
            answers=scores.answers.astype(int).tolist(),
            equations=scores.equations.astype(int).tolist(),
            commutative=scores.commutative.astype(int).tolist(),
            doubles=doubles.astype(int).tolist(),
            languages=languages if len(set(languages)) > 1 else [],
            index=None if index is None else round(index, 3),
            groups=scores.groups.tolist(),
        )

    def rows(self, part: str = "") -> list[int]:
        """Numbers of the problems of a part: all, ``clean``, those without a double, or those of a language."""
        if not part:
            return list(range(len(self.problems)))
        if part == "clean":
            return [row for row, double in enumerate(self.doubles) if not double]
        return [row for row, language in enumerate(self.languages) if language == part]

    def groups_of(self, rows: Sequence[int]) -> list[int]:
        """What is drawn together of these problems."""
        return [self.groups[row] for row in rows] if self.groups else list(rows)

    def right(self, measure: str, part: str = "") -> list[int]:
        """``answers`` or another measure of the problems of a part."""
        values: list[int] = getattr(self, measure)
        return [values[row] for row in self.rows(part)]


def solved_spread(row: Sequence[SolvedTerms], measure: str, part: str = "") -> Spread | None:
    """The share that is right over the seeds of a row."""
    found = [terms.right(measure, part) for terms in row]
    return Spread.of([float(np.mean(right)) for right in found if right])


def index_spread(row: Sequence[SolvedTerms]) -> Spread | None:
    """The Calinski-Harabasz index over the seeds of a row."""
    return Spread.of([terms.index for terms in row if terms.index is not None])
