"""The texts that a question is trained with, drawn anew in every epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tqnet.augment.paraphrase.operators import Operator
from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.augment.paraphrase.triplets import first_that_applies


class Draws:
    """A question itself and one text of each kind, by an operator that is drawn among those that apply.

    What is drawn depends on (seed, epoch, row) alone, so that workers, processes and resumed runs agree.

    Args:
        kinds: The operators of each kind: positive ones, and negative ones where there are any.

    Attributes:
        rows: Numbers of the problems that have a text of each kind, int64 [n]; all others are left out.
        reasons: Why the others have not -> how many.
    """

    def __init__(self, problems: Sequence[Problem], kinds: Sequence[Sequence[Operator]], seed: int):
        self.kinds, self.seed = kinds, seed
        self.reasons: Counter[str] = Counter()
        rows = [row for row, problem in enumerate(problems) if self._applies(problem, row)]
        self.rows = np.array(rows, dtype=int)
        self.problems = [problems[row] for row in rows]

    def __len__(self) -> int:
        return len(self.problems)

    def __call__(self, epoch: int, row: int) -> tuple[str, ...]:
        """Texts of the problem ``rows[row]``: itself, and one of each kind.

        Where by chance nothing came of any operator, those by which it was found to have texts.
        """
        problem = self.problems[row]
        try:
            return self._draw(problem, np.random.default_rng([self.seed, epoch, row]))
        except NotApplicable:
            return self._draw(problem, self._first(int(self.rows[row])))

    def _applies(self, problem: Problem, number: int) -> bool:
        try:
            self._draw(problem, self._first(number))
        except NotApplicable as reason:
            self.reasons[str(reason)] += 1
            return False
        return True

    def _first(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, number])

    def _draw(self, problem: Problem, rng: np.random.Generator) -> tuple[str, ...]:
        return (problem.text, *(first_that_applies(problem, operators, rng)[0] for operators in self.kinds))
