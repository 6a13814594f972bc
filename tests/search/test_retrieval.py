"""Candidates of both sources, merged by the paper's rule, without the query and its duplicates; kept beforehand."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.conftest import QUESTIONS, VECTORS, WIDTH, make_questions, make_vectors
from tqnet.questions import Question
from tqnet.search import precomputed
from tqnet.search.engine import SearchEngine
from tqnet.search.index import Index
from tqnet.search.precomputed import precompute, precomputed_candidates
from tqnet.search.ranking import Rank
from tqnet.search.records import read_filter, records, unit
from tqnet.search.retrieval import Candidate, Retriever, Votes, merge
from tqnet.search.searcher import Searcher
from tqnet.search.versions import Manifest


def ids(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.question.id for candidate in candidates]


@pytest.mark.parametrize(
    ("exact", "embedded", "n", "merged"),
    [
        ("abcdef", "cghijk", 5, "cgahb"),  # one in both, two of each
        ("abc", "abc", 5, "abc"),
        ("abc", "cba", 2, "cb"),
        ("abcd", "", 3, "abc"),
        ("", "abcd", 3, "abc"),
        ("a", "bcdefg", 5, "bacde"),  # the other list fills the half that is missing
        ("bcdefg", "a", 5, "abcde"),
        ("", "", 5, ""),
    ],
)
def test_merging(exact: str, embedded: str, n: int, merged: str) -> None:
    assert "".join(merge(exact, embedded, n)) == merged


@given(
    st.permutations("abcdefgh"), st.permutations("efghijkl"), st.integers(0, 8), st.integers(0, 8), st.integers(1, 12)
)
def test_merging_takes_what_the_paper_says(first: list[str], second: list[str], a: int, b: int, n: int) -> None:
    exact, embedded = first[:a], second[:b]
    merged = merge(exact, embedded, n)
    both = set(exact) & set(embedded)
    assert len(merged) == len(set(merged)) == min(n, len(set(exact) | set(embedded)))
    if len(both) <= n:
        assert both <= set(merged)
        rest = [sum(id in merged for id in ids if id not in both) for ids in (exact, embedded)]
        if min(len(exact), len(embedded)) - len(both) > n:
            assert abs(rest[0] - rest[1]) <= 1
    for ids in (exact, embedded):  # of each list, the first ones
        taken = [id in merged for id in ids if id not in both]
        assert taken == sorted(taken, reverse=True)


WORDS = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(80))
TRAIN = "A train goes $60$ km in $2$ hours, how fast is it on its way to the town?"
FORMULA = r"Find the number $x$ for which $\dfrac12 x + 3 = 9$ holds, and check it."


@pytest.mark.parametrize(
    ("query", "indexed", "is_duplicate"),
    [
        (TRAIN, TRAIN, True),
        (TRAIN, TRAIN.replace("60", "75"), False),
        (TRAIN, f"{TRAIN} Give the answer in kilometres an hour, and explain each step.", False),
        (f"{WORDS} is $3$ times", f"{WORDS} is $7$ times", False),  # other numbers, however long the text
        (
            f"{WORDS} what is the largest area of the field",
            f"{WORDS} what is the largest perimeter of the field",
            False,
        ),
        (FORMULA, FORMULA.replace(r"\dfrac12", r"\frac{1}{2}"), True),
        (f"{WORDS}. How many?", f"{WORDS} again. How many?", True),
        (WORDS, f"{WORDS} more", False),  # more may be asked
        (WORDS, WORDS[:350], False),
    ],
)
def test_duplicates_of_the_query_are_no_candidates(
    engine: SearchEngine, query: str, indexed: str, is_duplicate: bool
) -> None:
    engine.add(records([Question(id="indexed", stem=indexed)], np.ones((1, WIDTH))))
    candidates = Retriever(engine)(Question(id="q", stem=query), np.ones(WIDTH))
    assert ids(candidates) == ([] if is_duplicate else ["indexed"])
    for candidate in candidates:
        assert candidate.cosine == pytest.approx(1)
        assert candidate.bm25
        assert "vector 1.000, text" in candidate.why


def test_figures_of_duplicates(engine: SearchEngine) -> None:
    query = Question(id="q", stem=TRAIN, images=("train.png",))
    engine.add(records([query, replace(query, id="plain", images=())], np.ones((2, WIDTH))))
    assert ids(Retriever(engine)(query, np.ones(WIDTH))) == ["plain"]
    moved = replace(query, images=("elsewhere.png",))
    assert ids(Retriever(engine)(moved, np.ones(WIDTH))) == ["plain"]


def test_of_two_that_are_equal_one_is_a_candidate(engine: SearchEngine) -> None:
    """Though the text finds the one with concepts first, and the vector the other."""
    a = Question(id="a", stem="Solve the equation for the unknown")
    b = replace(a, id="b", knowledge=(("Algebra", "Equations"),))
    engine.add(records([a, b], np.ones((2, WIDTH))))
    (candidate,) = Retriever(engine)(Question(id="q", stem="Solve", knowledge=b.knowledge), np.ones(WIDTH))
    assert candidate.cosine == pytest.approx(1)
    assert candidate.bm25 is not None


def test_the_score_does_not_depend_on_whether_the_query_is_in_the_index(engine: SearchEngine) -> None:
    engine.add(records(QUESTIONS[1:], VECTORS[1:]))
    typed, known = (
        [
            (candidate.question.id, candidate.score)
            for candidate in Retriever(engine)(QUESTIONS[0], VECTORS[0], 100, where)
        ]
        for where in ((), [read_filter("id!=q000")])
    )
    assert typed == known


@pytest.mark.parametrize("by", [("text",), ("vector",), ("text", "vector")])
def test_sources_and_filters(full_engine: SearchEngine, by: tuple[str, ...]) -> None:
    candidates = Retriever(full_engine)(QUESTIONS[12], VECTORS[12], 10, [read_filter("type=blank")], by=by)
    assert 0 < len(candidates) <= 10
    assert all(candidate.question.type == "blank" for candidate in candidates)
    order = [(-candidate.score, candidate.question.id) for candidate in candidates]
    assert order == sorted(order)
    for candidate in candidates:
        assert (candidate.cosine is None) == (by == ("text",))
        if candidate.cosine is not None:
            expected = unit(VECTORS)[12] @ unit(VECTORS)[int(candidate.question.id[1:])]
            assert candidate.cosine == pytest.approx(float(expected), abs=1e-5)
    assert all(candidate.bm25 is None for candidate in candidates) == (by == ("vector",))


def test_without_a_vector_the_text_is_searched(full_engine: SearchEngine) -> None:
    assert {candidate.cosine for candidate in Retriever(full_engine)(QUESTIONS[12])} == {None}
    assert Retriever(full_engine)(Question(id="q", stem="of the")) == []


@pytest.mark.parametrize(("merging", "expected"), [("score", "abcd"), ("halves", "abxy")])
def test_half_of_the_places_or_the_best_score(engine: SearchEngine, merging: str, expected: str) -> None:
    """The text finds x and y alone, by a word of little worth; vectors put a to d before them."""
    near = [Question(id=id, stem=f"A triangle and its {id}{id}{id}") for id in "abcd"]
    far = [Question(id=id, stem=f"How much is the {id}{id}{id} of a parallelogram") for id in "xy"]
    angles = np.radians([0, 5, 10, 15, 80, 81])
    engine.add(records([*near, *far], np.stack([np.cos(angles), np.sin(angles), *np.zeros((6, 6))], 1)))
    query = Question(id="q", stem="What of the parallelogram")
    assert set(ids(Retriever(engine, merging)(query, np.eye(8)[0], 4))) == set(expected)
    with pytest.raises(ValueError, match=r"^merging: 'all' is not one of score, halves$"):
        Retriever(engine, "all")


def test_many_doubles_of_the_query_leave_room_for_others(engine: SearchEngine) -> None:
    query = Question(id="q", stem="Find the area of the garden in square metres")
    copies = [replace(query, id=f"copy{i}") for i in range(60)]
    others = [replace(query, id=f"other{i}", stem=f"Find the area of garden {'abcdefgh'[i]}") for i in range(8)]
    vectors = np.ones((68, 8))
    vectors[60:, 0] = 0  # every copy is nearer
    engine.add(records([*copies, *others], vectors))
    candidates = Retriever(engine)(query, np.ones(8), 5)
    assert len(candidates) == 5
    assert all(id.startswith("other") for id in ids(candidates))


def test_votes_for_concepts() -> None:
    a, b = ("a",), ("b",)
    concepts = [(a,), (a, b), (b,), (), (a,)]
    votes = Votes(dict(enumerate([0.9, 0.8, 0.7, 0.6, -0.5])), concepts.__getitem__)
    first, second, third, fourth = (cosine**10 for cosine in (0.9, 0.8, 0.7, 0.6))
    expected = [
        second / (second + third + fourth),  # its own vote does not count
        first / (first + third + fourth),  # the foremost of its concepts
        second / (first + second + fourth),
        0,  # it has none
        (first + second) / (first + second + third + fourth),  # it has no vote
    ]
    np.testing.assert_allclose(list(map(votes.share, range(5))), expected)
    assert votes.foremost(1) == [a]
    assert votes.foremost(9) == [a, b]
    assert Votes({0: 0.9}, concepts.__getitem__).share(0) == 0  # nobody else votes
    silent = Votes(dict.fromkeys(range(5), 0.0), concepts.__getitem__)  # vectors were not searched
    assert silent.foremost(9) == []
    assert silent.share(1) == 0
    ten = Votes({at: 0.5 if at < 10 else 0.4 for at in range(13)}, lambda at: (a,) if at < 10 else (b,))
    assert [ten.share(0), ten.share(11)] == [1, 0]


def test_what_the_nearest_are_about_is_searched_for(engine: SearchEngine) -> None:
    area, sets = ("Geometry", "Area"), ("Logic", "Sets")
    kinds = [(0.95, area)] * 10 + [(0.8, sets)] * 30 + [(0.6, area)] * 5 + [(0.5, sets)] * 5
    cosines = np.array([cosine for cosine, _ in kinds]) - np.arange(50) / 1000
    questions = [
        Question(id=f"{at:02d}", stem=f"Question number {at} of all", knowledge=(concept,))
        for at, (_, concept) in enumerate(kinds)
    ]
    engine.add(records(questions, np.stack([cosines, (1 - cosines**2) ** 0.5, *np.zeros((6, 50))], 1)))
    query, vector = Question(id="q", stem="How large is it?"), np.eye(8, dtype=np.float32)[0]
    plain = ids(Retriever(engine, guess=False)(query, vector, 20))
    assert plain == [f"{at:02d}" for at in range(20)]
    candidates = Retriever(engine)(query, vector, 20)
    assert ids(candidates) == [*plain[:15], *(f"{at:02d}" for at in range(40, 45))]
    scores = [candidate.score for candidate in candidates]
    assert scores == sorted(scores, reverse=True)
    for without_guess in (
        Retriever(engine)(replace(query, knowledge=(sets,)), vector, 20),  # it is known
        Retriever(engine)(query, vector, 20, by=("vector",)),
        Retriever(engine, merging="halves")(query, vector, 20),
    ):
        assert "44" not in ids(without_guess)
    few = Retriever(engine)(query, vector, 20, [read_filter("concept=Logic/Sets")])
    assert {candidate.question.knowledge for candidate in few} == {(sets,)}
    assert "00" not in ids(Retriever(engine)(questions[0], vector, 20, duplicates=True))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index.create(tmp_path / "index", Manifest("encoder:none", None, WIDTH, "bank"))
    index.add(QUESTIONS, VECTORS)
    index.engine.optimize()
    return index


def test_precomputed_candidates_are_what_retrieval_finds(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    assert precomputed_candidates(index, "q003", 5) is None
    assert precompute(index, 12) == 60
    for number in (0, 3, 59):
        expected = Retriever(index.engine).retrieve(QUESTIONS[number], VECTORS[number], 12)
        assert precomputed_candidates(index, QUESTIONS[number].id, 12) == expected
    assert precomputed_candidates(index, "q003", 11) is None  # these would be merged otherwise
    assert precomputed_candidates(index, "it's nobody", 12) is None
    with monkeypatch.context() as patch:
        patch.setattr(precomputed, "TEXT_WEIGHT", 0.5)  # another version's order
        assert precomputed_candidates(index, "q003", 12) is None
    folder = index.files / "precomputed"
    for file in (folder / "candidates.lance" / "data").iterdir():
        file.write_bytes(file.read_bytes()[:9])
    assert precomputed_candidates(index, "q003", 12) is None
    shutil.rmtree(folder / "candidates.lance")
    assert precomputed_candidates(index, "q003", 12) is None
    (folder / "stamp.json").write_text("")
    assert precomputed_candidates(index, "q003", 12) is None


def test_searches_take_precomputed_candidates_until_the_index_changes(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    searcher = Searcher(index)
    query = searcher.by_id("q005")
    before = searcher.answer(query, candidates=10).candidates
    precompute(index, 10)
    with monkeypatch.context() as patch:
        patch.setattr(Retriever, "retrieve", None)  # nothing is searched
        assert searcher.answer(query, candidates=10).candidates == before
    filtered = searcher.answer(query, where=[read_filter("difficulty<=1")], candidates=10).candidates
    assert all(candidate.question.difficulty <= 1 for candidate in filtered)
    index.engine.delete([before[0].question.id])
    assert before[0].question.id not in ids(searcher.answer(query, candidates=10).candidates)


@pytest.mark.parametrize("rank", [None, Rank()])
def test_pages_go_on_beyond_the_candidates(index: Index, rank: Rank | None) -> None:
    index.put([replace(QUESTIONS[5], id="copy", stem=QUESTIONS[5].stem.lower())], VECTORS[5:6])
    searcher = Searcher(index, rank=rank)
    query = searcher.by_id("q005")
    unpaged = searcher.answer(query, 10, candidates=10, fold=False, floor=-1)
    assert unpaged.more
    assert [known.question.id for known in unpaged.known] == ["copy"]
    pages: list[list[str]] = []
    more = True
    while more:
        page = searcher.answer(query, 4, offset=sum(map(len, pages)), candidates=10, fold=False, floor=-1)
        pages.append(ids(page.candidates))
        more = page.more
    paged = [id for page in pages for id in page]
    assert paged[:10] == ids(unpaged.candidates)
    assert len(set(paged)) == len(paged) > 20
    assert "copy" not in [*paged, *ids(searcher.answer(query, 70, duplicates="hide", fold=False).candidates)]


def test_a_killed_precomputation_is_resumed(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    retrieve = Retriever.retrieve

    def fail_at_40(retriever: Retriever, query: Question, *rest: object) -> object:
        searched.append(query)
        if len(searched) == 40:
            raise KeyboardInterrupt
        return retrieve(retriever, query, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(precomputed, "_AT_ONCE", 10)
    monkeypatch.setattr(Retriever, "retrieve", fail_at_40)
    with pytest.raises(KeyboardInterrupt):
        precompute(index, 6)
    assert precomputed_candidates(index, "q000", 6) is None  # not before it is whole
    assert precompute(index, 6) == 60
    assert len(searched) == 40 + 30
    assert (kept := precomputed_candidates(index, "q000", 6)) is not None
    assert len(kept.candidates) == 6
    index.put(make_questions(61)[60:], make_vectors(1))
    assert precompute(index, 6) == 61
    assert len(searched) == 70 + 61
