"""Labels, solutions and concepts: who has them, whose may be read, and how near questions are by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tqnet.questions import Question, QuestionBank
from tqnet.training.contrast import KeyRanks
from tqnet.training.labels import ClassLabels, class_head, difficulty_labels, readable_labels, type_labels


def bank(difficulties: list[float | None], **fields: list[str | None]) -> QuestionBank:
    questions = [Question(id=str(i), stem="x", difficulty=value) for i, value in enumerate(difficulties)]
    for name, values in fields.items():
        questions = [replace(question, **{name: value}) for question, value in zip(questions, values, strict=True)]
    return QuestionBank.from_questions(questions)


def levels(labels: ClassLabels) -> list[int | None]:
    return [classes[0] if classes else None for classes in labels.labels]


def test_few_difficulties_are_levels_of_their_own() -> None:
    labels = difficulty_labels(bank([3.0, None, 1.0, 3.0, 2.5]), 5)
    assert labels.names == ["up to 1", "up to 2.5", "up to 3"]
    assert levels(labels) == [2, None, 0, 2, 1]
    assert labels.labelled == 4


def test_many_difficulties_are_cut_into_levels_of_equal_size() -> None:
    values = np.random.default_rng(0).permutation(np.linspace(0, 1, 100))
    assigned = levels(difficulty_labels(bank(values.tolist()), 4))
    assert np.bincount(assigned).tolist() == [25, 25, 25, 25]
    assert [max(values[np.array(assigned) == k]) for k in range(4)] == sorted(values)[24::25]


def test_labels_of_other_splits_are_not_read() -> None:
    splits = ["train", "valid", "test", None, "train"]
    questions = bank([1, 9, 8, 2, None], split=splits, type=["a", "b", "c", "d", None])
    assert readable_labels(questions).tolist() == [True, False, False, True, True]
    assert type_labels(questions).names == ["a", "d"]
    assert type_labels(questions).labels == [(0,), (), (), (1,), ()]
    assert difficulty_labels(questions, 5).names == ["up to 1", "up to 2"]


def test_a_head_starts_at_how_frequent_the_classes_are() -> None:
    labels = ClassLabels("abc", [(0, 1), (0,), (), (2,)])
    assert labels.mean(normalised=True).tolist() == pytest.approx([1.5 / 3, 0.5 / 3, 1 / 3])
    logits = class_head(8, labels)(torch.zeros(1, 8))
    torch.testing.assert_close(logits.softmax(-1)[0], labels.mean(normalised=True))
    assert labels.indicators(np.array([2, 0])).tolist() == [[False] * 3, [True, True, False]]


@pytest.mark.parametrize(
    ("answer", "analysis", "solution"),
    [
        ("B", "Add them.", "five\nAdd them."),
        ("(A)", None, "four"),
        ("A, C", None, "four\nsix"),
        ("AC", None, "four\nsix"),
        ("D", "Add them.", "D\nAdd them."),  # no such option
        ("AD", None, "AD"),
        ("Apples", None, "Apples"),
        (None, "Add them.", "Add them."),
        (None, None, ""),
    ],
)
def test_a_solution_says_what_its_letters_stand_for(answer: str | None, analysis: str | None, solution: str) -> None:
    options = ("four", "five", "six")
    assert Question(id="q", stem="x", options=options, answer=answer, analysis=analysis).solution == solution


PATHS = [("Algebra", "Equations", "Linear"), ("Algebra", "Equations", "Quadratic"), ("Algebra", "Sequences", "Linear")]


def known_bank() -> QuestionBank:
    known = [*PATHS, PATHS[0], ("Geometry", "Circles", "Arcs"), None]
    return QuestionBank.from_questions(
        Question(id=f"q{at}", stem=f"Question {at}.", knowledge=(path,) if path else (), split="train")
        for at, path in enumerate(known)
    )


def ranks_of_the_first(ranks: KeyRanks) -> list[int]:
    none = torch.zeros(1, 5, dtype=torch.bool)
    return ranks(np.array([0]), torch.arange(1, 6), none)[0].tolist()


def test_ranks_follow_the_deepest_shared_concept() -> None:
    ranks = KeyRanks(known_bank())
    assert ranks.depth == 3
    assert ranks_of_the_first(ranks) == [0, 2, 3, 1, 4, 5]  # of the last, nothing is known


def test_of_leaves_alone_a_name_elsewhere_in_the_tree_is_another_concept() -> None:
    ranks = KeyRanks(known_bank(), leaves=True)
    assert ranks.depth == 1
    assert ranks_of_the_first(ranks) == [0, 2, 2, 1, 2, 3]


def test_without_a_hierarchy_nothing_is_known_of_any() -> None:
    assert set(ranks_of_the_first(KeyRanks(known_bank(), hierarchy=False))[1:]) == {2}
