from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.search.samples import WIDTH, make_questions, make_vectors
from tqnet.search import precomputed
from tqnet.search.index import Index, Manifest
from tqnet.search.precomputed import precompute, precomputed_candidates
from tqnet.search.records import read_filter
from tqnet.search.retrieval import Retriever
from tqnet.search.searcher import Searcher


@pytest.fixture
def index(tmp_path: Path) -> Index:
    made = Index.create(tmp_path / "index", Manifest("encoder:none", None, WIDTH, "bank"))
    made.add(make_questions(), make_vectors())
    made.engine.optimize()
    return made


def test_what_was_found_beforehand_is_what_recall_finds(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    assert precomputed_candidates(index, "q003", 5) is None
    assert precompute(index, 12) == 60
    for number in (0, 3, 59):
        question, vector = make_questions()[number], make_vectors()[number]
        expected = Retriever(index.engine)(question, vector, 12)
        found = precomputed_candidates(index, question.id, 12)
        assert found == expected
    assert precomputed_candidates(index, "q003", 11) is None  # these would be merged otherwise
    assert precomputed_candidates(index, "it's nobody", 12) is None
    with monkeypatch.context() as patch:
        patch.setattr(precomputed, "TEXT_WEIGHT", 0.5)  # another version's order
        assert precomputed_candidates(index, "q003", 12) is None
    data = index.folder / "precomputed" / "candidates.lance"
    for file in (data / "data").iterdir():
        file.write_bytes(file.read_bytes()[:9])
    assert precomputed_candidates(index, "q003", 12) is None
    shutil.rmtree(data)
    assert precomputed_candidates(index, "q003", 12) is None
    (index.folder / "precomputed" / "stamp.json").write_text("")
    assert precomputed_candidates(index, "q003", 12) is None


def test_searches_take_it_until_the_index_changes(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = Searcher(index)
    before = searcher.answer(searcher.by_id("q005"), 5, candidates=10).candidates
    precompute(index, 10)
    with monkeypatch.context() as patch:
        patch.setattr(Retriever, "__call__", None)  # nothing is searched
        assert searcher.answer(searcher.by_id("q005"), 5, candidates=10).candidates == before
    filtered = searcher.answer(searcher.by_id("q005"), 5, [read_filter("difficulty<=1")], candidates=10).candidates
    assert all(one.question.difficulty <= 1 for one in filtered)
    gone = before[0].question.id
    index.engine.delete([gone])
    after = searcher.answer(searcher.by_id("q005"), 5, candidates=10).candidates
    assert gone not in {one.question.id for one in after}


def test_a_run_that_was_stopped_goes_on(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    whole = Retriever.__call__

    def fail_at_40(recall: Retriever, query: object, *rest: object) -> object:
        searched.append(query)
        if len(searched) == 40:
            raise KeyboardInterrupt
        return whole(recall, query, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(precomputed, "_AT_ONCE", 10)
    monkeypatch.setattr(Retriever, "__call__", fail_at_40)
    with pytest.raises(KeyboardInterrupt):
        precompute(index, 6)
    assert precomputed_candidates(index, "q000", 6) is None  # not before it is whole
    assert precompute(index, 6) == 60
    assert len(searched) == 40 + 30
    assert len(precomputed_candidates(index, "q000", 6) or []) == 6
    index.put(make_questions(61)[60:], np.ones((1, WIDTH)))
    assert precompute(index, 6) == 61
    assert len(searched) == 70 + 61
