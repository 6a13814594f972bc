from fractions import Fraction

import numpy as np
import pytest

from tqnet.config import ConfigError, load_config
from tqnet.questions import Question
from tqnet.solver.augmentation import ProblemAugmentation, ProblemAugmentConfig, renumber
from tqnet.solver.problems import Alphabet, WordProblem, gold_problem, values_of
from tqnet.text.equations import commutative

PROBLEMS = [
    ("Tom has 3 red pens. Ann has 12 pens. How many pens are there?", "3 + 12"),
    ("Eva has 30 blue pens. Each box holds 6 pens. How many boxes are full?", "30 / 6"),
    ("A train covers 90 km. The train needs 2 hours. How fast is it?", "90 / 2"),
    ("小明有8本书。小红有5本书。两人一共有多少本书？", "8 + 5"),
    ("苹果有20个。梨有4个。苹果是梨的几倍？", "20 / 4"),
]
QUESTIONS = [
    Question(id=text, stem=text, language="en" if text.isascii() else "zh", extras={"equation": equation})
    for text, equation in PROBLEMS
]


def _augmentation(config: ProblemAugmentConfig) -> ProblemAugmentation:
    problems = [gold_problem(question, Alphabet()) for question in QUESTIONS]
    return ProblemAugmentation(
        config, QUESTIONS, problems, lambda texts: [list(map(hash, text.split())) for text in texts], commutative
    )


@pytest.mark.parametrize(
    "config",
    [
        ProblemAugmentConfig(distract=1.0),
        ProblemAugmentConfig(strategies=["structure"], probability=1.0),
        ProblemAugmentConfig(strategies=["text", "rename", "structure"], probability=0.7, distract=0.5),
    ],
)
def test_answers_stay(config: ProblemAugmentConfig) -> None:
    augmentation = _augmentation(config)
    rng = np.random.default_rng(0)
    for place, question in enumerate(QUESTIONS):
        texts = set()
        for _ in range(30):
            text, problem = augmentation(place, rng)
            assert problem.values == tuple(values_of(text))
            assert problem.answer == augmentation.problems[place].answer
            assert problem.equation == commutative(problem.equation)
            texts.add(text)
        assert texts - {question.stem}
        if config.distract == 1:
            assert all(len(values_of(text)) == len(values_of(question.stem)) + 1 for text in texts)
            assert all(text.isascii() == question.stem.isascii() for text in texts)


def test_a_distractor_is_a_like_condition_of_another_problem() -> None:
    augmentation = _augmentation(ProblemAugmentConfig(distract=1.0))
    rng = np.random.default_rng(0)
    for text, _ in (augmentation(0, rng) for _ in range(20)):
        rest = text.replace("Tom has 3 red pens.", "").replace("Ann has 12 pens.", "")
        assert rest.split(". ")[0].strip() == "Eva has 30 blue pens"
        assert text.endswith("How many pens are there?")


def test_numbers_keep_their_values() -> None:
    problem = WordProblem((Fraction(3), Fraction(3), Fraction(5)), ("-", "*", "n1", "n3", "n2"))
    values = [Fraction(5), Fraction(7), Fraction(3), Fraction(3)]
    moved = renumber(problem, values)
    assert moved == WordProblem(tuple(values), ("-", "*", "n3", "n1", "n4"))
    assert moved.answer == problem.answer
    assert renumber(problem, values[:3]) is None  # the second 3 is missing


def test_strategies_that_change_the_answer_are_refused() -> None:
    with pytest.raises(ConfigError, match="strategies"):
        load_config(ProblemAugmentConfig, [], ["strategies=[number]"])
