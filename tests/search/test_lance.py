"""What only LanceDB does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.search.samples import WIDTH, make_questions, make_vectors
from tqnet.search import lance
from tqnet.search.lance import LanceEngine
from tqnet.search.records import read_filter, records, schema


def test_the_best_of_two_fields_are_found_without_scoring_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as by scoring all; where not all words are indexed, all are scored."""
    engine = LanceEngine(tmp_path / "lance", schema(WIDTH))
    words = {"stem": ["height", "circle", "find"], "concepts": ["square", "geometry"]}
    where = [read_filter("type=blank")]
    questions, vectors = make_questions(600), make_vectors(600)
    every: list[lance.Hit] = []
    for start in (0, 400):
        engine.add(records(questions[start : start + 400], vectors[start : start + 400]))
        for optimized in (False, True):
            with monkeypatch.context() as patch:
                patch.setattr(lance, "_DEEPEST", 0)
                every, some = engine.by_words(words, 50), engine.by_words(words, 7, where)
            with monkeypatch.context() as patch:
                if optimized:
                    patch.setattr(lance, "BooleanQuery", lambda _: pytest.fail("all were scored"))
                found, among = engine.by_words(words, 2), engine.by_words(words, 7, where)
            for those, of_all in ((found, every[:2]), (among, some)):
                assert [hit.id for hit in those] == [hit.id for hit in of_all]
                assert [hit.score for hit in those] == pytest.approx([hit.score for hit in of_all], rel=1e-5)
            engine.optimize()
    assert len(every) == 50


def test_a_wide_filter_finds_what_a_narrow_one_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the nearest of all are not enough, since few of them are kept."""
    engine = LanceEngine(tmp_path / "lance", schema(WIDTH))
    vectors = make_vectors(600)
    vectors[::4] = -abs(vectors[::4])  # every fourth is a choice
    vectors[1::2] = abs(vectors[1::2])
    engine.add(records(make_questions(600), vectors))
    engine.optimize()
    asked: list[bool] = []
    filtered = engine._filtered
    monkeypatch.setattr(engine, "_filtered", lambda *args: asked.append(args[3]) or filtered(*args))
    where = [read_filter("type=choice")]
    for query, prefilters in ((-np.ones(WIDTH), [False]), (np.ones(WIDTH), [False, True])):
        with monkeypatch.context() as patch:
            patch.setattr(lance, "_WIDE", 1.1)
            narrow = engine.by_vector(query, 9, where)
        asked.clear()
        assert engine.by_vector(query, 9, where) == narrow
        assert asked == prefilters
        assert len(narrow) == 9
