"""Versions of an index: the next one is built beside the current one, switched to at once, and back; readers follow."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.search.conftest import BANK, MILVUS, QUESTIONS, WIDTH, encode, make_vectors
from tqnet.questions import QuestionBank
from tqnet.search import build as build_module
from tqnet.search import searcher as searcher_module
from tqnet.search.build import Encode, build
from tqnet.search.index import Index
from tqnet.search.searcher import Follower, Searcher
from tqnet.search.versions import AnotherWritesError, IndexFolderError, Manifest, Versions, writing

PART = BANK.select(range(20))

#: Seconds within which something must happen on a busy machine.
PATIENCE = 60


@pytest.fixture(params=["lance", MILVUS])
def manifest(request: pytest.FixtureRequest) -> Manifest:
    """Of an index in files, and of one on a server with an alias of its own."""
    of_files = Manifest("runs/model", "0123", WIDTH, "bank")
    if request.param == "lance":
        return of_files
    alias = f"questions_{uuid.uuid4().hex[:8]}"
    return replace(of_files, engine="milvus", uri=request.getfixturevalue("milvus"), collection=alias)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def make_version(folder: Path, manifest: Manifest, bank: QuestionBank = BANK, encode: Encode = encode) -> Index:
    build(bank, encode, folder, manifest, replace=True)
    return Index(folder)


def check_versions(folder: Path, *names: str) -> None:
    """These are listed, in this order, and nothing else is there; on a server the last one has the alias."""
    assert Versions.load(folder).names == names
    assert {path.name for path in folder.iterdir()} == {"index.json", *names}
    manifest = Index(folder).manifest
    with manifest.connected() as server:
        if server:
            assert server.aliases(manifest.records) == [manifest.collection]
            known = {name for name in server._client.list_collections() if name.startswith(manifest.collection)}
            assert known == {table for name in names for table in Index(folder, name).manifest.collections.values()}


def test_the_next_version_and_back(folder: Path, manifest: Manifest) -> None:
    first = make_version(folder, manifest)

    def encode_while_searched(questions: object) -> np.ndarray:
        assert Index(folder).engine.count() == 60
        return encode(questions)  # type: ignore[arg-type]

    second = make_version(folder, manifest, PART, encode_while_searched)
    check_versions(folder, "1", "2")
    assert (first.engine.count(), second.engine.count()) == (60, 20)
    Index(folder, "1").publish()
    check_versions(folder, "2", "1")
    assert Index(folder).engine.count() == 60
    third = make_version(folder, manifest, PART)
    check_versions(folder, "1", "3")  # what was searched last is kept, not what was made last
    assert third.engine.count() == 20


def _build_and_die(folder: Path, manifest: Manifest, point: str) -> None:
    """In a process of its own: SIGKILL in the fourth shard, as a method begins, or once the list is written."""
    calls: list[object] = []

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def encode_or_die(questions: object) -> np.ndarray:
        calls.append(questions)
        if point == "encode" and len(calls) == 4:
            die()
        return encode(questions)  # type: ignore[arg-type]

    build_module.SHARD = 8
    save = Versions.save
    if point == "list":
        Versions.save = lambda versions: die(save(versions))  # type: ignore[method-assign]
    elif point != "encode":
        setattr(Index, point, die)
    build(BANK, encode_or_die, folder, manifest, replace=True)


@pytest.mark.parametrize(
    ("point", "served", "encoded"),
    [
        pytest.param("encode", 20, 36, marks=pytest.mark.slow),
        *(pytest.param(point, 20, 0, marks=pytest.mark.slow) for point in ("add", "publish")),
        ("list", 60, 0),
    ],
)
def test_a_killed_build(
    point: str, served: int, encoded: int, folder: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the switch, the old version is searched; the next build goes on where it was killed and clears up."""
    make_version(folder, manifest, PART)
    process = multiprocessing.get_context("spawn").Process(target=_build_and_die, args=(folder, manifest, point))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    assert Index(folder).engine.count() == served
    monkeypatch.setattr(build_module, "SHARD", 8)
    seen: list[str] = []

    def count(questions: object) -> np.ndarray:
        seen.extend(question.id for question in questions if question.id)  # type: ignore[attr-defined]
        return encode(questions)  # type: ignore[arg-type]

    make_version(folder, manifest, encode=count)
    assert len(seen) == encoded
    assert Index(folder).engine.count() == 60
    check_versions(folder, *(("1", "2") if served == 20 else ("2", "3")))


def test_versions_that_are_not_there(folder: Path) -> None:
    manifest = Manifest("runs/model", "0123", WIDTH, "bank")
    Index.create(folder, manifest)
    with pytest.raises(IndexFolderError, match="index: incomplete; run tqnet index BANK again"):
        Index(folder)
    make_version(folder, manifest)
    check_versions(folder, "1")
    versions = Versions.load(folder)
    assert versions.find("1") == versions.current == "1"
    for name in ("previous", "2", ""):
        with pytest.raises(IndexFolderError, match=f"index: no version {name}; it has 1"):
            versions.find(name)
    make_version(folder, manifest)
    assert Versions.load(folder).find("previous") == "1"


def test_one_writes_and_others_wait(folder: Path) -> None:
    manifest = Manifest("runs/model", "0123", WIDTH, "bank")
    make_version(folder, manifest)
    waiting = threading.Thread(
        target=build, args=(PART, encode, folder, manifest), kwargs={"replace": True, "wait": PATIENCE}
    )
    with writing(folder):
        with pytest.raises(AnotherWritesError, match="another process writes"):
            make_version(folder, manifest)
        with pytest.raises(AnotherWritesError, match="another process writes"), writing(folder, 0.1):
            pass
        waiting.start()
        waiting.join(0.5)
        assert Versions.load(folder).names == ("1",)
    waiting.join(PATIENCE)
    assert Versions.load(folder).names == ("1", "2")


class Opener:
    """Makes searchers of any model, when it may and unless it must fail."""

    def __init__(self) -> None:
        self.go, self.error = threading.Event(), ""
        self.opened: list[str] = []
        self.go.set()

    def __call__(self, index: Index) -> Searcher:
        self.go.wait()
        if self.error:
            raise FileNotFoundError(self.error)
        self.opened.append(index.manifest.model)
        return Searcher(index, lambda questions: np.ones((len(questions), index.manifest.width)))


@pytest.fixture
def wider(manifest: Manifest) -> Manifest:
    """Of a model with longer vectors."""
    return replace(manifest, model="runs/wider", digest="4567", width=WIDTH + 4)


def encode_wider(questions: object) -> np.ndarray:
    return make_vectors(len(questions) * 2).reshape(len(questions), -1)[:, : WIDTH + 4]  # type: ignore[arg-type]


def answer(searcher: Searcher) -> int:
    (query,) = searcher.queries([replace(QUESTIONS[0], id="typed", stem="Find the area")])
    return len(searcher.answer(query, k=60).candidates)


def test_a_searcher_follows(folder: Path, manifest: Manifest, wider: Manifest) -> None:
    make_version(folder, manifest, PART)
    opener = Opener()
    follower = Follower(folder, opener)
    before = answer(follower.current())
    make_version(folder, manifest)
    until(lambda: follower.current().index.version == "2")
    assert opener.opened == ["runs/model"]  # the same model is not loaded again
    assert answer(follower.current()) > before
    opener.go.clear()
    make_version(folder, wider, encode=encode_wider)
    old = follower.current()
    (query,) = old.queries(QUESTIONS[:1])
    for _ in range(3):
        assert follower.current() is old  # while the new model is loaded
        assert answer(old) > before
    opener.go.set()
    until(lambda: follower.current().index.version == "3")
    assert answer(follower.current()) > before
    assert old.answer(query).candidates  # a request ends with what it began with
    assert old.state() != follower.current().state() or old.state() is None
    Index(folder, "2").publish()
    until(lambda: follower.current().index.version == "2")
    assert opener.opened == ["runs/model", "runs/wider", "runs/model"]
    assert follower.note is None


def test_a_model_that_is_not_there(
    folder: Path,
    manifest: Manifest,
    wider: Manifest,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_version(folder, manifest, PART)
    opener = Opener()
    follower = Follower(folder, opener)
    before = answer(follower.current())
    opener.error = "runs/wider: no such folder"
    monkeypatch.setattr(searcher_module, "RETRY", 0.0)
    caplog.set_level(logging.ERROR)
    make_version(folder, wider, encode=encode_wider)
    until(lambda: follower.current() and follower.note)
    assert follower.note == "version 1 of the index is still searched: the current one cannot be opened"
    for _ in range(50):
        assert answer(follower.current()) == before
    (record,) = caplog.records  # however often it is tried
    assert record.getMessage() == f"{folder}: {follower.note}: FileNotFoundError: runs/wider: no such folder"
    opener.error = ""
    until(lambda: follower.current().index.version == "2")
    assert follower.note is None
    opener.error = "gone"
    Index(folder, "1").publish()
    until(lambda: follower.current() and follower.note)
    Index(folder, "2").publish()
    until(lambda: follower.current() and not follower.note)
