from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.search.samples import WIDTH, make_questions, make_vectors
from tqnet.questions import Question, Similarity
from tqnet.search.evaluation import (
    ORDERS,
    RETRIEVED,
    START,
    evaluate_ranking,
    index_bank,
    ranking_table,
    retrieve_candidates,
)
from tqnet.search.lance import LanceEngine
from tqnet.search.ranking import FEATURES, WEIGHTS
from tqnet.search.records import records, schema


@pytest.fixture
def engine(tmp_path: Path) -> LanceEngine:
    made = LanceEngine(tmp_path / "lance", schema(WIDTH))
    questions = [replace(of, group=f"g{at % 6}", split="test") for at, of in enumerate(make_questions())]
    made.add(records(questions, make_vectors()))
    return made


def test_an_order_is_worth_what_it_knows(engine: LanceEngine) -> None:
    bank = index_bank(engine)
    queries = retrieve_candidates(engine, bank, Similarity.from_groups(bank), limit=12)
    assert len(queries) == 12
    assert all(len(one.candidates) == len(bank) - 1 and one.relevant == 9 for one in queries)
    assert all(one.query not in one.candidates for one in queries)
    rest = retrieve_candidates(engine, bank, Similarity.from_groups(bank), without={one.query for one in queries})
    assert len(rest) == len(bank) - 12
    known = retrieve_candidates(engine, bank, Similarity.from_groups(bank), limit=12, concepts=True)
    for one in known:
        shares = [bool(set(bank[one.query].knowledge) & set(bank[int(at)].knowledge)) for at in one.candidates]
        if any(shares) and not all(shares):
            assert one.likeness[shares].mean() > one.likeness[~np.array(shares)].mean()

    def knows(pairs: Sequence[tuple[Question, Question]], evidence: np.ndarray) -> np.ndarray:
        return np.array([float(query.group == candidate.group) for query, candidate in pairs])

    def likeness(pairs: Sequence[tuple[Question, Question]], evidence: np.ndarray) -> np.ndarray:
        return evidence @ WEIGHTS

    made = {"right": knows, "wrong": lambda *of: -knows(*of), "same": likeness}
    results = evaluate_ranking(queries, bank, made, first=30)
    assert list(ORDERS.values()) == list(range(1, 1 + len(FEATURES)))
    assert list(results) == [RETRIEVED, *ORDERS, "right", "wrong", "same"]
    np.testing.assert_allclose(results["same"].precision[5], results[START].precision[5])
    read = [one.similar[np.argsort(-(one.features @ WEIGHTS), kind="stable")[:30]] for one in queries]
    found = np.array([min(5, int(similar.sum())) / 5 for similar in read])
    np.testing.assert_allclose(results["right"].precision[5], found)
    assert results["wrong"].precision[5].max() == 0
    first = np.array([one.similar[:5].mean() for one in queries])
    np.testing.assert_allclose(results[RETRIEVED].precision[5], first)
    low, high = results["right"].interval(5, over=results[RETRIEVED])
    assert 0 < low < high
    lines = ranking_table(results, 30).text().splitlines()
    line = next(line for line in lines if line.startswith("right"))
    start = results[START].precision[5]
    recall, before = line.split()[-6::3]
    assert recall == f"{(found - first).mean():+.3f}"
    assert before == f"{(found - start).mean():+.3f}"
    with pytest.raises(ValueError, match="is the name of another order"):
        evaluate_ranking(queries, bank, {RETRIEVED: knows})
    assert (first != start).any()


def test_nobody_has_five_similar_ones(engine: LanceEngine) -> None:
    bank = index_bank(engine)
    with pytest.raises(ValueError, match="no question of split 'valid'"):
        retrieve_candidates(engine, bank, Similarity.from_groups(bank), split="valid")
