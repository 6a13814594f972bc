"""Score solvers of word problems by answers and equations, also by kind of problem (mwp-cl, Section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tqnet.evaluation.metrics import BoolArray, FloatArray, IntArray, Interval, percentiles, resampled_sums
from tqnet.evaluation.table import NOTHING, Table
from tqnet.solver.problems import Alphabet, WordProblem, gold_equations, gold_problem, in_values
from tqnet.text.equations import OPERATORS, EquationError, commutative, prototype, same_value

if TYPE_CHECKING:
    from tqnet.questions import Question, QuestionBank
    from tqnet.solver.model import Solution

#: Measure -> column name.
MEASURES = {"answers": "answers", "equations": "equations", "commutative": "equations but for order"}
#: Problems with this many operators or this depth, or more, share a table row.
_MANY = 5


@dataclass(frozen=True)
class GoldProblem:
    """A question with a known equation.

    Attributes:
        place: Row number in the bank.
    """

    place: int
    question: Question
    problem: WordProblem

    @property
    def operators(self) -> int:
        """Number of operators n in the equation, whose tree has 2n + 1 nodes."""
        return sum(token in OPERATORS for token in self.problem.equation)

    @property
    def depth(self) -> int:
        """Operators on the longest path from the root to a leaf."""
        stack: list[int] = []
        for token in reversed(self.problem.equation):
            stack.append(1 + max(stack.pop(), stack.pop()) if token in OPERATORS else 0)
        return stack[0]

    @cached_property
    def prototype(self) -> str:
        """Its prototype equation."""
        return prototype(self.problem.equation)


def gold_problems(bank: QuestionBank) -> tuple[list[GoldProblem], dict[int, str]]:
    """Return the problems of a bank that can be scored, and why others cannot, by row number.

    Any constant is allowed: those outside a solver's alphabet count as its errors.
    """
    alphabet = Alphabet.learn(gold_equations(bank), min_count=1)
    problems: list[GoldProblem] = []
    faults: dict[int, str] = {}
    for place, question in enumerate(bank):
        try:
            problems.append(GoldProblem(place, question, gold_problem(question, alphabet)))
        except EquationError as error:
            faults[place] = f"{question.id}: {error}"
    return problems, faults


@dataclass(frozen=True, eq=False)
class SolverScores:
    """Scores of a solver.

    Attributes:
        answers: bool [n], the equation has the gold value, to 1e-4.
        equations: bool [n], the equation has the gold operators and values in the same positions.
        commutative: bool [n], likewise up to the order of summands and factors.
        groups: int [n], from :func:`groups_of`.
    """

    answers: BoolArray
    equations: BoolArray
    commutative: BoolArray
    groups: IntArray

    @cached_property
    def _draws(self) -> FloatArray:
        return resampled_sums(np.stack([getattr(self, name) for name in MEASURES], 1), self.groups)

    def share(self, measure: str, rows: BoolArray | None = None) -> float:
        """Return the share of all problems, or of those marked by ``rows``."""
        correct: BoolArray = getattr(self, measure)
        return float(np.mean(correct if rows is None else correct[rows]))

    def interval(self, measure: str) -> Interval:
        """Return the 95 % bootstrap interval, resampled by group."""
        return percentiles(self._draws[:, list(MEASURES).index(measure)] / len(self.answers))

    def to_dict(self) -> dict[str, Any]:
        """Return numbers for JSON."""
        return {name: {"share": self.share(name), "interval": self.interval(name).to_json()} for name in MEASURES}


def score_solutions(problems: Sequence[GoldProblem], solutions: Sequence[Solution]) -> SolverScores:
    """Compare solutions with the gold equations, in the order of ``problems``."""
    rows = []
    for gold, solution in zip(problems, solutions, strict=True):
        answer = solution.value is not None and same_value(solution.value, gold.problem.answer)
        rows.append((answer, *same_equation(solution.equation, solution.numbers, gold.problem)))
    answers, equations, commutative = np.array(rows, dtype=bool).reshape(-1, 3).T
    return SolverScores(answers, equations, commutative, groups_of(problems))


def groups_of(problems: Sequence[GoldProblem]) -> IntArray:
    """Number the groups by their first problem's position; a problem without a group gets its own."""
    first: dict[str, int] = {}
    groups = [problem.question.group for problem in problems]
    return np.array([first.setdefault(group, at) if group else at for at, group in enumerate(groups)], dtype=np.int64)


def same_equation(equation: tuple[str, ...], values: Sequence[Fraction], problem: WordProblem) -> tuple[bool, bool]:
    """Return whether an equation is the gold one, and whether it is up to the order of summands and factors.

    Mentions of equal values are interchangeable: data sets do not say which one is meant.
    """
    if not equation:
        return False, False
    predicted, gold = in_values(equation, values), in_values(problem.equation, problem.values)
    return predicted == gold, commutative(predicted) == commutative(gold)


def solver_table(results: Mapping[str, SolverScores], doubles: BoolArray, notes: Sequence[str] = ()) -> Table:
    """Tabulate each solver's shares with intervals, and its answers without near-duplicates.

    Args:
        doubles: bool [n], problems that are also in ``train``.
    """
    rows = []
    for name, scores in results.items():
        cells = [f"{scores.share(measure):.3f} ({scores.interval(measure)})" for measure in MEASURES]
        clean = NOTHING if doubles.all() else f"{scores.share('answers', ~doubles):.3f}"
        rows.append((name, *cells, clean))
    groups = next(iter(results.values())).groups
    drawn = "problems" if len(np.unique(groups)) == len(groups) else "groups of problems"
    about = f"{measures_note(len(groups), int(doubles.sum()))} 95 % intervals in brackets, {drawn} drawn anew."
    header = ("solver", *MEASURES.values(), "answers without near-duplicates")
    return Table("Problems solved", header, tuple(rows), (about, *notes))


def measures_note(problems: int, doubles: int) -> str:
    """Explain the columns of a table of MEASURES."""
    return (
        f"Of {problems:,} problems. An answer is right whose value is the true equation's to 1e-4, an equation whose "
        "operators and values stand at the same places; then but for the order of what is added or multiplied. "
        f"Without near-duplicates: without the {doubles:,} problems whose text, up to numbers and a few words, is in "
        "train."
    )


def tables_by_kind(results: Mapping[str, SolverScores], problems: Sequence[GoldProblem]) -> list[Table]:
    """Tabulate answers and equations by size and depth of the tree, and by language if there are several."""

    def many(count: int, factor: int = 1, more: int = 0) -> str:
        return f"{factor * count + more}{' or more' if count == _MANY else ''}"

    sizes = [min(problem.operators, _MANY) for problem in problems]
    depths = [min(problem.depth, _MANY) for problem in problems]
    languages = [problem.question.language or "unknown" for problem in problems]
    names = {size: f"{many(size)} ({many(size, 2, 1)})" for size in sizes}
    tables = [
        _table_by("Problems solved by the size of the tree", "operators (nodes)", results, sizes, names),
        _table_by("Problems solved by the depth of the tree", "depth", results, depths, {d: many(d) for d in depths}),
    ]
    if len(set(languages)) > 1:
        by_name = {language: language for language in languages}
        tables.append(_table_by("Problems solved by language", "language", results, languages, by_name))
    return tables


def _table_by(
    title: str, first: str, results: Mapping[str, SolverScores], kinds: Sequence[Any], names: Mapping[Any, str]
) -> Table:
    """Tabulate each kind of problem in a row."""
    rows = []
    for kind in sorted(names):
        chosen = np.array([kind == other for other in kinds], dtype=bool)
        shares = (scores.share(measure, chosen) for scores in results.values() for measure in ("answers", "equations"))
        rows.append((names[kind], f"{chosen.sum():,}", *(f"{share:.3f}" for share in shares)))
    columns = (column for name in results for column in (f"{name}: answers", "equations"))
    return Table(title, (first, "problems", *columns), tuple(rows))
