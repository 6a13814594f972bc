"""Contrastive triples against the definition, and the score by which a solver's best state is chosen."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question, QuestionBank
from tqnet.solver.data import Triples, ValidationAnswers
from tqnet.solver.model import Solution, WordProblemSolver
from tqnet.solver.problems import Alphabet
from tqnet.text.equations import OPERATORS, ends, parse_equation, pattern

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
    metrics = ValidationAnswers(solver, bank, 3, "fp32", seed=0)()
    assert metrics == {"valid/answers": 1.0, "valid/equations": equations}


EQUATIONS = [
    parse_equation(text)
    for text in ("n1-n2", "(n1-n2)/n3", "n2-n1", "n1*n2", "(n1+n2)/n3", "n1", "(n2-3)/n1", "n1/(n2-n3)", "n1+n2")
]


def _operators(place: int) -> Counter[str]:
    return Counter(token for token in EQUATIONS[place] if token in OPERATORS)


@pytest.mark.parametrize("positives", ["subtree", "either", "same"])
def test_every_triple_is_as_defined(positives: str) -> None:
    triples = Triples(EQUATIONS, positives=positives)
    rng = np.random.default_rng(0)
    drawn = [triples.draw(problem, rng) for problem in triples.problems for _ in range(50)]
    for triple in drawn:
        anchor, positive = EQUATIONS[triple.problem], EQUATIONS[triple.positive]
        assert triple.positive != triple.problem
        end, anchor_end = ends(positive)[triple.node], ends(anchor)[triple.anchor_node]
        assert pattern(positive[triple.node : end]) == pattern(anchor[triple.anchor_node : anchor_end])
        assert triple.anchor_node == 0 or (positives == "either" and triple.node == 0)
        assert triple.node == 0 or positives != "same"
        assert len(EQUATIONS[triple.negative]) == len(anchor)
        assert _operators(triple.negative) != _operators(triple.problem)
    if positives == "subtree":
        assert {triple.positive for triple in drawn if triple.problem == 0} == {1, 2, 6, 7}
    assert 5 not in triples.problems  # a single number


def test_other_languages_give_the_positives() -> None:
    languages = ["zh", "en", "en", "zh", "zh", "en", "en", "en", "zh"]
    triples = Triples(EQUATIONS, languages)
    rng = np.random.default_rng(0)
    for problem in triples.problems:
        for _ in range(20):
            triple = triples.draw(problem, rng)
            assert languages[triple.positive] != languages[problem] == languages[triple.negative]


def test_random_negatives_have_another_pattern() -> None:
    triples = Triples(EQUATIONS, negatives="random")
    rng = np.random.default_rng(0)
    sizes = set()
    for problem in triples.problems:
        for _ in range(20):
            negative = triples.draw(problem, rng).negative
            assert pattern(EQUATIONS[negative]) != pattern(EQUATIONS[problem])
            sizes.add(len(EQUATIONS[negative]) - len(EQUATIONS[problem]))
    assert len(sizes) > 1


def test_a_language_of_one_pattern_has_no_random_negative() -> None:
    equations = [parse_equation(text) for text in ("n1-n2", "n2-n1", "n1-n2", "n1*n2")]
    triples = Triples(equations, ["en", "en", "zh", "zh"], negatives="random")
    assert triples.problems == [2]
    assert triples.draw(2, np.random.default_rng(0)).negative == 3
    assert Triples(equations[:3], negatives="random").problems == []


@pytest.mark.parametrize(("positives", "anchors"), [("same", []), ("subtree", [1]), ("either", [0, 1])])
@pytest.mark.parametrize("languages", [None, ["en", "zh", "en", "zh"]])
def test_one_like_problem_is_enough(positives: str, anchors: list[int], languages: list[str] | None) -> None:
    equations = [parse_equation(text) for text in ("(n1+n2)*(n3-n4)", "n1+n2", "n1", "n2")]
    triples = Triples(equations, languages, positives, negatives="random")
    assert triples.problems == anchors
    for anchor in anchors:
        assert triples.draw(anchor, np.random.default_rng(0)).positive == 1 - anchor
