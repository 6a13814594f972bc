"""Hierarchies of concepts, declared or not, and KH-distances in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.questions import BankError, KnowledgeHierarchy, KnowledgePath, Question, QuestionBank, load_bank
from tqnet.questions.hierarchy import KnowledgeDistance, hierarchy_faults

Write = Callable[..., Path]

KNOWLEDGE: list[tuple[KnowledgePath, ...]] = [
    (("Integrals", "Applications", "Volumes"), ("Derivatives", "Applications")),
    (("Derivatives", "Applications"), ("Derivatives", "Rules")),
    (("Derivatives",),),
    (),
]


def _bank(*knowledge: tuple[KnowledgePath, ...]) -> QuestionBank:
    return QuestionBank.from_questions(Question(id=str(i), stem="x", knowledge=k) for i, k in enumerate(knowledge))


def test_shape() -> None:
    hierarchy = KnowledgeHierarchy.from_bank(_bank(*KNOWLEDGE))
    assert hierarchy.depth == 3
    assert hierarchy.class_counts == [2, 3, 1]
    assert hierarchy.ambiguous_names == ["Applications"]
    assert [[hierarchy.concepts[i] for i in concepts] for concepts in hierarchy.questions] == [
        sorted(paths) for paths in KNOWLEDGE
    ]


def test_labels() -> None:
    hierarchy = KnowledgeHierarchy.from_bank(_bank(*KNOWLEDGE))
    assert hierarchy.labels(1) == (["Derivatives", "Integrals"], [(0, 1), (0,), (0,), ()])
    assert hierarchy.labels(2) == (
        ["Derivatives > Applications", "Derivatives > Rules", "Integrals > Applications"],
        [(0, 2), (0, 1), (), ()],
    )
    assert hierarchy.labels(3) == (["Integrals > Applications > Volumes"], [(0,), (), (), ()])
    for level in (0, 4):
        with pytest.raises(ValueError, match=f"expected 1 to 3, got {level}"):
            hierarchy.labels(level)


def test_without_knowledge() -> None:
    hierarchy = KnowledgeHierarchy.from_bank(_bank((), ()))
    assert (hierarchy.depth, hierarchy.class_counts, hierarchy.questions) == (0, [], [(), ()])


def test_any_depth() -> None:
    path = tuple(str(i) for i in range(2000))
    bank = _bank((path,))
    assert KnowledgeHierarchy.from_bank(bank, unique_names=True).depth == 2000
    (fault,) = hierarchy_faults(_bank((path,), (("1999", "0"),)), unique_names=True)
    assert fault.message.startswith("cycle: 0 > 1 > 2 > ")
    assert fault.message.endswith(" > 1999 > 0")


def test_names_may_recur_unless_they_are_unique() -> None:
    bank = _bank(*KNOWLEDGE, *KNOWLEDGE)
    assert hierarchy_faults(bank) == []
    assert [str(fault) for fault in hierarchy_faults(bank, unique_names=True)] == [
        "questions:1: knowledge[1][1]: 'Applications' has two parents: 'Integrals' (line 1) and 'Derivatives'"
    ]
    with pytest.raises(BankError, match="two parents"):
        KnowledgeHierarchy.from_bank(bank, unique_names=True)


def _declare(folder: Path, **parents: str | None) -> None:
    lines = (json.dumps({"concept": concept, "parent": parent}) for concept, parent in parents.items())
    (folder / "knowledge.jsonl").write_text("\n".join(lines))


def test_declared_names(write: Write, tmp_path: Path) -> None:
    bank = QuestionBank.load(write({"id": "a", "stem": "x", "knowledge": [["A", "B"], ["A", "B", "C"]]}))
    _declare(tmp_path, A=None, B="A", C="B")
    assert KnowledgeHierarchy.from_bank(bank).class_counts == [1, 1, 1]
    _declare(tmp_path, A=None, B="A", C="A")
    with pytest.raises(BankError) as caught:
        KnowledgeHierarchy.from_bank(bank)
    assert str(caught.value) == (f"{bank.path}:1: knowledge[1][2]: 'C' is under 'B' here, but declared under 'A'")


def test_questions_that_contradict_the_declaration_may_be_left_out(write: Write, tmp_path: Path) -> None:
    good, bad, worse = ({"id": name, "stem": "x", "knowledge": [[*name]]} for name in ("AB", "BA", "CB"))
    file = write(good, {"id": "no stem"}, bad, worse)
    _declare(tmp_path, A=None, B="A")
    with pytest.raises(BankError, match="stem"):
        load_bank(file)
    with (
        pytest.warns(UserWarning, match=r"1 of 4 records left out, 1 faults; the first: .*:2: stem"),
        pytest.warns(
            UserWarning, match=r"2 of 3 records left out, 3 faults; the first: .*:3: knowledge\[0\]\[0\]: 'B'"
        ),
    ):
        bank = load_bank(file, "skip")
    assert (bank.ids, bank.skipped) == (["AB"], 3)
    for records in ([good, bad], [bad]):  # the second would leave nothing
        with pytest.raises(BankError, match="'B'"):
            load_bank(write(*records), "stop" if good in records else "skip")
    _declare(tmp_path, A="B", B="A")
    with pytest.raises(BankError, match="cycle"):  # the fault is none of a question
        load_bank(write(good), "skip")


def test_a_declaration_may_come_before_its_parent_and_twice(write: Write, tmp_path: Path) -> None:
    bank = QuestionBank.load(write({"id": "a", "stem": "x", "knowledge": [["A", "B"]]}))
    lines = [{"concept": "B", "parent": "A"}, {"concept": "A", "parent": None}, {"concept": "B", "parent": "A"}]
    (tmp_path / "knowledge.jsonl").write_text("\n\n".join(map(json.dumps, lines)))
    assert hierarchy_faults(bank) == []


Paths = tuple[tuple[str, ...], ...]

_path = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(tuple)
_knowledge = st.lists(st.lists(_path, max_size=3).map(tuple), min_size=2, max_size=12)


def literal(first: Paths, second: Paths, depth: int) -> int:
    if not first or not second:
        return depth + 2
    shared = 0
    for first_path in first:
        for second_path in second:
            for level in range(1, min(len(first_path), len(second_path)) + 1):
                if first_path[:level] == second_path[:level]:
                    shared = max(shared, level)
    return depth - shared + 1


@given(_knowledge)
def test_eq_1_over_all_pairs_of_paths(knowledge: list[Paths]) -> None:
    distance = KnowledgeDistance(knowledge)
    depth = max((len(path) for paths in knowledge for path in paths), default=0)
    assert distance.depth == depth
    everyone = np.arange(len(knowledge))
    distances = distance(everyone, everyone)
    assert distances.tolist() == [[literal(a, b, depth) for b in knowledge] for a in knowledge]


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
