"""The contract of `tqnet.search.engine`, for every engine, and what only LanceDB does."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pytest

from tests.search.conftest import (
    EMBEDDED,
    MILVUS,
    QUESTIONS,
    VECTORS,
    WIDTH,
    NewEngine,
    make_questions,
    make_vectors,
)
from tqnet.questions import Question
from tqnet.search import lance
from tqnet.search import milvus as milvus_engine
from tqnet.search.engine import BOOSTS, DuplicateIdError, EngineError, SearchEngine
from tqnet.search.lance import LanceEngine
from tqnet.search.records import Filter, FilterError, query_words, read_filter, record_question, records, schema, unit


def test_vectors_are_found_by_cosine(full_engine: SearchEngine) -> None:
    query = VECTORS[3] * 5 + 0.1
    cosine = unit(VECTORS) @ (query / np.linalg.norm(query))
    order = sorted(range(len(QUESTIONS)), key=lambda i: (-round(float(cosine[i]), 6), QUESTIONS[i].id))[:10]
    for _ in range(2):
        hits = full_engine.by_vector(query, 10)
        assert [hit.id for hit in hits] == [QUESTIONS[i].id for i in order]
        assert [hit.score for hit in hits] == pytest.approx(cosine[order], abs=1e-5)
        full_engine.optimize()
    assert len(full_engine.by_vector(query, 1000)) == len(QUESTIONS)
    assert [hit[:2] for hit in full_engine.by_vector(np.zeros(8), 3)] == [("q000", 0), ("q001", 0), ("q002", 0)]


@pytest.mark.parametrize("filters", [[], ["type=blank"], ["difficulty<9"]])
def test_hits_bring_the_columns_that_are_asked_for(full_engine: SearchEngine, filters: list[str]) -> None:
    where, columns = list(map(read_filter, filters)), ("stem", "vector", "images")
    words: list[dict[str, list[str]]] = [{"stem": ["find"]}, {"stem": ["find"], "concepts": ["triangle"]}]
    for search in (partial(full_engine.by_vector, VECTORS[0]), *(partial(full_engine.by_words, w) for w in words)):
        hits, plain = search(9, where, columns), search(9, where)
        assert [hit[:2] for hit in hits] == [hit[:2] for hit in plain]
        assert not any(hit.row for hit in plain)
        for hit, row in zip(hits, full_engine.get([hit.id for hit in hits], columns).to_pylist(), strict=True):
            assert {name: list(hit.row[name]) if name == "vector" else hit.row[name] for name in row} == row


def test_words_are_found_in_their_fields(full_engine: SearchEngine) -> None:
    hits = full_engine.by_words({"stem": ["triangle", "height"]}, 60)
    stems = {question.id: set(query_words(question)["stem"]) for question in QUESTIONS}
    both = {id for id, words in stems.items() if {"triangle", "height"} <= words}
    assert {hit.id for hit in hits[: len(both)]} == both
    assert {hit.id for hit in hits} == {id for id, words in stems.items() if {"triangle", "height"} & words}
    assert [(-hit.score, hit.id) for hit in hits] == sorted((-hit.score, hit.id) for hit in hits)
    assert full_engine.by_words({"stem": ["Triangle"]}, 5) == []  # as they are: a name is no word
    assert {hit.id for hit in full_engine.by_words({"concepts": ["triangle"]}, 60)} == {
        question.id for question in QUESTIONS if question.knowledge and question.knowledge[0][1] == "Triangle"
    }
    assert full_engine.by_words({"stem": [], "concepts": []}, 5) == full_engine.by_words({}, 5) == []
    formulas = [word for word in query_words(QUESTIONS[21])["stem"] if word.startswith("$")]
    assert formulas == [r"$10x+\frac{1}{2}$"]
    assert {hit.id for hit in full_engine.by_words({"stem": formulas}, 5)} == {"q020", "q021"}


@pytest.mark.parametrize("boost", [0.5, 3.0])
def test_the_best_of_both_fields_are_found(
    full_engine: SearchEngine, boost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though neither field's list of so many has them all."""
    words = {"stem": ["height", "circle"], "concepts": ["square"]}
    plain = full_engine.by_words({"concepts": ["square"]}, 1)[0].score / BOOSTS["concepts"]
    monkeypatch.setitem(BOOSTS, "concepts", boost)
    assert full_engine.by_words({"concepts": ["square"]}, 1)[0].score == pytest.approx(boost * plain, rel=1e-4)
    every = full_engine.by_words(words, 60)
    assert len(every) > 40
    assert full_engine.by_words(words, 3) == every[:3]


@pytest.mark.parametrize(
    ("conditions", "meets"),
    [
        (["difficulty<=2"], lambda q: q.difficulty is not None and q.difficulty <= 2),
        (["difficulty>2", "type=choice"], lambda q: (q.difficulty or 0) > 2 and q.type == "choice"),
        (["difficulty = 1|3"], lambda q: q.difficulty in (1, 3)),
        (["difficulty!=1"], lambda q: q.difficulty != 1),
        (["type=choice|blank"], lambda q: True),
        (["language=en"], lambda q: q.language == "en"),
        (["language!=en"], lambda q: q.language != "en"),
        (["figures>=1"], lambda q: bool(q.images)),
        (["concept=Geometry"], lambda q: bool(q.knowledge)),
        (["concept=Geometry/Circle"], lambda q: ("Geometry", "Circle") in q.knowledge),
        (["figures=0.0"], lambda q: not q.images),
        (["concept=Circle|Square"], lambda q: any(path[1] in ("Circle", "Square") for path in q.knowledge)),
        (["concept!=Circle"], lambda q: ("Geometry", "Circle") not in q.knowledge),
        (["id!=q001|q002"], lambda q: q.id not in ("q001", "q002")),
        (['source=it\'s "quoted"'], lambda q: False),
    ],
)
def test_filters(full_engine: SearchEngine, conditions: list[str], meets: Callable[[Question], bool]) -> None:
    where = [read_filter(condition) for condition in conditions]
    expected = {question.id for question in QUESTIONS if meets(question)}
    for _ in range(2):
        assert full_engine.count(where) == len(expected)
        assert {hit.id for hit in full_engine.by_vector(VECTORS[0], 60, where)} == expected
        assert {hit.id for hit in full_engine.by_words({"stem": ["find"]}, 60, where)} == expected
        full_engine.optimize()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour=red", "unknown field 'colour'; expected one of id, concept, difficulty"),
        ("difficulty<=hard", "'hard' is not a number"),
        ("difficulty=nan", "'nan' is not a number"),
        ("figures=1.5", "'1.5' is not a whole number"),
        ("difficulty", "is not of the form FIELD=VALUE"),
        ("type=", "is not of the form"),
        ("type<choice", "needs a numeric field"),
        ("difficulty<1|2", "needs a numeric field"),
    ],
)
def test_filters_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        read_filter(text)


def test_what_is_written_is_read(full_engine: SearchEngine) -> None:
    questions, new = make_questions(71), make_vectors(11, 1)
    with pytest.raises(DuplicateIdError, match="q005: there is a record of this id already"):
        full_engine.add(records([questions[5], *questions[60:70]], new))
    for write in (full_engine.add, full_engine.put):
        with pytest.raises(DuplicateIdError, match="q000: two of the records have this id"):
            write(records([QUESTIONS[0]] * 2, VECTORS[:2]))
    assert full_engine.count() == 60
    full_engine.add(records(questions[60:70], new[1:]))
    assert full_engine.count() == 70

    vector = -VECTORS[7:8]
    changed = Question(id="q007", stem="An unheard-of question")
    full_engine.put(records([changed, questions[70]], vector.repeat(2, 0)))
    assert full_engine.count() == 71
    assert {hit.id for hit in full_engine.by_words({"stem": ["unheard"]}, 5)} == {"q007"}
    assert [hit.id for hit in full_engine.by_vector(vector[0], 2)] == ["q007", "q070"]
    assert "q007" not in {hit.id for hit in full_engine.by_words({"stem": ["find"]}, 100)}

    assert full_engine.delete(["q007", "q001", "nobody's"]) == 2
    assert full_engine.delete([]) == 0
    assert full_engine.count() == 69
    assert {"q007", "q001"}.isdisjoint(hit.id for hit in full_engine.by_vector(vector[0], 100))
    full_engine.optimize()
    assert len(full_engine.by_vector(vector[0], 100)) == 69


def test_any_text_is_an_id(engine: SearchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus_engine, "_PIECE", 2)
    ids = ["it's", 'a "quoted" one', "back\\slash\\", "new\nline\ttab", "题一", "x') or (id != '", '") or (id != "']
    engine.add(records([Question(id=id, stem="Find $x$", source=id) for id in ids], VECTORS[: len(ids)]))
    assert sorted(id for table in engine.scan(["id"]) for id in table["id"].to_pylist()) == sorted(ids)
    for id in ids:
        assert engine.get([id])["id"].to_pylist() == [id]
        for field in ("id", "source"):
            assert [hit.id for hit in engine.by_vector(VECTORS[0], 9, [Filter(field, "=", (id,))])] == [id]
        assert engine.count([Filter("source", "!=", (id,))]) == len(ids) - 1
    assert engine.delete(ids[2:]) == len(ids) - 2
    assert engine.count() == 2


def test_records_come_back(full_engine: SearchEngine) -> None:
    table = full_engine.get(["q010", "nobody's", "q003", "q000"])
    assert np.stack(table["vector"].to_pylist()) == pytest.approx(unit(VECTORS)[[10, 3, 0]], abs=1e-6)
    assert list(map(record_question, table.to_pylist())) == [QUESTIONS[10], QUESTIONS[3], QUESTIONS[0]]
    assert len(full_engine.get([])) == 0
    scanned = [id for piece in full_engine.scan(["id"]) for id in piece["id"].to_pylist()]
    assert sorted(scanned) == [question.id for question in QUESTIONS]


@pytest.mark.parametrize("to", ["lance", MILVUS])
def test_export_and_restore(full_engine: SearchEngine, new_engine: NewEngine, to: str, tmp_path: Path) -> None:
    assert full_engine.export(tmp_path / "out") == 60
    restored = new_engine(to, tmp_path / "again")
    assert restored.restore(tmp_path / "out") == 60
    nearest, again = full_engine.by_vector(VECTORS[0], 5), restored.by_vector(VECTORS[0], 5)
    assert [hit.id for hit in again] == [hit.id for hit in nearest]
    assert [hit.score for hit in again] == pytest.approx([hit.score for hit in nearest], abs=1e-5)
    assert restored.get(["q004"]) == full_engine.get(["q004"])
    restored.close()


def _add_and_die(folder: str) -> None:
    engine = LanceEngine(Path(folder))
    engine.add(records(make_questions(70)[60:], make_vectors(10, 2)))
    engine.delete(["q000"])
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_acknowledged_outlives_the_process(tmp_path: Path) -> None:
    EMBEDDED["lance"](tmp_path).add(records(QUESTIONS, VECTORS))
    process = multiprocessing.get_context("spawn").Process(target=_add_and_die, args=(str(tmp_path / "lance"),))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert LanceEngine(tmp_path / "lance").count() == 69


@pytest.mark.parametrize("kept", [100_000, 3])
def test_lance_keeps_what_searches_have_read(kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance, "_KEPT", kept)
    engine = EMBEDDED["lance"](tmp_path)
    engine.add(records(QUESTIONS, VECTORS))
    asked: list[Sequence[str]] = []
    run = lance._Snapshot.run

    def counted(snapshot: Any, query: Any, columns: Sequence[str]) -> Any:
        asked.append(columns)
        return run(snapshot, query, columns)

    monkeypatch.setattr(lance._Snapshot, "run", counted)
    first, again = (engine.by_vector(VECTORS[7], 5, (), ["stem", "content"]) for _ in range(2))
    assert [(hit.id, hit.score, hit.row["stem"]) for hit in first] == [
        (hit.id, hit.score, hit.row["stem"]) for hit in again
    ]
    assert len(asked) == (3 if kept > 3 else 4)
    engine.by_vector(VECTORS[7], 5)
    assert len(asked) == (4 if kept > 3 else 6)  # fewer columns of the same records
    engine.by_vector(VECTORS[7], 5, (), ["form"])
    assert engine._snapshot is not None
    assert engine._snapshot._kept.bytes <= kept
    engine.put(records([replace(QUESTIONS[7], stem="Something else")], VECTORS[7:8]))
    assert engine.by_vector(VECTORS[7], 5, (), ["stem", "content"])[0].row["stem"] == "something else"


@pytest.mark.parametrize(
    "read",
    [
        lambda engine: engine.by_vector(VECTORS[7], 1, (), ["stem"])[0].row["stem"],
        lambda engine: engine.by_words({"stem": ["height"]}, 1, [read_filter("id=q007")], ["stem"])[0].row["stem"],
        lambda engine: engine.get(["q007"], ["stem"])["stem"][0].as_py(),
    ],
)
def test_lance_reads_again_what_a_writer_has_removed(
    read: Callable[[LanceEngine], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one connection, whatever is written."""
    monkeypatch.setattr(lance, "_RECENT", timedelta(milliseconds=1))
    connect, connections = lancedb.connect_async, []

    def counted(folder: str) -> Any:
        connections.append(folder)
        return connect(folder)

    monkeypatch.setattr(lancedb, "connect_async", counted)
    writer = LanceEngine(tmp_path, schema(WIDTH))
    writer.add(records(QUESTIONS, VECTORS))
    reader, run = LanceEngine(tmp_path), lance._Snapshot.run
    changed = [replace(question, stem=f"{question.stem} height again") for question in QUESTIONS]

    def overtaken(snapshot: Any, query: Any, columns: Sequence[str]) -> Any:
        monkeypatch.setattr(lance._Snapshot, "run", run)
        writer.put(records(changed, VECTORS))
        writer.optimize()
        return run(snapshot, query, columns)

    monkeypatch.setattr(lance._Snapshot, "run", overtaken)
    assert "again" in read(reader)
    assert len(connections) == 2
    for file in tmp_path.rglob("data/*.lance"):
        file.unlink()
    with pytest.raises(EngineError, match=f"^{tmp_path}: "):
        LanceEngine(tmp_path).get(["q007"])


def test_lance_finds_the_best_of_two_fields_without_scoring_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as by scoring all; where not all words are indexed, all are scored."""
    engine = EMBEDDED["lance"](tmp_path)
    words = {"stem": ["height", "circle", "find"], "concepts": ["square", "geometry"]}
    where = [read_filter("type=blank")]
    questions, vectors = make_questions(600), make_vectors(600)
    for start in (0, 400):
        engine.add(records(questions[start : start + 400], vectors[start : start + 400]))
        for optimized in (False, True):
            with monkeypatch.context() as patch:
                patch.setattr(lance, "_DEEPEST", 0)
                expected = [*engine.by_words(words, 2), *engine.by_words(words, 7, where)]
            with monkeypatch.context() as patch:
                if optimized:
                    patch.setattr(lance, "BooleanQuery", lambda _: pytest.fail("all were scored"))
                hits = [*engine.by_words(words, 2), *engine.by_words(words, 7, where)]
            assert [hit.id for hit in hits] == [hit.id for hit in expected]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], rel=1e-5)
            engine.optimize()


@pytest.mark.parametrize("sign", [-1, 1])
def test_lance_finds_by_a_wide_filter_what_a_narrow_one_would(
    sign: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the nearest of all are not enough, since few of them are kept."""
    engine, vectors, where = EMBEDDED["lance"](tmp_path), make_vectors(600), [read_filter("type=choice")]
    vectors[::4] = -abs(vectors[::4])  # every fourth is a choice
    vectors[1::2] = abs(vectors[1::2])
    engine.add(records(make_questions(600), vectors))
    engine.optimize()
    hits = engine.by_vector(sign * np.ones(WIDTH), 9, where)
    monkeypatch.setattr(lance, "_WIDE", 1.1)
    assert engine.by_vector(sign * np.ones(WIDTH), 9, where) == hits
    assert len(hits) == 9
