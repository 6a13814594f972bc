"""What is Milvus's alone: a server that dies or is not there, collections of others, and indexes in collections."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.milvus_server import LocalServer
from tests.search.samples import WIDTH, make_questions, make_vectors
from tqnet.questions import Question, QuestionBank
from tqnet.search.build import build, in_process
from tqnet.search.engine import EngineError, Place, give_alias
from tqnet.search.index import Index, Manifest, restore
from tqnet.search.milvus import MilvusEngine, MilvusServer, _escaped, _unescaped
from tqnet.search.records import records, schema

pytest.importorskip("milvus_lite")

QUESTIONS, VECTORS = make_questions(), make_vectors()
BANK = QuestionBank.from_questions(QUESTIONS)


def encode(questions: Sequence[Question]) -> np.ndarray:
    return np.stack([VECTORS[int(question.id[1:])] for question in questions])


@pytest.fixture
def server(milvus: str) -> Iterator[MilvusServer]:
    server = MilvusServer(milvus)
    yield server
    server.close()


@pytest.fixture
def manifest(milvus: str) -> Manifest:
    """Of an index in a collection of its own name."""
    return Manifest(
        "runs/model", "0123", WIDTH, "bank", engine="milvus", uri=milvus, collection=f"questions_{uuid.uuid4().hex[:8]}"
    )


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[LocalServer]:
    """A server that may be killed."""
    server = LocalServer(tmp_path / "data")
    yield server
    server.stop()


def test_what_was_acknowledged_outlives_the_server(mortal: LocalServer) -> None:
    engine = MilvusEngine(mortal.uri, "questions", schema(WIDTH))
    engine.add(records(QUESTIONS[:50], VECTORS[:50]))
    engine.put(
        records([replace(QUESTIONS[7], stem="An unheard-of question"), *QUESTIONS[50:]], VECTORS[[7, *range(50, 60)]])
    )
    assert engine.delete(["q000", "q001"]) == 2
    mortal.kill()
    with pytest.raises(EngineError, match=rf"{mortal.uri}, collection questions: "):
        engine.count()
    engine.close()
    mortal.start()
    again = MilvusEngine(mortal.uri, "questions")
    ids = [id for table in again.scan(["id"]) for id in table["id"].to_pylist()]
    assert sorted(ids) == [question.id for question in QUESTIONS[2:]]
    assert [hit.id for hit in again.by_words({"stem": ["unheard"]}, 5)] == ["q007"]
    assert [hit.id for hit in again.by_vector(VECTORS[55], 1)] == ["q055"]
    again.close()


def test_a_server_that_is_killed_while_it_writes(mortal: LocalServer) -> None:
    engine = MilvusEngine(mortal.uri, "questions", schema(WIDTH))
    sent = [
        records([replace(question, id=f"{batch}-{question.id}") for question in QUESTIONS], VECTORS)
        for batch in range(200)
    ]
    acknowledged = []

    def write() -> None:
        for batch in sent:
            engine.add(batch)
            acknowledged.append(batch)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while len(acknowledged) < 3 and not writing.done():
            time.sleep(0.001)
        mortal.kill()
        with pytest.raises(EngineError, match=f"{mortal.uri}, collection questions: "):
            writing.result()
    engine.close()
    mortal.forget_indexes()
    mortal.start()
    again = MilvusEngine(mortal.uri, "questions")
    found = pa.concat_tables(again.scan()).sort_by("id")
    again.close()
    whole = pa.concat_tables(sent[: len(acknowledged) + 1]).cast(found.schema).sort_by("id")
    ids = set(found["id"].to_pylist())
    assert {id for batch in acknowledged for id in batch["id"].to_pylist()} <= ids
    assert found.equals(whole.filter(pc.is_in(whole["id"], pa.array(ids))))  # of the last batch all, some or none


def test_servers_and_collections_that_are_not_there(
    milvus: str, server: MilvusServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MILVUS_TOKEN", "teacher:secret")
    with pytest.raises(EngineError, match=r"^http://127\.0\.0\.1:9, collection questions: Fail connecting") as error:
        MilvusEngine("http://127.0.0.1:9", "questions")
    assert "secret" not in str(error.value) + caplog.text
    monkeypatch.delenv("MILVUS_TOKEN")
    with pytest.raises(EngineError, match=f"{milvus}: there is no collection nobodys"):
        MilvusEngine(milvus, "nobodys")
    server.call("create_collection", "foreign", dimension=WIDTH)
    with pytest.raises(EngineError, match=f"{milvus}, collection foreign: not made by tqnet index"):
        MilvusEngine(milvus, "foreign")
    with pytest.raises(FileExistsError, match=f"{milvus}, collection foreign: is there already"):
        MilvusEngine(milvus, "foreign", schema(WIDTH))
    server.drop("foreign")
    server.drop("foreign")
    assert not server.has("foreign")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1)).map(" ".join))
def test_any_word_comes_back(words: str) -> None:
    assert _unescaped(_escaped(words)) == words
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in _escaped(words).split())


def test_texts_that_are_too_long(milvus: str, manifest: Manifest) -> None:
    engine = MilvusEngine(milvus, manifest.collection, schema(WIDTH))
    long = Question(id="long", stem="积分" * 12000)
    with pytest.raises(ValueError, match=r"^long: its question has [\d,]+ bytes; Milvus keeps 65,535$"):
        engine.add(records([QUESTIONS[0], long], VECTORS[:2]))
    assert engine.count() == 0
    engine.close()


def test_more_hits_than_a_server_finds_at_a_time(milvus: str, manifest: Manifest) -> None:
    engine = MilvusEngine(milvus, manifest.collection, schema(WIDTH))
    for search in (lambda k: engine.by_vector(VECTORS[0], k), lambda k: engine.by_words({"stem": ["area"]}, k)):
        assert search(16_384) == []
        with pytest.raises(EngineError, match="16,385 hits: Milvus returns at most 16,384"):
            search(16_385)
    engine.close()


def test_an_index_and_its_replacement(manifest: Manifest, server: MilvusServer, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(BANK, in_process(encode), folder, manifest)
    assert [file.name for file in folder.iterdir()] == ["index.json"]
    first = Index(folder)
    assert first.engine.count() == 60
    assert server.aliases(first.manifest.records) == [manifest.collection]
    with pytest.raises(FileExistsError, match=f"there is a collection {manifest.collection} already"):
        build(BANK, in_process(encode), tmp_path / "other", manifest)
    build(BANK.select(list(range(20))), in_process(encode), folder, manifest, replace=True)
    second = Index(folder)
    assert second.engine.count() == 20
    assert server.aliases(second.manifest.records) == [manifest.collection]
    assert not server.has(first.manifest.records)
    build(
        BANK, in_process(encode), folder, Manifest("runs/model", "0123", WIDTH, "bank"), replace=True
    )  # files of a folder
    assert Index(folder).engine.count() == 60
    assert not server.has(manifest.collection)


@pytest.mark.parametrize("named", [True, False])
def test_what_a_killed_run_has_left_is_removed(
    manifest: Manifest, server: MilvusServer, tmp_path: Path, named: bool
) -> None:
    """Whether or not it had come to giving the alias to the new collection."""
    folder, work = tmp_path / "index", tmp_path / "index.building" / "index"
    build(BANK, in_process(encode), folder, manifest)
    left = Index.create(work, manifest)
    if named:
        give_alias(left.manifest)
    assert Index(folder).engine.count() == 60
    build(BANK.select(list(range(20))), in_process(encode), folder, manifest, replace=True)
    index = Index(folder)
    assert index.engine.count() == 20
    assert server.aliases(index.manifest.records) == [manifest.collection]
    assert not server.has(left.manifest.records)
    assert not work.parent.exists()


def test_out_of_the_server_and_back(manifest: Manifest, server: MilvusServer, tmp_path: Path) -> None:
    build(BANK, in_process(encode), tmp_path / "index", manifest)
    index = Index(tmp_path / "index")
    index.engine.export(tmp_path / "out")
    index.manifest.save(tmp_path / "out")
    assert restore(tmp_path / "out", tmp_path / "files").manifest.engine == "lance"
    with pytest.raises(FileExistsError, match="there is a collection"):
        restore(tmp_path / "out", tmp_path / "again", index.manifest)
    again = restore(
        tmp_path / "out",
        tmp_path / "again",
        Place(engine="milvus", uri=manifest.uri, collection=f"{manifest.collection}_again"),
    )
    assert again.engine.get(["q004"]) == index.engine.get(["q004"])
    assert again.manifest.digest == "0123"
    assert server.aliases(again.manifest.records) == [f"{manifest.collection}_again"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"engine": "vespa"}, "engine: 'vespa' is none of lance, milvus"),
        ({"uri": "http://a:1"}, "lance keeps its records in files"),
        ({"engine": "milvus", "collection": "a"}, "uri: must be http://HOST:PORT"),
        ({"engine": "milvus", "uri": "./local.db", "collection": "a"}, "uri: must be http://HOST:PORT"),
        ({"engine": "milvus", "uri": "http://me:secret@a:1", "collection": "a"}, "MILVUS_TOKEN"),
        ({"engine": "milvus", "uri": "http://a:1", "collection": "my-bank"}, "'my-bank' must be letters"),
        ({"engine": "milvus", "uri": "http://a:1"}, "collection: '' must be letters"),
    ],
)
def test_places_that_are_none(place: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        Place(**place)  # type: ignore[arg-type]
    assert "secret" not in str(error.value)
