"""Indexes appear whole, are resumed where a run was killed, and are brought up to date."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.search.conftest import BANK, QUESTIONS, WIDTH, encode, make_questions, make_vectors
from tqnet.questions import Question, QuestionBank
from tqnet.search import build as module
from tqnet.search.build import Processes, build, update
from tqnet.search.engine import DuplicateIdError, EngineError
from tqnet.search.index import Index, restore
from tqnet.search.versions import IndexFolderError, Manifest

MANIFEST = Manifest("runs/model", "0123", WIDTH, "bank")


class Encoder:
    """Encodes by `encode`, and dies after so many calls."""

    def __init__(self, dies_after: int = 1000):
        self.seen: list[str] = []
        self.left = dies_after

    def __call__(self, questions: Sequence[Question] | QuestionBank) -> np.ndarray:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.seen += [question.id for question in questions if question.id]
        return encode(questions)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD", 8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "index"
    build(BANK, encode, folder, MANIFEST)
    return folder


@pytest.fixture
def index(built: Path, folder: Path) -> Index:
    return Index(shutil.copytree(built, folder))


def check_whole(folder: Path) -> None:
    index = Index(folder)
    assert index.engine.count() == 60
    assert index.manifest == MANIFEST
    assert 0 < index.background.unrelated["vectors"] < 1
    assert [hit.id for hit in index.engine.by_vector(make_vectors()[33], 1)] == ["q033"]
    assert not list(folder.parent.glob("*.building"))


def build_and_die(folder: Path, manifest: Manifest = MANIFEST, **options: str) -> list[str]:
    """Kill a build after three shards; return the ids that were encoded."""
    encoder = Encoder(dies_after=3)
    with pytest.raises(KeyboardInterrupt):
        build(BANK, encoder, folder, manifest, **options)
    assert not folder.exists()
    return encoder.seen


def test_a_killed_build_is_resumed(folder: Path) -> None:
    first, second = build_and_die(folder), Encoder()
    build(BANK, second, folder, MANIFEST)
    assert first + second.seen == BANK.ids  # each once
    check_whole(folder)
    with pytest.raises(FileExistsError, match="tqnet index sync"):
        build(BANK, encode, folder, MANIFEST)
    build(BANK.select(range(20, 60)), encode, folder, MANIFEST, replace=True)
    assert Index(folder).engine.count() == 40
    letters = folder.with_name("letters")
    (letters / "old").mkdir(parents=True)
    with pytest.raises(FileExistsError, match="letters: already exists and is not an index"):
        build(BANK, encode, letters, MANIFEST, replace=True)


@pytest.mark.parametrize(
    ("changed", "precision"), [({"digest": "4567"}, "fp32"), ({}, "bf16"), ({"width": 2 * MANIFEST.width}, "fp32")]
)
def test_a_build_with_other_vectors_is_not_resumed(changed: dict[str, Any], precision: str, folder: Path) -> None:
    build_and_die(folder, replace(MANIFEST, **changed), precision=precision)
    encoder = Encoder()
    build(BANK, encoder, folder, MANIFEST)
    assert encoder.seen == BANK.ids
    check_whole(folder)


def test_a_damaged_plan_is_that_of_another_build(folder: Path) -> None:
    build_and_die(folder)
    (folder.with_name("index.building") / "plan.json").write_text("{")
    build(BANK, encode, folder, MANIFEST)
    check_whole(folder)


def test_two_processes_share_the_shards(folder: Path) -> None:
    barrier, encoders = threading.Barrier(2, timeout=60), [Encoder(), Encoder()]
    threads = [
        threading.Thread(target=build, args=(BANK, encoder, folder, MANIFEST, Processes(rank, 2, barrier.wait)))
        for rank, encoder in enumerate(encoders)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(encoders[0].seen + encoders[1].seen) == BANK.ids
    assert len(encoders[0].seen) == 32
    check_whole(folder)


def test_updates_encode_what_has_changed(index: Index) -> None:
    first, second = replace(QUESTIONS[1], difficulty=99), replace(QUESTIONS[2], stem="Something else")
    changed = QuestionBank.from_questions([first, second, *QUESTIONS[3:50], make_questions(61)[60]])
    encoder = Encoder()
    changes = update(index, changed, encoder)
    assert str(changes) == "1 added, 2 changed, 0 deleted, 47 unchanged; 2 encoded"
    assert encoder.seen == ["q002", "q060"]
    assert index.engine.count() == 61
    row = index.engine.get(["q001"]).to_pylist()[0]
    assert row["difficulty"] == 99
    assert row["vector"] == pytest.approx(make_vectors()[1] / np.linalg.norm(make_vectors()[1]), abs=1e-6)
    again = update(index, changed, encoder, delete=True)
    assert str(again) == "0 added, 0 changed, 11 deleted, 50 unchanged; 0 encoded"
    assert index.engine.count() == 50
    with pytest.raises(DuplicateIdError):
        index.add(QUESTIONS[2:3], make_vectors(1))


def test_export_and_restore(index: Index, tmp_path: Path) -> None:
    exported, again = tmp_path / "out", tmp_path / "again"
    index.export(exported)
    restore(exported, again)
    check_whole(again)
    with pytest.raises(FileExistsError):
        restore(exported, again)
    next(iter(exported.glob("*.parquet"))).unlink()
    with pytest.raises(EngineError, match=r"out: \d+ of \d+ records; files are missing or of another export"):
        restore(exported, tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_what_was_not_exported_is_not_restored(tmp_path: Path) -> None:
    exported, again = tmp_path / "out", tmp_path / "again"
    exported.mkdir()
    MANIFEST.save(exported)
    with pytest.raises(EngineError, match=r"records\.json: not written by tqnet index export \(.*No such file"):
        restore(exported, again)
    (exported / "records.json").write_text('{"records": 1}')
    pq.write_table(pa.table({"name": ["a"]}), exported / "records-00000.parquet")
    with pytest.raises(EngineError, match=r"records-00000\.parquet: not written by tqnet index export"):
        restore(exported, again)
    assert not again.exists()


def test_folders_that_are_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexFolderError, match=r"no index here \(index.json is missing\)"):
        Index(tmp_path)
    for text in ("{}", '{"format": 6, "versions": ["../x"]}'):
        (tmp_path / "index.json").write_text(text)
        with pytest.raises(IndexFolderError, match=r"index.json: not written by tqnet index"):
            Index(tmp_path)
    (tmp_path / "index.json").write_text('{"format": 1, "engine": "lance"}')
    with pytest.raises(IndexFolderError, match=r"format 1 is not supported; build the index again in another folder"):
        Index(tmp_path)
    (tmp_path / "index.json").write_text('{"format": 6, "versions": ["3"]}')
    with pytest.raises(IndexFolderError, match=r"3: no index here \(manifest.json is missing\)"):
        Index(tmp_path)
    (tmp_path / "3").mkdir()
    MANIFEST.save(tmp_path / "3")
    with pytest.raises(EngineError, match="no readable index"):
        Index(tmp_path)
    file = tmp_path / "3" / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"engine": "vespa"}))
    with pytest.raises(IndexFolderError, match="'vespa' is not one of lance, milvus"):
        Index(tmp_path)


def test_damaged_records(index: Index) -> None:
    for file in (index.files / "lance").rglob("data/*.lance"):
        file.write_bytes(b"nonsense")
    with pytest.raises(EngineError, match="lance: "):
        Index(index.folder).engine.by_vector(np.ones(WIDTH), 3)
    with pytest.raises(EngineError, match="lance: "):
        Index(index.folder).states()


def test_models_that_do_not_fit(index: Index, tmp_path: Path) -> None:
    index.check_model("elsewhere/model", "0123")
    with pytest.raises(IndexFolderError, match="made by another model than new/model: runs/model"):
        index.check_model("new/model", "4567")
    with pytest.raises(ValueError, match="width"):
        index.put(QUESTIONS[:1], np.ones((1, WIDTH + 1)))
    by_name = Index.create(tmp_path / "other", replace(MANIFEST, model="encoder:one", digest=None))
    by_name.check_model("encoder:one", None)
    with pytest.raises(IndexFolderError, match="made by another model than encoder:two"):
        by_name.check_model("encoder:two", None)
