from __future__ import annotations

import torch

from tqnet.questions import Question, QuestionBank
from tqnet.training.contrast import KeyRanks

PATHS = [("Algebra", "Equations", "Linear"), ("Algebra", "Equations", "Quadratic"), ("Algebra", "Sequences", "Linear")]


def bank() -> QuestionBank:
    known = [*PATHS, PATHS[0], ("Geometry", "Circles", "Arcs"), None]
    return QuestionBank.from_questions(
        Question(id=f"q{at}", stem=f"Question {at}.", knowledge=(path,) if path else (), split="train")
        for at, path in enumerate(known)
    )


def ranks_of_the_first(ranks: KeyRanks) -> list[int]:
    none = torch.zeros(1, 5, dtype=torch.bool)
    return ranks(torch.tensor([0]), torch.arange(1, 6), none)[0].tolist()


def test_ranks_follow_the_deepest_shared_concept() -> None:
    ranks = KeyRanks.of(bank())
    assert ranks.depth == 3
    assert ranks_of_the_first(ranks) == [0, 2, 3, 1, 4, 5]  # of the last, nothing is known


def test_of_leaves_alone_a_name_elsewhere_in_the_tree_is_another_concept() -> None:
    ranks = KeyRanks.of(bank(), leaves=True)
    assert ranks.depth == 1
    assert ranks_of_the_first(ranks) == [0, 2, 2, 1, 2, 3]


def test_without_a_hierarchy_nothing_is_known_of_any() -> None:
    assert set(ranks_of_the_first(KeyRanks.of(bank(), hierarchy=False))[1:]) == {2}
