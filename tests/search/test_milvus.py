"""What is Milvus's alone: a server that dies or is not there, collections of others, and indexes in collections."""

from __future__ import annotations

import gc
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymilvus import MilvusClient

from tests.milvus_server import LocalServer
from tests.search.conftest import BANK, QUESTIONS, VECTORS, WIDTH, encode
from tqnet.questions import Question, QuestionBank
from tqnet.questions.question import FieldError
from tqnet.search.build import build
from tqnet.search.engine import EngineError, Place
from tqnet.search.index import Index, restore
from tqnet.search.milvus import MilvusEngine, MilvusServer, _escaped, _unescaped
from tqnet.search.records import records, schema
from tqnet.search.versions import Manifest

pytest.importorskip("milvus_lite")


@pytest.fixture
def server(milvus: str) -> Iterator[MilvusServer]:
    server = MilvusServer(milvus)
    yield server
    server.close()


@pytest.fixture
def manifest(milvus: str) -> Manifest:
    """Of an index with an alias that no other has."""
    alias = f"questions_{uuid.uuid4().hex[:8]}"
    return Manifest("runs/model", "0123", WIDTH, "bank", engine="milvus", uri=milvus, collection=alias)


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[LocalServer]:
    """A server that may be killed."""
    server = LocalServer(tmp_path / "data")
    yield server
    server.stop()


def build_index(folder: Path, manifest: Manifest, bank: QuestionBank = BANK, **options: bool) -> Index:
    build(bank, encode, folder, manifest, **options)
    return Index(folder)


def test_what_was_acknowledged_outlives_the_server(mortal: LocalServer) -> None:
    engine = MilvusEngine(mortal.uri, "questions", schema(WIDTH))
    engine.add(records(QUESTIONS[:50], VECTORS[:50]))
    changed = [replace(QUESTIONS[7], stem="An unheard-of question"), *QUESTIONS[50:]]
    engine.put(records(changed, VECTORS[[7, *range(50, 60)]]))
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
    batches = [
        records([replace(question, id=f"{batch}-{question.id}") for question in QUESTIONS], VECTORS)
        for batch in range(200)
    ]
    acknowledged = []

    def write() -> None:
        for batch in batches:
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
    kept = pa.concat_tables(again.scan()).sort_by("id")
    again.close()
    sent = pa.concat_tables(batches[: len(acknowledged) + 1]).cast(kept.schema).sort_by("id")
    ids = set(kept["id"].to_pylist())
    assert {id for batch in acknowledged for id in batch["id"].to_pylist()} <= ids
    assert kept.equals(sent.filter(pc.is_in(sent["id"], pa.array(ids))))  # of the last batch all, some or none


def test_servers_and_collections_that_are_not_there(
    milvus: str, server: MilvusServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("MILVUS_TOKEN", "teacher:secret")
        with pytest.raises(EngineError, match=r"^http://127\.0\.0\.1:9, collection questions: Fail connect") as error:
            MilvusEngine("http://127.0.0.1:9", "questions")
    assert "secret" not in str(error.value) + caplog.text
    with pytest.raises(EngineError, match=f"{milvus}: there is no collection nobodys"):
        MilvusEngine(milvus, "nobodys")
    server.call("create_collection", "foreign", dimension=WIDTH)
    with pytest.raises(EngineError, match=f"{milvus}, collection foreign: not made by tqnet index"):
        MilvusEngine(milvus, "foreign")
    with pytest.raises(FileExistsError, match=f"{milvus}, collection foreign: already exists"):
        MilvusEngine(milvus, "foreign", schema(WIDTH))
    server.drop("foreign")
    server.drop("foreign")
    assert not server.has("foreign")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1)).map(" ".join))
def test_any_word_comes_back(words: str) -> None:
    assert _unescaped(_escaped(words)) == words
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in _escaped(words).split())


def test_limits_of_milvus(milvus: str, manifest: Manifest) -> None:
    engine = MilvusEngine(milvus, manifest.collection, schema(WIDTH))
    long = Question(id="long", stem="积分" * 12000)
    with pytest.raises(FieldError, match=r"^long: its question has [\d,]+ bytes; Milvus keeps at most 65,535$"):
        engine.add(records([QUESTIONS[0], long], VECTORS[:2]))
    assert engine.count() == 0
    for search in (partial(engine.by_vector, VECTORS[0]), partial(engine.by_words, {"stem": ["area"]})):
        assert search(16_384) == []
        with pytest.raises(EngineError, match="16,385 hits: Milvus returns at most 16,384"):
            search(16_385)
    engine.close()


def test_nothing_is_written_of_what_milvus_does_not_keep(manifest: Manifest, tmp_path: Path) -> None:
    index = build_index(tmp_path / "index", manifest)
    before = index.background, index.engine.count(), index.figures.count()
    for write in (index.put, index.add):
        with pytest.raises(FieldError, match=r"^long: its question has"):
            write([Question(id="new", stem="Unheard-of"), Question(id="long", stem="积分" * 12000)], VECTORS[:2])
    assert (index.background, index.engine.count(), index.figures.count()) == before


def test_an_index_and_its_replacement(manifest: Manifest, server: MilvusServer, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first = build_index(folder, manifest)
    assert sorted(file.name for file in first.files.iterdir()) == ["background.json", "manifest.json"]
    assert first.engine.count() == 60
    assert server.aliases(first.manifest.records) == [manifest.collection]
    with pytest.raises(FileExistsError, match=f"collection {manifest.collection} already exists"):
        build_index(tmp_path / "other", manifest)
    second = build_index(folder, manifest, BANK.select(range(20)), replace=True)
    assert second.engine.count() == 20
    assert server.aliases(second.manifest.records) == [manifest.collection]
    assert server.aliases(first.manifest.records) == []
    in_files = [build_index(folder, Manifest("runs/model", "0123", WIDTH, "bank"), replace=True) for _ in range(2)]
    assert in_files[1].engine.count() == 60
    assert not any(map(server.has, first.manifest.collections.values()))
    assert not server.has(manifest.collection)


def test_a_connection_ends_with_its_last_user(milvus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[MilvusClient] = []
    monkeypatch.setattr(MilvusClient, "close", lambda client: closed.append(client))
    for ends_it in (False, True):
        server = MilvusServer(milvus)
        if ends_it:
            server.close()
        del server
        gc.collect()
    assert len(closed) == 2


def test_out_of_the_server_and_back(manifest: Manifest, server: MilvusServer, tmp_path: Path) -> None:
    exported, index = tmp_path / "out", build_index(tmp_path / "index", manifest)
    index.export(exported)
    assert restore(exported, tmp_path / "files").manifest.engine == "lance"
    with pytest.raises(FileExistsError, match="already exists; choose another name"):
        restore(exported, tmp_path / "again", index.manifest)
    alias = f"{manifest.collection}_again"
    again = restore(exported, tmp_path / "again", Place(engine="milvus", uri=manifest.uri, collection=alias))
    assert again.engine.get(["q004"]) == index.engine.get(["q004"])
    assert again.manifest.digest == "0123"
    assert server.aliases(again.manifest.records) == [alias]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"engine": "vespa"}, "engine: 'vespa' is not one of lance, milvus"),
        ({"uri": "http://a:1"}, "lance keeps its records in files"),
        ({"engine": "milvus", "collection": "a"}, "uri: must be http://HOST:PORT"),
        ({"engine": "milvus", "uri": "./local.db", "collection": "a"}, "uri: must be http://HOST:PORT"),
        ({"engine": "milvus", "uri": "http://me:secret@a:1", "collection": "a"}, "MILVUS_TOKEN"),
        ({"engine": "milvus", "uri": "http://a:1", "collection": "my-bank"}, "'my-bank' must be at most 200 letters"),
        ({"engine": "milvus", "uri": "http://a:1"}, "collection: '' must be at most 200 letters"),
    ],
)
def test_places_that_are_none(place: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        Place(**place)  # type: ignore[arg-type]
    assert "secret" not in str(error.value)
