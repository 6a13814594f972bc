"""How many word problems a solver solves: answers, equations, and by what the problems are like (mwp-cl, Section 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray, Interval, percentiles, resampled_sums
from tqnet.evaluation.table import NOTHING, Table
from tqnet.solver.problems import Alphabet, WordProblem, equation_of, in_values, read_problem, told_equations
from tqnet.text.equations import OPERATORS, EquationError, commutative, prototype, same_value

if TYPE_CHECKING:
    from tqnet.questions import Question, QuestionBank
    from tqnet.solver.model import Solution


#: Measure -> how a table calls it.
MEASURES = {"answers": "answers", "equations": "equations", "commutative": "equations but for order"}
#: From so many operators on, problems are one row of a table.
_MANY = 5


@dataclass(frozen=True)
class ToldProblem:
    """A question of the bank whose equation is known.

    Attributes:
        place: In the bank.
    """

    place: int
    question: Question
    problem: WordProblem

    @property
    def operators(self) -> int:
        """Of its equation; the tree has twice as many nodes, and one."""
        return sum(token in OPERATORS for token in self.problem.equation)

    @property
    def depth(self) -> int:
        """Operators on the longest way from the root to a leaf."""
        stack: list[int] = []
        for token in reversed(self.problem.equation):
            stack.append(1 + max(stack.pop(), stack.pop()) if token in OPERATORS else 0)
        return stack[0]

    @cached_property
    def prototype(self) -> str:
        """Its prototype equation."""
        return prototype(self.problem.equation)


def told_problems(bank: QuestionBank) -> tuple[list[ToldProblem], dict[int, str]]:
    """The problems of a bank that can be measured; and by place in the bank, why another one cannot.

    Equations may have any constant: what a solver has not learnt to say, it gets wrong.
    """
    alphabet = Alphabet.learn(told_equations(bank), min_count=1)
    told: list[ToldProblem] = []
    faults: dict[int, str] = {}
    for place, question in enumerate(bank):
        try:
            if (equation := equation_of(question)) is None:
                raise EquationError("no equation")
            told.append(ToldProblem(place, question, read_problem(question.content, equation, alphabet)))
        except EquationError as error:
            faults[place] = f"{question.id}: {error}"
    return told, faults


@dataclass(frozen=True, eq=False)
class SolverScores:
    """Which problems were solved.

    Attributes:
        answers: bool [n], the equation has the value of the true one, to 1e-4.
        equations: bool [n], it is the true one: the same operators and values at the same places.
        commutative: bool [n], it is so but for the order of what is added or multiplied.
        groups: int [n], of :func:`groups_of`.
    """

    answers: BoolArray
    equations: BoolArray
    commutative: BoolArray
    groups: IntArray

    @cached_property
    def _draws(self) -> FloatArray:
        return resampled_sums(np.stack([getattr(self, name) for name in MEASURES], 1), self.groups)

    def share(self, measure: str, of: BoolArray | None = None) -> float:
        """Of all problems, or of those that ``of`` marks."""
        right: BoolArray = getattr(self, measure)
        return float(np.mean(right if of is None else right[of]))

    def interval(self, measure: str) -> Interval:
        """95 %, problems drawn anew by group."""
        return percentiles(self._draws[:, list(MEASURES).index(measure)] / len(self.answers))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {name: {"share": self.share(name), "interval": list(self.interval(name))} for name in MEASURES}


def judged(told: Sequence[ToldProblem], solutions: Sequence[Solution]) -> SolverScores:
    """Solutions compared with the true equations, in the order of ``told``."""
    rows = [_judged(one.problem, solution) for one, solution in zip(told, solutions, strict=True)]
    answers, equations, commutative = np.array(rows, dtype=bool).reshape(-1, 3).T
    return SolverScores(answers, equations, commutative, groups_of(told))


def groups_of(told: Sequence[ToldProblem]) -> IntArray:
    """int64 [n], for each problem the place in ``told`` of the first of its group; its own where it has no group."""
    first: dict[str, int] = {}
    places = [first.setdefault(group, at) if (group := one.question.group) else at for at, one in enumerate(told)]
    return np.array(places, dtype=np.int64)


def _judged(problem: WordProblem, solution: Solution) -> tuple[bool, bool, bool]:
    answer = solution.value is not None and same_value(solution.value, problem.answer)
    return answer, *same_equation(solution.equation, solution.numbers, problem)


def same_equation(equation: tuple[str, ...], values: Sequence[Fraction], problem: WordProblem) -> tuple[bool, bool]:
    """Whether an equation is that of a problem; and whether it is but for the order of what is added or multiplied.

    Two mentions of one value are the same: which of them a data set means is not told.
    """
    if not equation:
        return False, False
    found, true = in_values(equation, values), in_values(problem.equation, problem.values)
    return found == true, commutative(found) == commutative(true)


def solver_table(results: Mapping[str, SolverScores], doubles: BoolArray, notes: Sequence[str] = ()) -> Table:
    """A row for each solver: shares with their intervals, and answers without doubles.

    Args:
        doubles: bool [n], problems that stand in ``train`` too.
    """
    rows = []
    for name, scores in results.items():
        cells = (
            f"{scores.share(of):.3f} ({low:.3f}–{high:.3f})" for of in MEASURES for low, high in [scores.interval(of)]
        )
        clean = NOTHING if doubles.all() else f"{scores.share('answers', ~doubles):.3f}"
        rows.append((name, *cells, clean))
    one = next(iter(results.values()))
    drawn = "problems" if len(np.unique(one.groups)) == len(one.groups) else "groups of problems"
    about = f"{measures_note(len(one.answers), int(doubles.sum()))} 95 % intervals in brackets, {drawn} drawn anew."
    return Table(
        "Problems solved", ("solver", *MEASURES.values(), "answers without doubles"), tuple(rows), (about, *notes)
    )


def measures_note(problems: int, doubles: int) -> str:
    """What the columns of a table of MEASURES mean."""
    return (
        f"Of {problems:,} problems. An answer is right whose value is the true equation's to 1e-4, an equation whose "
        "operators and values stand at the same places; then but for the order of what is added or multiplied. "
        f"Without doubles: without the {doubles:,} problems whose text is in train but for numbers or few words."
    )


def size_table(results: Mapping[str, SolverScores], told: Sequence[ToldProblem]) -> Table:
    """Answers and equations by the size of the tree: a row for each number of operators."""

    def size(one: ToldProblem) -> tuple[int, str]:
        count = min(one.operators, _MANY)
        more = " or more" if count == _MANY else ""
        return count, f"{count}{more} ({2 * count + 1}{more})"

    return _table_by("Problems solved by the size of the tree", "operators (nodes)", results, told, size)


def depth_table(results: Mapping[str, SolverScores], told: Sequence[ToldProblem]) -> Table:
    """Answers and equations by the depth of the tree."""

    def depth(one: ToldProblem) -> tuple[int, str]:
        count = min(one.depth, _MANY)
        return count, f"{count}{' or more' if count == _MANY else ''}"

    return _table_by("Problems solved by the depth of the tree", "depth", results, told, depth)


def language_table(results: Mapping[str, SolverScores], told: Sequence[ToldProblem]) -> Table:
    """Answers and equations by language."""

    def language(one: ToldProblem) -> tuple[int, str]:
        return 0, one.question.language or "unknown"

    return _table_by("Problems solved by language", "language", results, told, language)


def _table_by(
    title: str,
    first: str,
    results: Mapping[str, SolverScores],
    told: Sequence[ToldProblem],
    kind: Callable[[ToldProblem], tuple[int, str]],
) -> Table:
    kinds = np.array([kind(one)[1] for one in told])
    rows = []
    for _, name in sorted({kind(one) for one in told}):
        of = kinds == name
        cells = (
            f"{scores.share(measure, of):.3f}" for scores in results.values() for measure in ("answers", "equations")
        )
        rows.append((name, f"{of.sum():,}", *cells))
    columns = (column for name in results for column in (f"{name}: answers", "equations"))
    return Table(title, (first, "problems", *columns), tuple(rows))
