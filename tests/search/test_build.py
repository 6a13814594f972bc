"""Indexes appear whole, go on where a run was killed, and are brought up to date."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.search.samples import WIDTH, make_questions, make_vectors
from tqnet.questions import Question, QuestionBank
from tqnet.search import build as module
from tqnet.search.build import Processes, build, in_process, update
from tqnet.search.engine import DuplicateIdError, EngineError
from tqnet.search.index import Index, IndexFolderError, Manifest, restore, writing

MANIFEST = Manifest("runs/model", "0123", WIDTH, "bank")
QUESTIONS = make_questions()
BANK = QuestionBank.from_questions(QUESTIONS)


class Encoder:
    """Gives each question the vector of its number, and dies after so many calls."""

    def __init__(self, dies_after: int = 1000):
        self.seen: list[str] = []
        self.left = dies_after

    def __call__(self, questions: Sequence[Question]) -> np.ndarray:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.seen += [question.id for question in questions]
        return np.stack([make_vectors(100)[int(question.id[1:])] for question in questions])


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD", 8)


def check_whole(folder: Path) -> None:
    index = Index(folder)
    assert index.engine.count() == 60
    assert index.manifest == MANIFEST
    assert [hit.id for hit in index.engine.by_vector(make_vectors()[33], 1)] == ["q033"]
    assert not list(folder.parent.glob("*.building"))


def test_a_killed_build_goes_on(tmp_path: Path) -> None:
    folder, first, second = tmp_path / "index", Encoder(dies_after=3), Encoder()
    with pytest.raises(KeyboardInterrupt):
        build(BANK, in_process(first), folder, MANIFEST)
    assert not folder.exists()
    build(BANK, in_process(second), folder, MANIFEST)
    assert first.seen + second.seen == BANK.ids  # each once
    check_whole(folder)
    with pytest.raises(FileExistsError, match="tqnet index sync"):
        build(BANK, in_process(second), folder, MANIFEST)
    build(BANK.select(list(range(20, 60))), in_process(Encoder()), folder, MANIFEST, replace=True)
    assert Index(folder).engine.count() == 40
    (tmp_path / "letters").mkdir()
    with pytest.raises(IndexFolderError, match="no index here"):
        build(BANK, in_process(second), tmp_path / "letters", MANIFEST, replace=True)


@pytest.mark.parametrize("named", [True, False])
def test_a_replacement_that_was_killed_at_its_end(tmp_path: Path, named: bool) -> None:
    """With or without the new index under its name, the next run ends well."""
    folder = tmp_path / "index"
    build(BANK.select(list(range(8))), in_process(Encoder()), tmp_path / "old", MANIFEST)
    if named:
        build(BANK.select(list(range(16))), in_process(Encoder()), folder, MANIFEST)
    (tmp_path / "old").rename(tmp_path / "index.replaced")
    build(BANK, in_process(Encoder()), folder, MANIFEST, replace=True)
    check_whole(folder)
    assert not (tmp_path / "index.replaced").exists()


def test_one_writes_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(BANK, in_process(Encoder()), folder, MANIFEST)
    with writing(folder):
        with pytest.raises(EngineError, match="another process writes"), writing(folder):
            pass
        with pytest.raises(EngineError, match="another process writes"):
            build(BANK, in_process(Encoder()), folder, replace(MANIFEST, digest="4567"), replace=True)
    with writing(tmp_path / "new"), pytest.raises(EngineError, match="another process writes"):
        build(BANK, in_process(Encoder()), tmp_path / "new", MANIFEST)


def test_an_index_whose_replacement_was_killed_is_named(tmp_path: Path) -> None:
    build(BANK.select(list(range(8))), in_process(Encoder()), tmp_path / "index.replaced", MANIFEST)
    with pytest.raises(IndexFolderError, match=r"index: no index here, but .*index\.replaced is one"):
        Index(tmp_path / "index")


def test_a_damaged_plan_is_that_of_another_build(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build(BANK, in_process(Encoder(dies_after=3)), tmp_path / "index", MANIFEST)
    (tmp_path / "index.building" / "plan.json").write_text("{")
    build(BANK, in_process(Encoder()), tmp_path / "index", MANIFEST)
    check_whole(tmp_path / "index")


@pytest.mark.parametrize(("digest", "precision"), [("4567", "fp32"), (MANIFEST.digest, "bf16")])
def test_what_another_model_or_precision_has_left_is_not_gone_on_with(
    digest: str, precision: str, tmp_path: Path
) -> None:
    first, second = Encoder(dies_after=3), Encoder()
    with pytest.raises(KeyboardInterrupt):
        build(BANK, in_process(first), tmp_path / "index", replace(MANIFEST, digest=digest), precision=precision)
    build(BANK, in_process(second), tmp_path / "index", MANIFEST)
    assert second.seen == BANK.ids
    check_whole(tmp_path / "index")


def test_two_processes_share_the_shards(tmp_path: Path) -> None:
    barrier, encoders = threading.Barrier(2, timeout=60), [Encoder(), Encoder()]
    threads = [
        threading.Thread(
            target=build,
            args=(BANK, in_process(encoders[rank]), tmp_path / "index", MANIFEST, Processes(rank, 2, barrier.wait)),
        )
        for rank in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(encoders[0].seen + encoders[1].seen) == BANK.ids
    assert len(encoders[0].seen) == 32
    check_whole(tmp_path / "index")


def test_updates_encode_what_has_changed(tmp_path: Path) -> None:
    build(BANK, in_process(Encoder()), tmp_path / "index", MANIFEST)
    index, encoder = Index(tmp_path / "index"), Encoder()
    first, second = replace(QUESTIONS[1], difficulty=99), replace(QUESTIONS[2], stem="Something else")
    changed = QuestionBank.from_questions([first, second, *QUESTIONS[3:50], make_questions(61)[60]])
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


def test_export_and_restore(tmp_path: Path) -> None:
    build(BANK, in_process(Encoder()), tmp_path / "index", MANIFEST)
    Index(tmp_path / "index").engine.export(tmp_path / "out")
    MANIFEST.save(tmp_path / "out")
    restore(tmp_path / "out", tmp_path / "again")
    check_whole(tmp_path / "again")
    with pytest.raises(FileExistsError):
        restore(tmp_path / "out", tmp_path / "again")


def test_half_an_export_is_not_restored(tmp_path: Path) -> None:
    build(BANK, in_process(Encoder()), tmp_path / "index", MANIFEST)
    Index(tmp_path / "index").engine.export(tmp_path / "out")
    MANIFEST.save(tmp_path / "out")
    next(iter((tmp_path / "out").glob("*.parquet"))).unlink()
    with pytest.raises(EngineError, match=r"out: \d+ of \d+ records; files are missing or of another export"):
        restore(tmp_path / "out", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_what_was_not_exported_is_not_restored(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    MANIFEST.save(tmp_path / "out")
    with pytest.raises(EngineError, match=r"records\.json: not as tqnet index export writes it \(.*No such file"):
        restore(tmp_path / "out", tmp_path / "again")
    (tmp_path / "out" / "records.json").write_text('{"records": 1}')
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "out" / "records-00000.parquet")
    with pytest.raises(EngineError, match=r"records-00000\.parquet: not as tqnet index export writes it"):
        restore(tmp_path / "out", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not (tmp_path / "again.building").exists()


def test_folders_that_are_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexFolderError, match=r"no index here \(index.json is missing\)"):
        Index(tmp_path)
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(IndexFolderError, match=r"index.json: not as tqnet index writes it"):
        Index(tmp_path)
    replace(MANIFEST, format=0, version="0.0.1").save(tmp_path)
    with pytest.raises(IndexFolderError, match=r"made by tqnet 0\.0\.1 in a format that is no longer read"):
        Index(tmp_path)
    MANIFEST.save(tmp_path)
    with pytest.raises(EngineError, match="no index that can be read"):
        Index(tmp_path)


def test_an_index_that_does_not_say_where_its_records_are(tmp_path: Path) -> None:
    """As it was written before there was more than one engine."""
    build(BANK, in_process(Encoder()), tmp_path / "index", MANIFEST)
    file = tmp_path / "index" / "index.json"
    kept = json.loads(file.read_text())
    for name in ("engine", "uri", "collection", "records", "shards", "replicas"):
        del kept[name]
    file.write_text(json.dumps(kept))
    check_whole(tmp_path / "index")
    file.write_text(json.dumps(kept | {"engine": "vespa"}))
    with pytest.raises(IndexFolderError, match="'vespa' is none of lance, milvus"):
        Index(tmp_path / "index")


def test_damaged_records(tmp_path: Path) -> None:
    build(BANK, in_process(Encoder()), tmp_path / "index", MANIFEST)
    for file in (tmp_path / "index" / "lance").rglob("data/*.lance"):
        file.write_bytes(b"nonsense")
    with pytest.raises(EngineError, match="lance: "):
        Index(tmp_path / "index").engine.by_vector(np.ones(WIDTH), 3)
    with pytest.raises(EngineError, match="lance: "):
        Index(tmp_path / "index").states()


def test_models_that_do_not_fit(tmp_path: Path) -> None:
    build(BANK, in_process(Encoder()), tmp_path / "index", MANIFEST)
    index = Index(tmp_path / "index")
    index.check_model("elsewhere/model", "0123")
    with pytest.raises(IndexFolderError, match="made by another model than new/model: runs/model"):
        index.check_model("new/model", "4567")
    by_name = replace(MANIFEST, model="encoder:one", digest=None)
    build(BANK, in_process(Encoder()), tmp_path / "other", by_name)
    Index(tmp_path / "other").check_model("encoder:one", None)
    with pytest.raises(IndexFolderError, match="made by another model than encoder:two"):
        Index(tmp_path / "other").check_model("encoder:two", None)
    with pytest.raises(ValueError, match="width"):
        index.put(QUESTIONS[:1], np.ones((1, WIDTH + 1)))
