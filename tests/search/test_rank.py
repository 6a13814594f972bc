from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.search.samples import make_questions
from tqnet.questions import Question
from tqnet.search import rank
from tqnet.search.evidence import evidence
from tqnet.search.rank import Rank, by_evidence
from tqnet.search.recall import Candidate

QUERY = Question(id="query", stem="Find the area.")


def candidates(count: int = 30) -> list[Candidate]:
    return [Candidate(question, 1 - at / count) for at, question in enumerate(make_questions(count))]


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
        replace(one, cosine=one.score, question=replace(one.question, stem=texts.get(at, "Solve $x = 2$.")))
        for at, one in enumerate(candidates())
    ]
    seen = []

    def by_evidence(query: Question, questions: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        seen.append(evidence)
        return evidence.sum(1)

    found = Rank(by_evidence, first=20)(QUERY, given)
    cosines, words = np.concatenate(seen).T
    np.testing.assert_allclose(cosines, [one.score for one in given[:20]], atol=1e-6)
    assert words.argmax() == 3
    assert words[3] == 1
    assert found.candidates[0].question.id == "q003"
    assert evidence(QUERY, []).shape == (0, 2)
    assert not evidence(QUERY, candidates())[:, 0].any()  # vectors were not asked


def test_without_a_model_the_evidence_orders() -> None:
    given = [replace(one, cosine=0.5) for one in candidates()]
    given[7] = replace(given[7], question=replace(given[7].question, stem=QUERY.stem))
    found = Rank(by_evidence, first=20)(QUERY, given).candidates
    assert found[0].question.id == given[7].question.id
    assert found[0].rank == pytest.approx(0.75)  # the mean of a cosine of 0.5 and an equal text
