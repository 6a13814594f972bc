"""Orders by features and by a ranker, and what they are worth."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.search.conftest import VECTORS, make_questions, new_lance
from tqnet.questions import Question, Similarity
from tqnet.search import ranking
from tqnet.search.background import Background, Words
from tqnet.search.evaluation import (
    ORDERS,
    RETRIEVED,
    START,
    Way,
    evaluate_ranking,
    index_bank,
    ranking_table,
    retrieve_candidates,
    similar_queries,
)
from tqnet.search.ranking import FEATURES, WEIGHTS, Rank, pair_features, search_text, shared_runs, shared_words
from tqnet.search.records import records
from tqnet.search.retrieval import Candidate

QUERY = Question(id="query", stem="Find the area.")
AREA, ANGLES = ("Geometry", "Area"), ("Geometry", "Angles")

#: All but equally alike, so that the features leave them in the order of retrieval.
CANDIDATES = [
    Candidate(replace(question, stem="?", knowledge=()), 1 - at / 30, 1 - at / 30)
    for at, question in enumerate(make_questions(30))
]


def changed(candidate: Candidate, cosine: float | None = 0.5, **fields: object) -> Candidate:
    return replace(candidate, cosine=cosine, question=replace(candidate.question, **fields))


def ids(candidates: Sequence[Candidate] | None) -> list[str]:
    assert candidates is not None, "there was no time"
    return [candidate.question.id for candidate in candidates]


def by_number(query: Question, questions: Sequence[Question], features: np.ndarray) -> np.ndarray:
    return np.array([int(question.id[1:]) / 100 for question in questions], dtype=np.float32)


def shared(first: str, second: str) -> float:
    query, candidate = (search_text(Question(id="q", stem=stem)) for stem in (first, second))
    return float(shared_runs(query, [candidate])[0])


def test_runs_of_characters() -> None:
    derivative, twin = r"Find the derivative of $\dfrac12 x^2$.", r"find the derivative of $\frac{1}{2}x^2$"
    assert shared(derivative, derivative) == pytest.approx(1)
    assert shared(derivative, twin) == pytest.approx(1)
    query = "Integrate the functions"
    assert 0.4 < shared(query, "integrating a function") < 1
    assert shared(query, "a triangle and a circle") < 0.1
    assert shared("某商品降价20%后售价为80元", "一商品涨价20%后售价为90元") > 0.3
    assert shared("圆", "圆") == pytest.approx(1)
    assert shared("圆", "方") == 0


def test_runs_are_shared_both_ways_from_zero_to_one() -> None:
    texts = ["", "x", "某商品降价20%后售价为80元", "Find $x$.", "Find the area of a triangle with base $6$."]
    for first, second in product(texts, repeat=2):
        assert shared(first, second) == pytest.approx(shared(second, first))
        assert 0 <= shared(first, second) <= 1 + 1e-9
    assert shared_runs("x", []).shape == (0,)


def test_runs_are_shared_with_many_as_with_each() -> None:
    texts = ["", "abcd", "abcde", "ab", "abcdabcd", "圆abcd圆"]
    expected = {"abcd": 1, "abcde": 0.5**0.5, "abcdabcd": 0.4**0.5}
    shares = dict(zip(texts, shared_runs("abcd", texts), strict=True))
    assert shares == pytest.approx(dict.fromkeys(texts, 0) | expected | {"圆abcd圆": 1 / 3**0.5})


def test_the_first_candidates_are_ranked_and_the_others_stay_behind() -> None:
    ranked = Rank(by_number, first=20)(QUERY, CANDIDATES) or []
    assert ids(ranked) == [f"q{at:03d}" for at in [*range(19, -1, -1), *range(20, 30)]]
    assert ranked[0].probability == pytest.approx(0.19)
    assert "similar 0.190" in ranked[0].why
    assert ranked[20].probability is None
    assert Rank(by_number)(QUERY, []) == []
    equal = Rank(lambda query, questions, features: np.full(len(questions), 0.5))(QUERY, CANDIDATES[:5])
    assert ids(equal) == ids(CANDIDATES[:5])


def test_queries_are_ranked_one_at_a_time() -> None:
    started, go = threading.Event(), threading.Event()

    def wait(query: Question, questions: Sequence[Question], features: np.ndarray) -> np.ndarray:
        started.set()
        go.wait(60)
        return by_number(query, questions, features)

    rank = Rank(wait, first=8, deadline=0.05)
    first = threading.Thread(target=rank, args=(QUERY, CANDIDATES))
    first.start()
    started.wait(60)
    assert rank(QUERY, CANDIDATES) is None
    go.set()
    first.join(60)


@pytest.mark.parametrize("slow_from", [0, 8], ids=["at once", "in the midst"])
def test_when_time_is_up_there_is_no_order(slow_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(ranking.time, "monotonic", lambda: clock[0])

    def slowly(query: Question, questions: Sequence[Question], features: np.ndarray) -> np.ndarray:
        clock[0] += 1.0 if int(questions[0].id[1:]) >= slow_from else 0.0
        return by_number(query, questions, features)

    assert Rank(slowly, deadline=0.5)(QUERY, CANDIDATES) is None
    assert Rank(slowly, deadline=10)(QUERY, CANDIDATES)


def test_a_ranker_reads_the_features_of_the_most_alike() -> None:
    stems = {3: "Find the area.", 20: "Find it."}
    candidates = [changed(item, 0.2, stem=stems.get(at, "Solve $x = 2$.")) for at, item in enumerate(CANDIDATES)]
    batches = []

    def by_sum(query: Question, questions: Sequence[Question], features: np.ndarray) -> np.ndarray:
        batches.append(features)
        return features.sum(1)

    ranked = Rank(by_sum, first=20)(QUERY, candidates)
    cosines, characters, words, formulas, concepts = np.concatenate(batches).T
    assert len(cosines) == 20
    np.testing.assert_allclose(cosines, 0.2, atol=1e-6)
    assert characters[0] == 1
    assert 0 < characters[1] < 1
    assert not characters[2:].any()
    assert words[0] == 1
    assert not words[2:].any()
    assert not formulas.any()
    assert not concepts.any()
    assert ids(ranked)[:3] == ["q003", "q020", "q000"]
    assert pair_features(QUERY, []).shape == (0, len(FEATURES))
    assert not pair_features(QUERY, [changed(item, None) for item in candidates])[:, 0].any()


def test_without_a_model_the_features_order_all() -> None:
    candidates = [changed(item) for item in CANDIDATES]
    candidates[27] = changed(candidates[27], stem=QUERY.stem)
    ranked = Rank()(QUERY, candidates) or []
    assert ids(ranked)[:4] == ["q027", "q000", "q001", "q002"]
    weight = WEIGHTS[0] / sum(WEIGHTS[:3])  # there are no formulas and no concepts
    assert ranked[0].likeness == pytest.approx(0.5 * weight + 1 - weight)
    assert ranked[0].probability is None
    assert "likeness 0.714, vector 0.500" in ranked[0].why
    with_text = Rank()(QUERY, [replace(changed(candidates[0], stem=""), terms="find area")]) or []
    assert with_text[0].likeness == ranked[0].likeness  # by the words that retrieval has read
    scaled = Rank()(QUERY, candidates, Background(unrelated={"vectors": 0.4, "words": 0.2})) or []
    assert ids(scaled) == ids(ranked)
    assert scaled[0].likeness == pytest.approx((ranked[0].likeness - 0.4) / 0.6)
    by_text = Rank()(QUERY, [changed(item, None, stem=item.question.stem) for item in candidates]) or []
    assert (by_text[0].question.id, by_text[0].likeness) == ("q027", pytest.approx(1))  # on the same scale


def test_formulas_count_by_their_shape() -> None:
    query = Question(id="q", stem="Find $x$ if $2x+3=11$.")
    stems = ["Find $x$.", "Find $a$ if $7a+9=20$.", "Find $x$ if $x^2 = 11$.", "Find the area of the square."]
    candidates = [changed(item, stem=stem) for item, stem in zip(CANDIDATES, stems, strict=False)]
    formulas = pair_features(query, candidates)[:, FEATURES.index("formulas")]
    assert formulas[1] == pytest.approx(1)
    assert formulas[2] < 1
    assert not formulas[[0, 3]].any()


def test_rare_words_in_common_tell_more() -> None:
    words = Words({"solve": 900, "equation": 500, "completing": 3, "square": 80})
    query, texts = "solve completing square x = 7", ["solve equation x = 7", "completing square y", "", "7 = x"]
    common, rare, *nothing = shared_words(query, texts, words)
    assert 0 < common < 0.1 < 0.8 < rare < 1
    assert nothing == [0, 0]  # numbers and names are no words
    common, rare, *_ = shared_words(query, texts, Words())
    assert common == pytest.approx(1 / math.sqrt(3 * 2))  # all are equally rare
    assert rare == pytest.approx(2 / math.sqrt(3 * 2))
    assert shared_words(query, [query], words) == pytest.approx(1)


def test_the_most_alike_vote_for_concepts() -> None:
    """Not the nearest by vectors alone: these share nothing with the query but a direction."""
    stems = ["Find the area of a circle."] * 2 + ["Who was it?"] * 3
    concepts, cosines = [AREA, AREA, ANGLES, ANGLES, ANGLES], [0.5, 0.5, 0.55, 0.55, 0.55]
    candidates = [
        changed(item, cosine, stem=stem, knowledge=(concept,))
        for item, stem, concept, cosine in zip(CANDIDATES, stems, concepts, cosines, strict=False)
    ]
    votes = pair_features(QUERY, candidates)[:, FEATURES.index("concepts")]
    assert votes[:2].min() > 0.9
    assert votes[2:].max() < 0.1


def test_concepts_of_the_nearest_and_of_the_query() -> None:
    concepts = [ANGLES, AREA, AREA, AREA, ANGLES, AREA]
    candidates = [
        changed(item, 0.9 - at / 100, knowledge=(concept,))
        for at, (item, concept) in enumerate(zip(CANDIDATES, concepts, strict=False))
    ]
    assert ids(Rank()(QUERY, candidates)) == ["q001", "q002", "q003", "q005", "q004", "q000"]

    several = [(ANGLES,), (ANGLES, AREA), (AREA,), ()]
    candidates = [changed(item, 0.5, knowledge=paths) for item, paths in zip(CANDIDATES, several, strict=False)]
    query = replace(QUERY, knowledge=(AREA,))
    ranked = Rank()(query, candidates)
    assert ids(ranked) == ["q002", "q001", "q000", "q003"]  # the more of both are the same
    rows = []

    def see(query: Question, questions: Sequence[Question], features: np.ndarray) -> np.ndarray:
        rows.extend(features)
        return np.zeros(len(questions))

    Rank(see)(query, candidates)  # a ranker reads what it was trained with
    expected = dict(zip(ids(candidates), pair_features(QUERY, candidates), strict=True))
    np.testing.assert_allclose(rows, [expected[id] for id in ids(ranked)])


def test_an_order_is_worth_what_it_knows(tmp_path: Path) -> None:
    engine = new_lance(tmp_path)
    questions = [replace(item, group=f"g{at % 6}", split="test") for at, item in enumerate(make_questions())]
    engine.add(records(questions, VECTORS))
    bank = index_bank(engine)
    similarity = Similarity.from_groups(bank)
    with pytest.raises(ValueError, match="no question of split 'valid' has 5 similar ones"):
        similar_queries(bank, similarity, "valid", least=5)
    chosen = similar_queries(bank, similarity, limit=12)
    assert len(similar_queries(bank, similarity, without=chosen)) == len(bank) - len(chosen) == 48
    queries = retrieve_candidates(engine, bank, similarity, chosen, Way("", guess=True), 100)
    assert all(len(query.candidates) == len(bank) - 1 and query.relevant == 9 for query in queries)
    assert not any(query.query.id in ids(query.candidates) or query.query.knowledge for query in queries)
    known = retrieve_candidates(engine, bank, similarity, chosen, Way("", concepts=True), 100)
    assert [query.query for query in known] == [bank[number] for number in chosen]

    def knows(pairs: Sequence[tuple[Question, Question]], features: np.ndarray) -> np.ndarray:
        return np.array([float(query.group == candidate.group) for query, candidate in pairs])

    def likeness(pairs: Sequence[tuple[Question, Question]], features: np.ndarray) -> np.ndarray:
        return features @ WEIGHTS

    rankers = {"right": knows, "wrong": lambda *arguments: -knows(*arguments), "same": likeness}
    results = evaluate_ranking(queries, rankers, first=30)
    assert list(ORDERS.values()) == list(range(1, 1 + len(FEATURES)))
    assert list(results) == [RETRIEVED, *ORDERS, *rankers]
    at_five = {name: scores.precision[5] for name, scores in results.items()}
    np.testing.assert_allclose(at_five["same"], at_five[START])
    orders = [np.argsort(-(pair_features(item.query, item.candidates) @ WEIGHTS), kind="stable") for item in queries]
    read = [item.similar[order[:30]] for item, order in zip(queries, orders, strict=True)]
    np.testing.assert_allclose(at_five["right"], [min(5, similar.sum()) / 5 for similar in read])
    assert at_five["wrong"].max() == 0
    np.testing.assert_allclose(at_five[RETRIEVED], [query.similar[:5].mean() for query in queries])
    assert (at_five[RETRIEVED] != at_five[START]).any()
    low, high = results["right"].interval(5, over=results[RETRIEVED])
    assert 0 < low < high
    line = next(line for line in ranking_table(results, 30).text().splitlines() if line.startswith("right"))
    gains = [(at_five["right"] - at_five[name]).mean() for name in (RETRIEVED, START)]
    assert line.split()[-6::3] == [f"{gain:+.3f}" for gain in gains]
    with pytest.raises(ValueError, match="is the name of another order"):
        evaluate_ranking(queries, {RETRIEVED: knows})
