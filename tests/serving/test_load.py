"""Many queries at a time, answers that are kept, and an index that changes meanwhile."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.serving.conftest import ClientOf, ids, metric
from tqnet.cli import main
from tqnet.questions import Question, QuestionBank
from tqnet.search.build import Encode
from tqnet.search.index import Index
from tqnet.search.ranking import Rank
from tqnet.search.searcher import Searcher
from tqnet.serving.app import create_app
from tqnet.serving.requests import Settings
from tqnet.serving.service import MicroBatcher


def test_queries_at_the_same_time_are_answered_as_one_by_one(client_of: ClientOf, index_folder: Path) -> None:
    texts = [f"Find ${n} x + {n + 1}$ of the {shape}" for n in range(6) for shape in ("circle", "figure")]
    alone, together = client_of(index_folder, cache=0), client_of(index_folder, batch_size=5, batch_wait=0.05)
    expected = [alone.post("/search", json={"text": text}).json()["results"] for text in texts]
    with together, ThreadPoolExecutor(len(texts)) as pool:
        found = list(pool.map(lambda text: together.post("/search", json={"text": text}).json()["results"], texts))
        batches = metric(together, "tqnet_batch_size_count")
    for one, other in zip(expected, found, strict=True):
        assert [result["question"] for result in one] == [result["question"] for result in other]
        assert [result["score"] for result in one] == pytest.approx([result["score"] for result in other], abs=1e-4)
    assert batches < len(texts)


def test_a_full_queue_says_when_to_come_again(encode: Encode, index_folder: Path) -> None:
    started, go = threading.Event(), threading.Event()

    def slowly(questions: Any) -> np.ndarray:
        started.set()
        go.wait()
        return encode(questions)

    app = create_app(Searcher(Index(index_folder), slowly, reads_figures=True), Settings(queue=1))
    with TestClient(app) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/search", json={"text": "Find $x$"})
        started.wait()
        assert metric(client, "tqnet_queue_length") == 1
        refused = client.post("/search", json={"text": "Find $y$"})
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        assert "1 searches are waiting already" in refused.json()["detail"]
        assert client.get("/health").status_code == 200
        go.set()
        assert first.result().status_code == 200
        assert client.post("/search", json={"text": "Find $y$"}).status_code == 200


def test_a_question_that_cannot_be_encoded_fails_alone(encode: Encode, index_folder: Path) -> None:
    def choosy(questions: Any) -> np.ndarray:
        if any("poison" in question.stem for question in questions):
            raise RuntimeError("no")
        return encode(questions)

    app = create_app(Searcher(Index(index_folder), choosy), Settings(batch_wait=0.2))
    with TestClient(app, raise_server_exceptions=False) as client, ThreadPoolExecutor(3) as pool:
        texts = ["Find $x$", "poison", "Find $y$"]
        found = pool.map(lambda text: client.post("/search", json={"text": text}).status_code, texts)
        assert list(found) == [200, 500, 200]


def test_the_cache_never_gives_an_answer_of_before(
    client_of: ClientOf, own_index: Path, model_folder: str, tiny_bank: QuestionBank, tmp_path: Path
) -> None:
    client = client_of(own_index)
    search = {"text": "Where does the zeppelin land?", "k": 1, "by": "text"}
    other = {"text": "Find the value of $x$", "k": 2}
    assert ids(client.post("/search", json=search)) == []
    before = client.post("/search", json=other).json()
    assert client.post("/search", json=other).json() == before
    assert metric(client, "tqnet_cache_hits_total") == 1
    new = tmp_path / "new.jsonl"
    QuestionBank.from_questions([replace(tiny_bank[0], id="new", stem="A zeppelin flies.", images=())]).save(new)
    assert main(["index", "add", str(own_index), str(new), "--device", "cpu", "--precision", "fp32"]) == 0
    assert ids(client.post("/search", json=search)) == ["new"]
    assert client.post("/search", json=search).json()["results"][0]["question"]["id"] == "new"
    assert metric(client, "tqnet_cache_hits_total") == 2
    Index(own_index).engine.delete(["new"])
    assert ids(client.post("/search", json=search)) == []
    assert client.get("/questions/new").status_code == 404


def test_an_index_that_is_replaced_goes_and_is_another_models(
    client_of: ClientOf, own_index: Path, tiny_bank: QuestionBank, model_folder: str, tmp_path: Path
) -> None:
    client = client_of(own_index)
    search = {"text": "Find $x$", "k": 100}
    assert len(ids(client.post("/search", json=search))) > 5
    part = tmp_path / "part.jsonl"
    tiny_bank.select([0, 1]).save(part)
    fast = ["--device", "cpu", "--precision", "fp32"]
    assert main(["index", str(part), "--model", model_folder, "--out", str(own_index), "--replace", *fast]) == 0
    assert set(ids(client.post("/search", json=search))) <= set(tiny_bank.ids[:2])
    manifest = json.loads((own_index / "index.json").read_text())
    (own_index / "index.json").write_text(json.dumps(manifest | {"digest": "another"}))
    for _ in range(2):
        answer = client.post("/search", json=search)
        assert answer.status_code == 503
        assert answer.json()["detail"] == "the index cannot be read now; see the server's log"
    own_index.rename(tmp_path / "elsewhere")
    assert client.get("/health").status_code == 503


def test_at_the_end_what_waits_is_encoded_and_no_more_is_taken(encode: Encode, tiny_bank: QuestionBank) -> None:
    started, go = threading.Event(), threading.Event()

    def slowly(questions: Any) -> np.ndarray:
        started.set()
        go.wait()
        return encode(questions)

    batcher = MicroBatcher(slowly, size=2, wait=0)
    questions = list(tiny_bank.select(list(range(5))))
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(batcher, questions)
        started.wait()
        closing = pool.submit(batcher.close)
        go.set()
        vectors = waiting.result()
        closing.result()
    assert vectors == pytest.approx(encode(questions), abs=1e-4)
    with pytest.raises(RuntimeError, match="shutting down"):
        batcher(questions)


def test_a_late_ranking_is_not_kept(index_folder: Path, bank: QuestionBank) -> None:
    asked = []

    def score(query: Question, candidates: Sequence[Question], evidence: np.ndarray) -> np.ndarray:
        asked.append(query.id)
        return np.linspace(0, 1, len(candidates))

    body = {"id": bank[0].id, "k": 5}
    late = TestClient(create_app(Searcher(Index(index_folder), rank=Rank(score, deadline=0))))
    answers = [late.post("/search", json=body).json() for _ in range(2)]
    assert answers[0]["notes"] == ["there was no time to rank: this is the order of retrieval"]
    assert answers[0]["results"][0]["rank"] is None
    assert metric(late, "tqnet_cache_hits_total") == 0
    in_time = TestClient(create_app(Searcher(Index(index_folder), rank=Rank(score, first=8))))
    first, again = (in_time.post("/search", json=body).json() for _ in range(2))
    assert first == again
    assert [one["rank"] for one in first["results"]][:3] == pytest.approx([1, 6 / 7, 5 / 7])
    assert asked == [bank[0].id]
