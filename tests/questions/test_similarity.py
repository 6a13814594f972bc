import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.questions import BankError, Question, QuestionBank, Similarity


def _bank(*groups: str | None) -> QuestionBank:
    return QuestionBank.from_questions(Question(id=str(i), stem="x", group=g) for i, g in enumerate(groups))


def _pairs(folder: Path, *rows: object) -> Path:
    file = folder / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def _pair(a: object, b: object, similar: object) -> dict[str, object]:
    return {"a": a, "b": b, "similar": similar}


def _check_agreement(similarity: Similarity, related: set[tuple[int, int]]) -> None:
    """All views of ``similarity`` against the set of its ordered pairs."""
    n = len(similarity)
    expected = np.array([[(i, j) in related for j in range(n)] for i in range(n)], dtype=bool).reshape(n, n)
    assert (similarity.matrix(range(n)) == expected).all()
    assert similarity.has_similar.tolist() == expected.any(axis=1).tolist()
    for i in range(n):
        assert similarity.neighbours(i).tolist() == np.flatnonzero(expected[i]).tolist()
        assert similarity.neighbours(i).dtype == np.int64
        assert all(similarity.groups[i] == similarity.groups[j] for j in similarity.neighbours(i))


@given(st.lists(st.none() | st.sampled_from("abc"), max_size=8))
def test_groups(groups: list[str | None]) -> None:
    similarity = Similarity.from_groups(_bank(*groups))
    n = len(groups)
    pairs = {(i, j) for i in range(n) for j in range(n) if i != j and groups[i] is not None and groups[i] == groups[j]}
    _check_agreement(similarity, pairs)
    assert len(set(similarity.groups.tolist())) == len(set(groups) - {None}) + groups.count(None)
    assert similarity.labelled.tolist() == [group is not None for group in groups]  # one alone in its group too


@given(st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda p: p[0] < p[1]), st.floats(0, 1)))
def test_pairs(tmp_path_factory: pytest.TempPathFactory, scores: dict[tuple[int, int], float]) -> None:
    file = _pairs(tmp_path_factory.mktemp("pairs"), *(_pair(str(b), str(a), s) for (a, b), s in scores.items()))
    similarity = Similarity.from_pairs(file, _bank(*[None] * 7), threshold=0.4)
    similar = {pair for pair, score in scores.items() if score >= 0.4}
    _check_agreement(similarity, similar | {(b, a) for a, b in similar})
    assert np.flatnonzero(similarity.labelled).tolist() == sorted({end for pair in scores for end in pair})


@pytest.mark.parametrize("kind", ["groups", "pairs"])
def test_a_question_at_two_places_is_not_its_own_neighbour(kind: str, tmp_path: Path) -> None:
    bank = _bank("g", "g", None)
    pairs = _pairs(tmp_path, _pair("0", "1", 1))
    similarity = Similarity.from_groups(bank) if kind == "groups" else Similarity.from_pairs(pairs, bank)
    matrix = similarity.matrix([1, 0, 1, 2, 2])
    assert matrix.dtype == bool
    assert matrix.tolist() == [
        [False, True, False, False, False],
        [True, False, True, False, False],
        [False, True, False, False, False],
        [False] * 5,
        [False] * 5,
    ]


@given(
    st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda p: p[0] < p[1]), st.floats(0, 1)),
    st.lists(st.none() | st.sampled_from("abc"), min_size=7, max_size=7),
    st.lists(st.integers(0, 6), unique=True),
)
def test_a_part_of_a_relation(
    tmp_path_factory: pytest.TempPathFactory,
    scores: dict[tuple[int, int], float],
    groups: list[str | None],
    chosen: list[int],
) -> None:
    """Numbered as the part of the bank is; who has lost all relatives has none."""
    bank = _bank(*groups)
    file = _pairs(tmp_path_factory.mktemp("pairs"), *(_pair(str(b), str(a), s) for (a, b), s in scores.items()))
    for similarity in (Similarity.from_groups(bank), Similarity.from_pairs(file, bank)):
        matrix = similarity.matrix(chosen)
        related = {(i, j) for i in range(len(chosen)) for j in range(len(chosen)) if matrix[i, j]}
        part = similarity.select(np.array(chosen, dtype=int))
        _check_agreement(part, related)
        assert part.labelled.tolist() == [bool(similarity.labelled[i]) for i in chosen]
    by_group = Similarity.from_groups(bank).select(chosen)
    assert by_group.has_similar.tolist() == Similarity.from_groups(bank.select(chosen)).has_similar.tolist()


def test_csv(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("a,b,similar\n0,1,1\n1,2,0.2\n2,3,0.5\n")
    similarity = Similarity.from_pairs(file, _bank(*[None] * 4))
    assert similarity.has_similar.tolist() == [True, True, True, True]
    assert similarity.neighbours(2).tolist() == [3]
    file.write_text("a,b,similar\n0,9,1\n1,2,yes\n2,3\n")
    with pytest.raises(BankError) as caught:
        Similarity.from_pairs(file, _bank(*[None] * 4))
    assert str(caught.value).splitlines() == [
        f"{file}:2: b: no question '9' in the bank",
        f"{file}:3: similar: expected 0, 1 or a score, got 'yes'",
        f"{file}:4: similar: missing",
    ]


def test_faults_of_pairs(tmp_path: Path) -> None:
    file = _pairs(
        tmp_path,
        _pair("0", "7", 1),
        _pair(None, "1", 1),
        _pair("0", ["1"], 1),
        _pair("0", 1, "1"),
        _pair("0", "1", float("nan")),
        _pair("0", "0", 1),
        ["0", "1", 1],
        _pair("0", "1", 1),
        _pair("1", "0", 0),
    )
    with pytest.raises(BankError) as caught:
        Similarity.from_pairs(file, _bank(None, None))
    assert [str(fault).removeprefix(f"{file}:") for fault in caught.value.faults] == [
        "1: b: no question '7' in the bank",
        "2: a: missing",
        "3: b: expected the id of a question",
        "4: similar: expected 0, 1 or a score, got '1'",
        "5: similar: expected 0, 1 or a score, got nan",
        "6: b: the same question as a",
        "7: record: expected an object, got a list",
        "9: similar: contradicts line 8, which has the same pair",
    ]


def test_faulty_pairs_may_be_left_out(tmp_path: Path) -> None:
    """Those of a question that is not there, and every verdict that contradicts the first on its pair."""
    rows = [_pair("0", "7", 1), _pair("0", "1", 1), _pair("2", "3", 0), _pair("1", "2", "yes")]
    file = _pairs(tmp_path, *rows, _pair("1", "0", 0), _pair("0", "1", 0), _pair("3", "2", 1), _pair("2", "3", 0))
    bank = _bank(None, None, None, None)
    with pytest.warns(UserWarning, match=r"5 of 7 pairs left out, 5 faults; the first: .*:1: b: no question '7'"):
        similarity = Similarity.from_pairs(file, bank, on_error="skip")
    _check_agreement(similarity, {(0, 1), (1, 0)})
    with pytest.raises(BankError) as caught:
        Similarity.from_pairs(file, bank)
    assert [fault.line for fault in caught.value.faults] == [1, 4, 5, 6, 7]
    with pytest.raises(BankError, match="no question '7'"):  # nothing would be left
        Similarity.from_pairs(_pairs(tmp_path, rows[0]), bank, on_error="skip")


@pytest.mark.parametrize("several", [False, True])
def test_questions_of_one_concept_are_similar(several: bool) -> None:
    a1, a2, b1 = ("a", "a1"), ("a", "a2"), ("b", "b1")
    knowledge = [(a1,), (a1,), (a2,), (b1, a2) if several else (b1,), (), (a1,)]
    bank = QuestionBank.from_questions(
        Question(id=str(i), stem="s", knowledge=paths) for i, paths in enumerate(knowledge)
    )
    by_topic, by_domain = Similarity.from_concepts(bank, 2), Similarity.from_concepts(bank, 1)
    assert by_topic.neighbours(0).tolist() == [1, 5]
    assert by_topic.neighbours(2).tolist() == ([3] if several else [])
    assert by_topic.neighbours(4).tolist() == []
    assert by_domain.neighbours(2).tolist() == ([0, 1, 3, 5] if several else [0, 1, 5])
    assert not by_topic.has_similar[4]
    assert by_topic.labelled.tolist() == by_domain.labelled.tolist() == [True, True, True, True, False, True]
    with pytest.raises(ValueError, match="level: expected 1 to 2, got 3"):
        Similarity.from_concepts(bank, 3)
