"""Equations of a bank's questions, and the groups that they make: problems of one prototype."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tqnet.equations.problems import Alphabet, read_problem
from tqnet.equations.tree import EquationError, prototype
from tqnet.questions import Question, QuestionBank

#: Field of a question that holds its equation.
EQUATION = "equation"


def equation_of(question: Question) -> str | None:
    """As the bank has it; None where it has none."""
    equation = question.extras.get(EQUATION)
    return str(equation) if equation is not None else None


def told_equations(bank: QuestionBank) -> Iterator[tuple[str, str]]:
    """Text and equation of the questions that have one."""
    for question in bank:
        if (equation := equation_of(question)) is not None:
            yield question.content, equation


def grouped_by_prototype(bank: QuestionBank, alphabet: Alphabet) -> tuple[list[Question], dict[int, str]]:
    """The questions of a bank with their prototype equations as groups; and by place, why one has none.

    Whatever groups the bank has are dropped.
    """
    questions: list[Question] = []
    faults: dict[int, str] = {}
    for place, question in enumerate(bank):
        group = None
        try:
            if (equation := equation_of(question)) is None:
                raise EquationError(f"has no field {EQUATION!r}")
            group = prototype(read_problem(question.content, equation, alphabet).equation)
        except EquationError as error:
            faults[place] = str(error)
        questions.append(replace(question, group=group))
    return questions, faults
