"""KH-distances against Eq. 1 read out loud."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tqnet.questions.hierarchy import KnowledgeDistance

Paths = tuple[tuple[str, ...], ...]

_path = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(tuple)
_knowledge = st.lists(st.lists(_path, max_size=3).map(tuple), min_size=2, max_size=12)


def literal(first: Paths, second: Paths, depth: int) -> int:
    if not first or not second:
        return depth + 2
    shared = 0
    for one in first:
        for other in second:
            for level in range(1, min(len(one), len(other)) + 1):
                if one[:level] == other[:level]:
                    shared = max(shared, level)
    return depth - shared + 1


@given(_knowledge)
def test_eq_1_over_all_pairs_of_paths(knowledge: list[Paths]) -> None:
    distance = KnowledgeDistance(knowledge)
    depth = max((len(path) for paths in knowledge for path in paths), default=0)
    assert distance.depth == depth
    everyone = np.arange(len(knowledge))
    found = distance(everyone, everyone)
    assert found.tolist() == [[literal(a, b, depth) for b in knowledge] for a in knowledge]


def test_the_example_of_the_paper() -> None:
    """Figure 1: Q1 to Q3 share the leaf, Q4 the second level, Q5 the first, Q6 nothing."""
    algebra = ("Algebra", "Function", "Trigonometric Function")
    knowledge = [
        (algebra,),
        (algebra,),
        (("Algebra", "Function", "Power Function"),),
        (("Algebra", "Sequence", "Sum"),),
        (("Probability", "Events", "Independence"),),
        (("Algebra", "Function"),),  # its third level is missing, and never matches
        (),
    ]
    distance = KnowledgeDistance(knowledge)
    assert distance(np.array([0]), np.arange(7)).tolist() == [[1, 1, 2, 3, 4, 2, 5]]
    assert distance(np.array([5, 6]), np.array([5, 6])).tolist() == [[2, 5], [5, 5]]
    assert len(distance.rows(np.array([0]))[0]) == 1 + 5  # questions of the same concepts are computed once
