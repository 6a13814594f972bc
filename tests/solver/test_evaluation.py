"""What counts as solved, and how representations of one prototype are measured."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tqnet.questions import Question, QuestionBank
from tqnet.solver.evaluation import (
    GoldProblem,
    SolverScores,
    gold_problems,
    groups_of,
    same_equation,
    score_solutions,
    solver_table,
    tables_by_kind,
)
from tqnet.solver.model import Solution
from tqnet.solver.problems import Alphabet, WordProblem, read_problem
from tqnet.solver.representations import (
    Representations,
    accuracy_by_distance,
    analyse,
    calinski_harabasz,
    common_prototypes,
    cosines_to_centres,
    distance_table,
    draw_layer_pairs,
    example_table,
    prototype_table,
    similarity_by_layer,
)
from tqnet.text.equations import parse_equation

TEXT = "Of 12 cakes, 3 boys eat 3 each and 5 are sold."


def problem(equation: str) -> WordProblem:
    return read_problem(TEXT, equation, Alphabet(("1",)))


@pytest.mark.parametrize(
    ("predicted", "true", "same"),
    [
        ("n1 - n2", "12-3", (True, True)),
        ("n1 - n3", "12-3", (True, True)),  # the other 3
        ("n2 - n1", "12-3", (False, False)),
        ("n1 + n4", "5+12", (False, True)),
        ("n2 * (n1 + n4)", "(5+12)*3", (False, True)),
        ("n1 - n2 - n4", "12-(3+5)", (False, False)),  # of one value, another tree
        ("n1 / n2", "12-3", (False, False)),
    ],
)
def test_equations_are_compared_by_values_and_places(predicted: str, true: str, same: tuple[bool, bool]) -> None:
    values = tuple(map(Fraction, (12, 3, 3, 5)))
    assert same_equation(parse_equation(predicted), values, problem(true)) == same


def told(*equations: str, text: str = TEXT) -> list[GoldProblem]:
    return [
        GoldProblem(place, Question(str(place), stem=text, language="en" if place % 2 else "zh"), problem(equation))
        for place, equation in enumerate(equations)
    ]


def solution(equation: str) -> Solution:
    values = tuple(map(Fraction, (12, 3, 3, 5)))
    prefix = parse_equation(equation)
    return Solution(values, prefix, WordProblem(values, prefix).answer, 1.0)


def test_answers_and_equations() -> None:
    problems = told("12-3", "12-(3+5)", "12/3", "5")
    solutions = [solution("n1-n3"), solution("n1-n2-n4"), Solution((), fault="no number"), solution("n1")]
    scores = score_solutions(problems, solutions)
    assert scores.answers.tolist() == [True, True, False, False]
    assert scores.equations.tolist() == [True, False, False, False]
    low, high = scores.interval("answers")
    assert low <= scores.share("answers") == 0.5 <= high
    assert scores.to_dict()["equations"]["share"] == 0.25
    assert [(gold.operators, gold.depth) for gold in problems] == [(1, 1), (2, 2), (1, 1), (0, 0)]

    table = solver_table({"mine": scores}, np.array([True, False, False, False]), ("A note.",))
    assert table.rows[0][-1] == "0.333"
    assert "without the 1 problems" in table.notes[0]
    assert table.notes[1] == "A note."
    sizes, depths, languages = (table.rows for table in tables_by_kind({"mine": scores}, problems))
    assert [row[:2] for row in sizes] == [("0 (1)", "1"), ("1 (3)", "2"), ("2 (5)", "1")]
    assert depths[1] == ("1", "2", "0.500", "0.500")
    assert languages[0] == ("en", "2", "0.500", "0.000")
    none = SolverScores(*(np.zeros(4, dtype=bool) for _ in range(3)), np.arange(4))
    shown = example_table(
        problems, {"a": [Solution(())] * 4, "b": solutions}, {"a": none, "b": scores}, shows_text=True
    )
    assert [row[1:] for row in shown.rows] == [("n1 - n2", "–", "n1 - n3"), ("n1 - (n2 + n4)", "–", "n1 - n2 - n4")]
    assert shown.notes == ("b alone: 2.",)
    written = example_table(problems, {"a": [Solution(())] * 4, "b": solutions}, {"a": none, "b": scores}, False)
    assert [row[0] for row in written.rows] == [gold.question.id for gold in problems[:2]]
    assert not example_table(problems, {"b": solutions}, {"b": scores}, shows_text=True).rows


def test_problems_of_one_group_are_drawn_together() -> None:
    """Eight groups of five problems, of which all are solved or none: as few numbers as eight problems."""
    questions = [Question(str(at), stem=f"{at + 2} and 3 ?", extras={"equation": f"{at + 2}+3"}) for at in range(40)]
    varied = [replace(question, group=f"g{at // 5}") for at, question in enumerate(questions)]

    def width(questions: list[Question]) -> float:
        gold, _ = gold_problems(QuestionBank.from_questions(questions))
        right = [
            Solution(gold_problem.problem.values, gold_problem.problem.equation, gold_problem.problem.answer)
            for gold_problem in gold
        ]
        scores = score_solutions(
            gold, [right_solution if at // 5 % 2 else Solution(()) for at, right_solution in enumerate(right)]
        )
        (note,) = solver_table({"mine": scores}, np.zeros(40, dtype=bool)).notes
        assert note.endswith("groups of problems drawn anew.") == any(question.group for question in questions)
        assert scores.share("answers") == 0.5
        low, high = scores.interval("answers")
        return high - low

    assert width(varied) > 1.8 * width(questions)
    gold, _ = gold_problems(QuestionBank.from_questions([*varied[:7], *questions[7:9]]))
    assert groups_of(gold).tolist() == [0, 0, 0, 0, 0, 5, 5, 7, 8]


def test_a_bank_says_what_is_not_measured() -> None:
    rows = [("12 and 977 ?", "12*977*314"), ("3 ?", "3/0"), ("Who ?", None)]
    bank = QuestionBank.from_questions(
        [
            Question(str(at), stem=text, extras={"equation": equation} if equation else {})
            for at, (text, equation) in enumerate(rows)
        ]
    )
    gold, faults = gold_problems(bank)  # a constant that stands once is known here
    assert [gold_problem.place for gold_problem in gold] == [0]
    assert list(faults.values()) == ["1: 3 is divided by zero", "2: has no field 'equation'"]


def test_representations_of_prototypes() -> None:
    problems = told(*["12-3"] * 6, *["12*3"] * 6, "12/3")
    common = common_prototypes(problems)
    assert common.tolist() == [True] * 12 + [False]
    rng = np.random.default_rng(0)
    names = [gold.prototype for gold in problems[:12]]
    near = np.repeat(np.eye(4)[:2], 6, 0) + 0.05 * rng.normal(size=(12, 4))
    far = rng.normal(size=(12, 4))
    assert calinski_harabasz(near, names) > 10 * calinski_harabasz(far, names)
    assert calinski_harabasz(near[:6], names[:6]) is None
    cosines = cosines_to_centres(near, names)
    assert cosines.min() > 0.9
    mean = near[:6].mean(0)
    assert cosines[0] == pytest.approx(near[0] @ mean / np.linalg.norm(near[0]) / np.linalg.norm(mean))

    bins = accuracy_by_distance(np.array([-0.4, 0.05, 0.1, 0.95, 1.0]), np.array([True, False, True, True, False]))
    assert [(bucket.problems, bucket.right) for bucket in bins][:3] == [(2, 0.5), (1, 1.0), (0, None)]
    assert (bins[-1].problems, bins[-1].right) == (2, 0.5)
    representations = Representations(np.concatenate((near, far[:1])), None)
    analysis = analyse(representations, problems, np.ones(13, dtype=bool), None)
    assert sum(bucket.problems for bucket in analysis.distances) == 12
    assert prototype_table({"a": analysis}, problems).rows[0][3] == "–"
    assert distance_table({"a": analysis}).rows[-1][-1] == "1.000"
    assert analyse(representations, problems[-1:], np.ones(1, dtype=bool), None).index is None


def test_pairs_that_are_followed_through_the_layers() -> None:
    texts = ("Tom had 12 red pens, sold 3", "Tom had 12 red pens in 3 boxes", "A pear weighs 12 g, a plum 3 g less")
    problems = [
        GoldProblem(at, Question(str(at), stem=text), read_problem(text, equation, Alphabet()))
        for at, (text, equation) in enumerate(zip(texts, ("12-3", "12*3", "12-3"), strict=True))
    ]
    pairs = draw_layer_pairs(problems)
    assert pairs is not None
    assert pairs[0][0].tolist() == [0, 1]
    assert pairs[1].tolist() == [[0, 2]]
    layers = np.array([[[1, 0], [1, 0], [0, 1]], [[1, 0], [0, 1], [1, 0]]], dtype=float)
    words, prototype = similarity_by_layer(layers, pairs)
    assert prototype.tolist() == [0, 1]
    assert words[0] > words[1]
    assert draw_layer_pairs(problems[:1]) is None
