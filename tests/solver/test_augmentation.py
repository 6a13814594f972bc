import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from tqnet.config import ConfigError, load_config
from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question, QuestionBank
from tqnet.solver.augmentation import ProblemAugmentation, ProblemAugmentConfig, renumber
from tqnet.solver.data import Triples, WordProblems
from tqnet.solver.model import WordProblemSolver
from tqnet.solver.problems import Alphabet, WordProblem, gold_problem, values_of
from tqnet.text.equations import OPERATORS, Prefix, commutative, ends, pattern

PROBLEMS = [
    ("Tom has 3 red pens. Ann has 12 pens. How many pens are there?", "3 + 12"),
    ("Eva has 3 blue cups. Each box holds 6 cups. How many boxes does she need?", "3 / 6"),
    ("Tom’s train covers 90 km. The train needs 2 hours. How fast is it?", "90 / 2"),
    ("Tom has 40 old coins. He sells 5 coins. How many coins has he now?", "40 - 5"),
    ("小明有8本书。小红有5本书。现在一共有多少本书？", "8 + 5"),
    ("苹果有20个。梨有4个。苹果是梨的几倍？", "20 / 4"),
]
QUESTIONS = [
    Question(id=str(place), stem=stem, extras={"equation": equation}) for place, (stem, equation) in enumerate(PROBLEMS)
]


def _augmentation(config: ProblemAugmentConfig, questions: list[Question] = QUESTIONS) -> ProblemAugmentation:
    problems = [gold_problem(question, Alphabet()) for question in questions]

    def tokenize(texts: list[str]) -> list[list[int]]:
        return [list(map(hash, text.replace(".", "").replace("?", "").split())) for text in texts]

    return ProblemAugmentation(config, questions, problems, tokenize, Alphabet().most, commutative)


@pytest.mark.parametrize(
    "config",
    [
        ProblemAugmentConfig(distract=1.0),
        ProblemAugmentConfig(strategies=["structure"], probability=1.0),
        ProblemAugmentConfig(strategies=["repeat"], probability=0.7, distract=0.5),
    ],
)
def test_answers_stay(config: ProblemAugmentConfig) -> None:
    augmentation = _augmentation(config)
    rng = np.random.default_rng(0)
    for place, question in enumerate(QUESTIONS):
        drawn = [augmentation(place, rng) for _ in range(30)]
        for text, problem in drawn:
            assert problem.values == tuple(values_of(text))
            assert problem.answer == augmentation.problems[place].answer
            assert problem.equation == commutative(problem.equation)
        assert {text for text, _ in drawn} - {question.stem}


def test_distractors() -> None:
    """They are conditions in the problem's script, about other things, with other numbers, and tear nothing apart."""
    augmentation = _augmentation(ProblemAugmentConfig(distract=1.0))
    rng = np.random.default_rng(0)
    drawn = [{augmentation(place, rng)[0] for _ in range(60)} for place in range(len(QUESTIONS))]
    assert drawn[0] == {
        f"{before}Tom has 40 old coins. {after}"
        for before, after in (
            ("", "Tom has 3 red pens. Ann has 12 pens. How many pens are there?"),
            ("Tom has 3 red pens. ", "Ann has 12 pens. How many pens are there?"),
            ("Tom has 3 red pens. Ann has 12 pens. ", "How many pens are there?"),
        )
    }
    assert all("Eva has 3" not in text for text in drawn[0])  # the problem has a 3
    assert all("coins. He sells" in text for text in drawn[3])
    assert all(text.count("梨") + text.count("苹果") == 1 for text in drawn[4])
    assert drawn[5] == {"小明有8本书。" + QUESTIONS[5].stem} | {"小红有5本书。" + QUESTIONS[5].stem} | {
        f"苹果有20个。{condition}梨有4个。苹果是梨的几倍？" for condition in ("小明有8本书。", "小红有5本书。")
    } | {f"苹果有20个。梨有4个。{condition}苹果是梨的几倍？" for condition in ("小明有8本书。", "小红有5本书。")}


APART = [
    ("Bob has 8 apples. What is left?", "8 - 1", "Bob has 1 dog", "the constant of the equation"),
    ("Bob has 8 apples. What is left?", "8 - 1", "Bob has 9 apples", "the same with another number"),
    ("Bob has 8 apples. What apples are left?", "8 - 1", "Eve ate 5 apples", "what is asked for"),
    ("Bob has 8 pens. What is left?", "8 - 1", "Bob has 9 “dogs and", "half of a quotation"),
]


@pytest.mark.parametrize(("stem", "equation", "distractor"), [row[:3] for row in APART], ids=[row[3] for row in APART])
def test_conditions_that_are_no_distractors(stem: str, equation: str, distractor: str) -> None:
    others = [f"{distractor}. What is it?", *(f"Box {n} is heavy. What is left?" for n in range(20, 60))]
    questions = [Question(id=stem, stem=stem, extras={"equation": equation})]
    questions += [Question(id=other, stem=other, extras={"equation": "2 * 1"}) for other in others]
    problems = [gold_problem(questions[0], Alphabet())]
    problems += [WordProblem(tuple(values_of(other)), ("1",)) for other in others]

    def tokenize(texts: list[str]) -> list[list[int]]:
        return [[hash("#" if word.isdigit() else word.strip(".?")) for word in text.split()] for text in texts]

    augmentation = ProblemAugmentation(ProblemAugmentConfig(distract=1.0), questions, problems, tokenize, 20)
    rng = np.random.default_rng(0)
    drawn = [augmentation(0, rng)[0] for _ in range(50)]
    assert all("is heavy. " in text and distractor not in text for text in drawn)


def test_numbers_keep_their_values() -> None:
    problem = WordProblem((Fraction(3), Fraction(3), Fraction(5)), ("-", "*", "n1", "n3", "n2"))
    values = [Fraction(5), Fraction(7), Fraction(3), Fraction(3)]
    moved = renumber(problem, values)
    assert moved == WordProblem(tuple(values), ("-", "*", "n3", "n1", "n4"))
    assert moved.answer == problem.answer
    assert renumber(problem, values[:3]) is None  # the second 3 is missing


def test_no_number_is_pushed_beyond_the_last_that_is_read() -> None:
    most = Alphabet().most
    listed = Question(id="many", stem=", ".join(map(str, range(100, 100 + most))) + ". Sum of the ends?")
    listed.extras["equation"] = f"100 + {99 + most}"
    augmentation = _augmentation(ProblemAugmentConfig(distract=1.0), [*QUESTIONS, listed])
    rng = np.random.default_rng(0)
    drawn = [augmentation(len(QUESTIONS), rng) for _ in range(20)]
    assert all(text.startswith("100, 101") and len(problem.values) == most for text, problem in drawn)
    assert any("pens" in text for text, _ in drawn)


NAMES = ("Ann", "Bob", "Eve", "Max", "Tom")


def test_contrast_is_at_the_same_subtrees() -> None:
    """The numbers move, and so do the operands of one form of an equation, but only among equal patterns."""
    sums = ["12 / (5 + 6) + 3 / 7", "3 / 5 + 7 / (6 + 12)", "(2 + 9) / 4", "8 / 4", "7 + 2", "(6 - 5) * 4", "9 - 4"]
    questions = [Question(id=sum, stem=_told(re.findall(r"\d+", sum)), extras={"equation": sum}) for sum in sums]
    shape = ModelConfig(text="scratch", visual=None, fusion="none", vocabulary_min_count=0, max_length=60)
    shape.scratch_hidden, shape.scratch_layers = 32, 1
    solver = WordProblemSolver(build_model(shape, [question.stem for question in questions])[0], Alphabet())
    problems = [gold_problem(question, Alphabet()) for question in questions]
    problems = [WordProblem(problem.values, commutative(problem.equation)) for problem in problems]
    triples = Triples([problem.equation for problem in problems], positives="either", negatives="random")

    tokenize = solver.encoder.processor.tokenize
    config = ProblemAugmentConfig(strategies=["shuffle"], probability=1.0)
    shuffled = ProblemAugmentation(config, questions, problems, tokenize, Alphabet().most, commutative)
    bank, anchors = QuestionBank.from_questions(questions), triples.problems
    views = WordProblems(bank, solver, problems, 0, triples, anchors, augmentation=shuffled)
    moved = 0
    for epoch in range(20):
        rows = [views[epoch, place, 0] for place in range(len(views))]
        assert rows == [views[epoch, place, 0] for place in range(len(views))]
        for _, triple, texts in rows:
            assert triple is not None
            anchor, positive = texts[0][1].equation, texts[1][1].equation
            moved += texts[0][0] != questions[triple.problem].stem
            assert _at(anchor, triple.anchor_node) == _at(positive, triple.node)
        batch = views.collate(rows)
        assert batch.extras["nodes"].shape == (len(rows), 3)
    assert moved


def _told(numbers: Sequence[str]) -> str:
    return "".join(f"{name} has {number} pens. " for name, number in zip(NAMES, numbers, strict=False)) + "How many?"


def _at(equation: Prefix, node: int) -> str:
    assert equation[node] in OPERATORS
    return pattern(equation[node : ends(equation)[node]])


def test_strategies_that_may_change_the_answer_are_refused() -> None:
    with pytest.raises(ConfigError, match="strategies"):
        load_config(ProblemAugmentConfig, [], ["strategies=[number]"])
