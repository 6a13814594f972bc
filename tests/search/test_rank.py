from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.search.samples import make_questions
from tqnet.questions import Question
from tqnet.search import ranking as rank
from tqnet.search.ranking import WEIGHTS, Rank, pair_features
from tqnet.search.retrieval import Candidate, Votes

QUERY = Question(id="query", stem="Find the area.")


def candidates(count: int = 30) -> list[Candidate]:
    """All but equally alike, so that the evidence leaves them in the order of recall."""
    made = [replace(question, stem="?", knowledge=()) for question in make_questions(count)]
    return [Candidate(question, 1 - at / count, 1 - at / count) for at, question in enumerate(made)]


def last_is_best(query: Question, questions: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
    return np.array([int(question.id[1:]) / 100 for question in questions], dtype=np.float32)


def test_the_first_candidates_are_ranked_and_the_others_stay_behind() -> None:
    found = rank.Rank(last_is_best, first=20)(QUERY, candidates())
    assert not found.late
    assert [one.question.id for one in found.candidates] == [
        f"q{at:03d}" for at in [*range(19, -1, -1), *range(20, 30)]
    ]
    assert found.candidates[0].rank == pytest.approx(0.19)
    assert "similar 0.190" in found.candidates[0].why
    assert found.candidates[20].rank is None


def test_one_query_is_ranked_at_a_time() -> None:
    here, go = threading.Event(), threading.Event()

    def wait(query: Question, questions: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        here.set()
        go.wait(60)
        return last_is_best(query, questions, evidence)

    ranking = Rank(wait, first=8, deadline=0.05)
    first = threading.Thread(target=ranking, args=(QUERY, candidates()))
    first.start()
    here.wait(60)
    late = ranking(QUERY, candidates())
    go.set()
    first.join(60)
    assert late.late
    assert late.candidates == candidates()


def test_equal_scores_keep_the_order_of_recall() -> None:
    found = Rank(lambda query, questions, evidence: np.full(len(questions), 0.5))(QUERY, candidates(5))
    assert [one.question.id for one in found.candidates] == [f"q{at:03d}" for at in range(5)]


@pytest.mark.parametrize("slow_from", [0, 8], ids=["at once", "in the midst"])
def test_when_time_is_up_the_order_of_recall_is_returned(slow_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(rank.time, "monotonic", lambda: clock[0])

    def slowly(query: Question, questions: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        clock[0] += 1.0 if int(questions[0].id[1:]) >= slow_from else 0.0
        return last_is_best(query, questions, evidence)

    given = candidates()
    found = Rank(slowly, deadline=0.5)(QUERY, given)
    assert found.late
    assert found.candidates == given
    assert not Rank(slowly, deadline=10)(QUERY, given).late


def test_no_candidate() -> None:
    assert Rank(last_is_best)(QUERY, []).candidates == []


def test_the_evidence_of_each_candidate_is_handed_on() -> None:
    texts = {3: "Find the area.", 20: "Find it."}
    given = [
        replace(one, cosine=0.2, question=replace(one.question, stem=texts.get(at, "Solve $x = 2$.")))
        for at, one in enumerate(candidates())
    ]
    seen = []

    def by_sum(query: Question, questions: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        seen.append(evidence)
        return evidence.sum(1)

    found = Rank(by_sum, first=20)(QUERY, given)
    cosines, characters, concepts = np.concatenate(seen).T
    assert len(cosines) == 20  # by the evidence: what is most alike is read first
    np.testing.assert_allclose(cosines, 0.2, atol=1e-6)
    assert characters[0] == 1
    assert 0 < characters[1] < 1
    assert not characters[2:].any()
    assert not concepts.any()
    assert [one.question.id for one in found.candidates[:3]] == ["q003", "q020", "q000"]
    assert pair_features(QUERY, []).shape == (0, 3)
    assert not pair_features(QUERY, [replace(one, cosine=None) for one in given])[:, 0].any()  # vectors were not asked


def test_without_a_model_the_evidence_orders_all() -> None:
    given = [replace(one, cosine=0.5) for one in candidates()]
    given[27] = replace(given[27], question=replace(given[27].question, stem=QUERY.stem))
    found = Rank()(QUERY, given).candidates
    assert found[0].question.id == "q027"
    assert found[0].likeness == pytest.approx((0.5 * WEIGHTS[0] + WEIGHTS[1]) / sum(WEIGHTS))
    assert found[0].rank is None
    assert "likeness 0.526, vector 0.500" in found[0].why
    assert [one.question.id for one in found[1:4]] == ["q000", "q001", "q002"]
    read = [replace(one, text="find area", question=replace(one.question, stem="")) for one in given[:1]]
    assert Rank()(QUERY, read).candidates[0].likeness == found[0].likeness  # by the words that recall has read


def test_candidates_that_are_about_what_the_nearest_are_about_come_first() -> None:
    area, angles = ("Geometry", "Area"), ("Geometry", "Angles")
    concepts = [angles, area, area, area, angles, area]
    given = [
        replace(one, cosine=0.9 - at / 100, question=replace(one.question, knowledge=(concept,)))
        for at, (one, concept) in enumerate(zip(candidates(), concepts, strict=False))
    ]
    found = Rank()(QUERY, given).candidates
    assert [one.question.id for one in found] == ["q001", "q002", "q003", "q005", "q000", "q004"]


def test_votes_for_concepts() -> None:
    a, b = ("a",), ("b",)
    concepts = [(a,), (a, b), (b,), (), (a,)]
    cosines = dict(enumerate([0.9, 0.8, 0.7, 0.6, -0.5]))
    votes = Votes(cosines, concepts.__getitem__)
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
    assert Votes(dict.fromkeys(range(5), 0.0), concepts.__getitem__).foremost(9) == []  # vectors were not asked
    assert Votes(dict.fromkeys(range(5), 0.0), concepts.__getitem__).share(1) == 0
    many = {at: 0.5 if at < 10 else 0.4 for at in range(13)}  # ten vote
    ten = Votes(many, lambda at: (a,) if at < 10 else (b,))
    assert [ten.share(0), ten.share(11)] == [1, 0]


def test_the_concepts_of_a_query_that_has_some_are_looked_for() -> None:
    area, angles = ("Geometry", "Area"), ("Geometry", "Angles")
    concepts = [(angles,), (angles, area), (area,), ()]
    given = [
        replace(one, question=replace(one.question, knowledge=own))
        for one, own in zip(candidates(4), concepts, strict=True)
    ]
    asking = replace(QUERY, knowledge=(area,))
    found = Rank()(asking, given).candidates
    assert [one.question.id for one in found] == ["q002", "q001", "q000", "q003"]  # the more of both are the same
    seen = []

    def see(query: Question, questions: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        seen.extend(evidence)
        return np.zeros(len(questions))

    Rank(see)(asking, given)  # a ranker is told what it was trained with
    expected = {one.question.id: row for one, row in zip(given, pair_features(QUERY, given), strict=True)}
    np.testing.assert_allclose(seen, [expected[one.question.id] for one in found])


def test_what_was_found_by_text_alone_stays_in_its_order() -> None:
    given = [replace(one, cosine=None) for one in candidates()]
    given[9] = replace(given[9], question=replace(given[9].question, stem=QUERY.stem))
    assert Rank()(QUERY, given).candidates == given
