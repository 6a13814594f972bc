"""The contract of `tqnet.search.engine`, for every engine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.search.conftest import MILVUS, NewEngine
from tests.search.samples import EMBEDDED, make_questions, make_vectors
from tqnet.questions import Question
from tqnet.search import milvus as milvus_engine
from tqnet.search.engine import DuplicateIdError, SearchEngine
from tqnet.search.lance import LanceEngine
from tqnet.search.records import Filter, FilterError, query_words, read_filter, record_question, records, unit

QUESTIONS, VECTORS = make_questions(), make_vectors()
RECORDS = records(QUESTIONS, VECTORS)


def full(engine: SearchEngine) -> SearchEngine:
    engine.add(RECORDS)
    return engine


def test_vectors_are_found_by_cosine(engine: SearchEngine) -> None:
    full(engine)
    query = VECTORS[3] * 5 + 0.1
    cosine = unit(VECTORS) @ (query / np.linalg.norm(query))
    for optimized in (False, True):
        hits = engine.by_vector(query, 10)
        order = sorted(range(len(QUESTIONS)), key=lambda i: (-round(float(cosine[i]), 6), QUESTIONS[i].id))
        assert [hit.id for hit in hits] == [QUESTIONS[i].id for i in order[:10]]
        assert [hit.score for hit in hits] == pytest.approx(cosine[order[:10]], abs=1e-5)
        if not optimized:
            engine.optimize()
    assert len(engine.by_vector(query, 1000)) == len(QUESTIONS)
    assert engine.by_vector(np.zeros(8), 3) == [("q000", 0), ("q001", 0), ("q002", 0)]


def test_words_are_found_in_their_fields(engine: SearchEngine) -> None:
    full(engine)
    hits = engine.by_words({"stem": ["triangle", "height"]}, 60)
    both = {question.id for question in QUESTIONS if {"triangle", "height"} <= set(query_words(question)["stem"])}
    either = {question.id for question in QUESTIONS if {"triangle", "height"} & set(query_words(question)["stem"])}
    assert {hit.id for hit in hits[: len(both)]} == both
    assert {hit.id for hit in hits} == either
    assert [(-hit.score, hit.id) for hit in hits] == sorted((-hit.score, hit.id) for hit in hits)
    assert engine.by_words({"stem": ["Triangle"]}, 5) == []  # as they are: a name is no word
    assert {hit.id for hit in engine.by_words({"concepts": ["triangle"]}, 60)} == {
        question.id for question in QUESTIONS if question.knowledge and question.knowledge[0][1] == "Triangle"
    }
    assert engine.by_words({"stem": [], "concepts": []}, 5) == engine.by_words({}, 5) == []
    plain, boosted = (
        {hit.id: hit.score for hit in engine.by_words({"stem": ["circle"]}, 60, boosts={"stem": boost})}
        for boost in (1.0, 2.0)
    )
    assert boosted == pytest.approx({id: 2 * score for id, score in plain.items()}, rel=1e-4)
    assert engine.by_words({"stem": ["circle"]}, 5, boosts={"stem": 0}) == []


def test_the_best_of_both_fields_are_found(engine: SearchEngine) -> None:
    """Though neither field's own list of so many has them all."""
    full(engine)
    words = {"stem": ["height", "circle"], "concepts": ["square"]}
    for boosts in ({"stem": 1.0, "concepts": 0.5}, {"stem": 1.0, "concepts": 3.0}):
        every = engine.by_words(words, 60, boosts=boosts)
        assert len(every) > 40
        assert engine.by_words(words, 3, boosts=boosts) == every[:3]


def test_a_formula_is_found_however_it_is_written(engine: SearchEngine) -> None:
    full(engine)
    words = query_words(QUESTIONS[21])["stem"]
    written = [word for word in words if word.startswith("$")]
    assert written == [r"$10x+\frac{1}{2}$"]
    assert {hit.id for hit in engine.by_words({"stem": written}, 5)} == {"q020", "q021"}


@pytest.mark.parametrize(
    ("conditions", "meets"),
    [
        (["difficulty<=2"], lambda q: q.difficulty is not None and q.difficulty <= 2),
        (
            ["difficulty>2", "type=choice"],
            lambda q: q.difficulty is not None and q.difficulty > 2 and q.type == "choice",
        ),
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
def test_filters(engine: SearchEngine, conditions: list[str], meets: object) -> None:
    full(engine)
    where = [read_filter(condition) for condition in conditions]
    expected = {question.id for question in QUESTIONS if meets(question)}  # type: ignore[operator]
    for _ in range(2):
        assert engine.count(where) == len(expected)
        assert {hit.id for hit in engine.by_vector(VECTORS[0], 60, where)} == expected
        assert {hit.id for hit in engine.by_words({"stem": ["find"]}, 60, where)} == expected
        engine.optimize()


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


def test_what_is_written_is_read(engine: SearchEngine) -> None:
    full(engine)
    with pytest.raises(DuplicateIdError, match="q005: there is a record of this id already"):
        engine.add(records(make_questions(70)[5:6] + make_questions(70)[60:], make_vectors(11, 1)))
    with pytest.raises(DuplicateIdError):
        engine.add(records([QUESTIONS[0]] * 2, VECTORS[:2]))
    assert engine.count() == 60
    engine.add(records(make_questions(70)[60:], make_vectors(10, 2)))
    assert engine.count() == 70

    changed = make_questions(70)[7]
    vector = -VECTORS[7:8]
    engine.put(
        records([type(changed)(id="q007", stem="An unheard-of question"), make_questions(71)[70]], vector.repeat(2, 0))
    )
    assert engine.count() == 71
    assert {hit.id for hit in engine.by_words({"stem": ["unheard"]}, 5)} == {"q007"}
    assert [hit.id for hit in engine.by_vector(vector[0], 2)] == ["q007", "q070"]
    assert "q007" not in {hit.id for hit in engine.by_words({"stem": ["find"]}, 100)}

    assert engine.delete(["q007", "q001", "nobody's"]) == 2
    assert engine.delete([]) == 0
    assert engine.count() == 69
    assert {"q007", "q001"}.isdisjoint(hit.id for hit in engine.by_vector(vector[0], 100))
    engine.optimize()
    assert len(engine.by_vector(vector[0], 100)) == 69


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


def test_records_come_back(engine: SearchEngine) -> None:
    full(engine)
    found = engine.get(["q010", "nobody's", "q003", "q000"])
    assert found["id"].to_pylist() == ["q010", "q003", "q000"]
    assert np.stack(found["vector"].to_pylist()) == pytest.approx(unit(VECTORS)[[10, 3, 0]], abs=1e-6)
    questions = list(map(record_question, found.to_pylist()))
    assert questions == [QUESTIONS[10], QUESTIONS[3], QUESTIONS[0]]
    assert len(engine.get([])) == 0
    scanned = [id for table in engine.scan(["id"]) for id in table["id"].to_pylist()]
    assert sorted(scanned) == [question.id for question in QUESTIONS]


@pytest.mark.parametrize("to", ["lance", MILVUS])
def test_export_and_restore(engine: SearchEngine, new_engine: NewEngine, to: str, tmp_path: Path) -> None:
    full(engine)
    assert engine.export(tmp_path / "out") == 60
    other = new_engine(to, tmp_path / "again")
    assert other.restore(tmp_path / "out") == 60
    nearest, again = engine.by_vector(VECTORS[0], 5), other.by_vector(VECTORS[0], 5)
    assert [hit.id for hit in again] == [hit.id for hit in nearest]
    assert [hit.score for hit in again] == pytest.approx([hit.score for hit in nearest], abs=1e-5)
    assert other.get(["q004"]) == engine.get(["q004"])
    other.close()


def _add_and_die(folder: str) -> None:
    engine = LanceEngine(Path(folder))
    engine.add(records(make_questions(70)[60:], make_vectors(10, 2)))
    engine.delete(["q000"])
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_acknowledged_outlives_the_process(tmp_path: Path) -> None:
    full(EMBEDDED["lance"](tmp_path))
    other = multiprocessing.get_context("spawn").Process(target=_add_and_die, args=(str(tmp_path / "lance"),))
    other.start()
    other.join(60)
    assert other.exitcode == -signal.SIGKILL
    assert LanceEngine(tmp_path / "lance").count() == 69
