"""Many queries at a time, cached answers, and an index that changes meanwhile."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.serving.conftest import ClientOf, ids, metric
from tqnet.cli import main
from tqnet.questions import Question, QuestionBank
from tqnet.search.build import Encode
from tqnet.search.index import Index
from tqnet.search.ranking import Rank
from tqnet.search.searcher import Searcher
from tqnet.serving import service
from tqnet.serving.app import create_app
from tqnet.serving.requests import Settings
from tqnet.serving.service import MicroBatcher

FAST = ["--device", "cpu", "--precision", "fp32"]


class BlockedEncoder:
    """Encodes when it may."""

    def __init__(self, encode: Encode):
        self.encode = encode
        self.started, self.go = threading.Event(), threading.Event()

    def __call__(self, questions: Any) -> np.ndarray:
        self.started.set()
        self.go.wait()
        return self.encode(questions)


def test_queries_at_the_same_time_are_answered_as_one_by_one(client_of: ClientOf, index_folder: Path) -> None:
    bodies = [{"text": f"Find ${n} x + {n + 1}$ of the {shape}"} for n in range(6) for shape in ("circle", "figure")]
    alone, together = client_of(index_folder, cache=0), client_of(index_folder, batch_size=5, batch_wait=0.05)
    expected = [alone.post("/search", json=body).json()["results"] for body in bodies]
    with together, ThreadPoolExecutor(len(bodies)) as pool:
        answers = list(pool.map(lambda body: together.post("/search", json=body).json()["results"], bodies))
        assert metric(together, "tqnet_batch_size_count") < len(bodies)
    for first, second in zip(expected, answers, strict=True):
        assert [result["question"] for result in first] == [result["question"] for result in second]
        assert [result["score"] for result in first] == pytest.approx([item["score"] for item in second], abs=1e-4)


def test_a_full_queue_says_when_to_come_again(encode: Encode, index_folder: Path) -> None:
    blocked, body = BlockedEncoder(encode), {"text": "Find $y$"}
    app = create_app(index_folder, lambda index: Searcher(index, blocked, reads_figures=True), Settings(queue=1))
    with TestClient(app) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/search", json={"text": "Find $x$"})
        blocked.started.wait()
        assert metric(client, "tqnet_queue_length") == 1
        refused = client.post("/search", json=body)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        assert "1 searches are already waiting" in refused.json()["detail"]
        assert client.get("/ready").status_code == 200
        blocked.go.set()
        assert first.result().status_code == client.post("/search", json=body).status_code == 200


def test_a_question_that_cannot_be_encoded_fails_alone(encode: Encode, index_folder: Path) -> None:
    def choosy(questions: Any) -> np.ndarray:
        if any("poison" in question.stem for question in questions):
            raise RuntimeError("no")
        return encode(questions)

    app = create_app(index_folder, lambda index: Searcher(index, choosy), Settings(batch_wait=0.2))
    with TestClient(app, raise_server_exceptions=False) as client, ThreadPoolExecutor(3) as pool:
        bodies = [{"text": text} for text in ("Find $x$", "poison", "Find $y$")]
        statuses = pool.map(lambda body: client.post("/search", json=body).status_code, bodies)
        assert list(statuses) == [200, 500, 200]


def test_the_cache_never_gives_an_answer_of_before(
    client_of: ClientOf, own_index: Path, tiny_bank: QuestionBank, tmp_path: Path
) -> None:
    client = client_of(own_index)
    search = {"text": "Where does the zeppelin land?", "k": 1, "by": "text"}
    other_search = {"text": "Find the value of $x$", "k": 2}
    assert ids(client.post("/search", json=search)) == []
    before = client.post("/search", json=other_search).json()
    assert client.post("/search", json=other_search).json() == before
    assert metric(client, "tqnet_cache_hits_total") == 1
    new = tmp_path / "new.jsonl"
    QuestionBank.from_questions([replace(tiny_bank[0], id="new", stem="A zeppelin flies.", images=())]).save(new)
    assert main(["index", "add", str(own_index), str(new), *FAST]) == 0
    for _ in range(2):
        assert ids(client.post("/search", json=search)) == ["new"]
    assert metric(client, "tqnet_cache_hits_total") == 2
    Index(own_index).engine.delete(["new"])
    assert ids(client.post("/search", json=search)) == []
    assert client.get("/questions/new").status_code == 404


def test_the_cache_is_bounded_by_bytes(
    client_of: ClientOf, index_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = [{"text": f"Find the value of ${letter}$"} for letter in "xyz"]
    sizes = [len(client_of(index_folder).post("/search", json=body).content) for body in bodies]
    monkeypatch.setattr(service, "_ANSWERS", round(0.9 * sum(sizes)))
    client = client_of(index_folder)
    for body in [*bodies, bodies[0]]:
        client.post("/search", json=body)
    assert metric(client, "tqnet_cache_hits_total") == 0
    client.post("/search", json=bodies[0])
    assert metric(client, "tqnet_cache_hits_total") == 1


def test_few_searches_run_at_a_time(encode: Encode, index_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_AT_ONCE", 2)
    running, most, answer = set[int](), list[int](), Searcher.answer

    def counted(self: Searcher, *args: Any, **options: Any) -> Any:
        running.add(threading.get_ident())
        time.sleep(0.05)  # long enough for all others to come, if they may
        most.append(len(running))
        try:
            return answer(self, *args, **options)
        finally:
            running.discard(threading.get_ident())

    monkeypatch.setattr(Searcher, "answer", counted)
    app = create_app(index_folder, lambda index: Searcher(index, encode), Settings(batch_wait=0.2))
    with TestClient(app) as client, ThreadPoolExecutor(6) as pool:
        bodies = [{"text": f"Find ${n}x$"} for n in range(6)]
        assert list(pool.map(lambda body: client.post("/search", json=body).status_code, bodies)) == [200] * 6
    assert len(most) == 6
    assert max(most) <= 2


def test_libraries_keep_few_shapes_and_no_memory_of_their_own(client: TestClient) -> None:
    assert client.get("/health").status_code == 200
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        assert int(os.environ[name]) <= 64
    assert pa.default_memory_pool().backend_name == "system"


def test_models_are_encoded_one_after_another(encode: Encode, tiny_bank: QuestionBank) -> None:
    """Questions for two models, while one takes the other's place."""
    blocked, sizes = BlockedEncoder(encode), []
    batcher = MicroBatcher(size=9, wait=0.01, observe=sizes.append)
    questions = list(tiny_bank.select(range(3)))
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(batcher.batched(blocked), questions[:1])
        blocked.started.wait()
        old = pool.submit(batcher.batched(blocked), questions)
        new = pool.submit(batcher.batched(lambda some: np.full((len(some), 2), 7.0)), questions)
        blocked.go.set()
        assert old.result() == pytest.approx(encode(questions), abs=1e-4)
        assert new.result().tolist() == [[7.0, 7.0]] * 3
        assert first.result() == pytest.approx(encode(questions[:1]), abs=1e-4)
    assert sum(sizes) == 7
    batcher.close()


def test_at_the_end_what_waits_is_encoded_and_no_more_is_taken(encode: Encode, tiny_bank: QuestionBank) -> None:
    blocked = BlockedEncoder(encode)
    batcher = MicroBatcher(size=2, wait=0)
    batched = batcher.batched(blocked)
    questions = list(tiny_bank.select(range(5)))
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(batched, questions)
        blocked.started.wait()
        closing = pool.submit(batcher.close)
        blocked.go.set()
        assert waiting.result() == pytest.approx(encode(questions), abs=1e-4)
        closing.result()
    with pytest.raises(RuntimeError, match="shutting down"):
        batched(questions)


def test_a_late_ranking_is_not_cached(index_folder: Path, bank: QuestionBank) -> None:
    scored = []

    def score(query: Question, candidates: Sequence[Question], features: np.ndarray) -> np.ndarray:
        scored.append(query.id)
        return np.linspace(0, 1, len(candidates))

    body = {"id": bank[0].id, "k": 5}
    late, in_time = (
        TestClient(create_app(index_folder, partial(Searcher, rank=rank)))
        for rank in (Rank(score, deadline=0), Rank(score, first=8))
    )
    answers = [late.post("/search", json=body).json() for _ in range(2)]
    assert answers[0]["notes"] == ["there was no time to rank: this is the order of retrieval"]
    assert answers[0]["results"][0]["rank"] is None
    assert metric(late, "tqnet_cache_hits_total") == 0
    first, again = (in_time.post("/search", json=body).json() for _ in range(2))
    assert first == again
    assert [result["rank"] for result in first["results"]][:3] == pytest.approx([1, 6 / 7, 5 / 7])
    assert scored == [bank[0].id]
