"""The score by which a solver's best state is chosen."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question, QuestionBank
from tqnet.solver.data import ValidationAnswers
from tqnet.solver.model import Solution, WordProblemSolver
from tqnet.solver.problems import Alphabet

TEXT = "Tom has 3 pens, Ann has 3 too and buys 5 more. How many has she?"


@pytest.mark.parametrize(("equation", "equations"), [("+ n2 n3", 1.0), ("+ n1 n3", 1.0), ("+ n3 n2", 0.0)])
def test_mentions_of_one_value_are_one_number(equation: str, equations: float, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = ModelConfig(text="scratch", visual=None, fusion="none", vocabulary_min_count=0, max_length=60)
    shape.scratch_hidden, shape.scratch_layers = 32, 1
    solver = WordProblemSolver(build_model(shape, [TEXT])[0], Alphabet(()))
    numbers = (Fraction(3), Fraction(3), Fraction(5))

    def solve(*_: Any, **__: Any) -> list[Solution]:
        return [Solution(numbers, tuple(equation.split()), Fraction(8))]

    monkeypatch.setattr(WordProblemSolver, "solve", solve)
    bank = QuestionBank.from_questions([Question(id="a", stem=TEXT, extras={"equation": "3+5"})])
    found = ValidationAnswers(solver, bank, 3, "fp32", seed=0)()
    assert found == {"valid/answers": 1.0, "valid/equations": equations}
