"""Questions put into the index and deleted from it while it is searched."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.serving.conftest import ClientOf, ids
from tqnet.questions import QuestionBank
from tqnet.search.background import Background
from tqnet.search.build import Encode
from tqnet.search.index import Index
from tqnet.search.precomputed import precompute, precomputed_candidates
from tqnet.search.versions import Versions, writing
from tqnet.serving import writing as module
from tqnet.serving.requests import Settings

NEW = {"id": "new/1", "stem": "How heavy is a zebra?", "options": ["heavy", "light"], "difficulty": 2, "page": 7}
SEARCH: dict[str, Any] = {"text": "How heavy is a zebra?", "k": 100, "floor": -1, "duplicates": "hide"}


@pytest.fixture
def client(client_of: ClientOf, own_index: Path) -> TestClient:
    client = client_of(own_index, writable=True, write_key="w")
    client.headers["X-API-Key"] = "w"
    return client


def put(client: TestClient, *records: Any) -> Any:
    return client.put("/questions", json=list(records))


def counts(answer: Any) -> tuple[int, int, int, int]:
    assert answer.status_code == 200, answer.text
    return tuple(answer.json()[name] for name in ("added", "changed", "unchanged", "encoded"))  # type: ignore[return-value]


def test_the_next_search_knows_what_was_written(client: TestClient, own_index: Path, bank: QuestionBank) -> None:
    check = {"text": NEW["stem"], "options": NEW["options"]}
    before = ids(client.post("/search", json=SEARCH))
    assert client.post("/check", json=check).json()["relation"] is None
    assert counts(put(client, NEW)) == (1, 0, 0, 1)
    assert client.post("/check", json=check).json()["relation"] == "identical"
    assert Index(own_index).background.words["zebra"] == 1
    assert counts(put(client, NEW)) == (0, 0, 1, 0)
    assert counts(put(client, NEW | {"difficulty": 3})) == (0, 1, 0, 0)
    assert client.get("/questions/new/1").json()["difficulty"] == 3
    assert counts(put(client, NEW | {"stem": "How tall is a zebra?"})) == (0, 1, 0, 1)
    assert "new/1" in ids(client.post("/search", json=SEARCH))
    assert client.delete("/questions/new/1").status_code == 204
    assert client.delete("/questions/new/1").status_code == 404
    assert ids(client.post("/search", json=SEARCH)) == before
    assert Index(own_index).engine.count() == len(bank)


def test_vectors_are_those_of_the_command(
    client_of: ClientOf, own_index: Path, bank: QuestionBank, encode: Encode
) -> None:
    client = client_of(own_index, writable=True, write_key="w", batch_size=2)
    records = [{"id": f"n{number}", "stem": f"Find ${number}x$"} for number in range(5)]
    answer = client.put("/questions", json=records, headers={"X-API-Key": "w"})
    assert counts(answer) == (5, 0, 0, 5)
    written = Index(own_index).engine.get([record["id"] for record in records])
    vectors = encode(QuestionBank.from_questions(module.read_questions(records)))
    for vector, row in zip(vectors, written["vector"].to_pylist(), strict=True):
        assert vector @ row > 0.999 * (vector @ vector) ** 0.5 * sum(number**2 for number in row) ** 0.5


def test_precomputed_candidates_are_given_up(client: TestClient, own_index: Path, bank: QuestionBank) -> None:
    index = Index(own_index)
    precompute(index, 10)
    assert precomputed_candidates(index, bank[0].id, 10) is not None
    put(client, NEW)
    assert precomputed_candidates(index, bank[0].id, 10) is None


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"id": "x", "stem": "x"}, "body: expected a list of questions, got an object"),
        ([], "body: 0 questions; expected 1 to 1,000"),
        ([NEW] * 1001, "body: 1,001 questions"),
        ([NEW, 7], "[1].record: expected an object, got a number"),
        (
            [NEW, {"id": "x"}, {"stem": "x", "difficulty": "hard"}],
            "[1].stem: missing; [2].id: missing; [2].difficulty: expected a number, got a string",
        ),
        ([NEW, {"id": "x", "stem": "x", "images": ["/etc/hostname"]}], "[1].images: figures are not accepted"),
        ([{"id": "x", "stem": "Look: <img src='/etc/hostname'>"}], "[0].images: figures are not accepted"),
        ([NEW, NEW | {"stem": "x"}], "[1].id: 'new/1' is also the id of [0]"),
        ([NEW, {"id": "x\0", "stem": "x"}], "[1].id: holds a control character"),
        ([{"id": "x\x85y", "stem": "x"}], "[0].id: holds a control character"),
        ([{"id": "x"}] * 12, "and 2 more"),
    ],
)
def test_nothing_is_written_of_a_faulty_request(
    client: TestClient, own_index: Path, records: Any, message: str
) -> None:
    version = Index(own_index).engine.version()
    answer = client.put("/questions", json=records)
    assert (answer.status_code, message in answer.json()["detail"]) == (422, True), answer.text
    assert client.put("/questions", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    assert Index(own_index).engine.version() == version


def test_a_question_keeps_its_figures(client: TestClient, own_index: Path, bank: QuestionBank) -> None:
    question = next(question for question in bank if question.images)
    answer = put(client, NEW, {"id": question.id, "stem": question.stem})
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        f"{question.id}: would lose figures; use tqnet index update",
    )
    assert not len(Index(own_index).engine.get([NEW["id"]]))


def test_an_id_like_the_path_of_a_figure(client: TestClient, bank: QuestionBank) -> None:
    pictured = next(question for question in bank if question.images)
    for id in ("e/figures/1", "e/figures/x", "e/figures/1/figures/2", f"{pictured.id}/figures/99"):
        assert client.get(f"/questions/{id}").status_code == 404
        put(client, NEW | {"id": id}, NEW | {"id": "new"})
        question, ordinary = (client.get(f"/questions/{each}") for each in (id, "new"))
        assert (question.status_code, question.headers["Content-Type"]) == (200, "application/json")
        assert question.json() == ordinary.json() | {"id": id}
    put(client, NEW | {"id": f"{pictured.id}/figures/1"})
    assert client.get(f"/questions/{pictured.id}/figures/1").headers["Content-Type"] == "image/png"


@pytest.mark.parametrize("fails", ["the lock", "the words"])
def test_a_folder_that_cannot_be_written(
    client: TestClient, own_index: Path, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if fails == "the lock":
        lock = own_index.with_name(f".{own_index.name}.lock")
        lock.unlink(missing_ok=True)
        lock.mkdir()
    else:
        monkeypatch.setattr(Background, "save", is_full)
    answer = put(client, NEW)
    assert (answer.status_code, answer.json().keys()) == (503, {"detail"})
    assert client.get("/questions/new/1").status_code == 404


def test_who_may_write(client_of: ClientOf, own_index: Path) -> None:
    client = client_of(own_index, writable=True, api_key="r", write_key="w")
    for key, status in (("", 401), ("r", 403), ("w", 404)):
        assert client.delete("/questions/nobody", headers={"X-API-Key": key}).status_code == status
        assert (client.put("/questions", json=[], headers={"X-API-Key": key}).status_code == 422) == (key == "w")
    read_only = client_of(own_index, write_key="w")
    assert read_only.put("/questions", json=[NEW], headers={"X-API-Key": "w"}).status_code in (404, 405)
    assert read_only.delete("/questions/x", headers={"X-API-Key": "w"}).status_code == 405
    assert "put" not in str(read_only.get("/openapi.json").json()["paths"].keys())
    with pytest.raises(ValueError, match="needs a key for writing"):
        Settings(writable=True)


def test_while_another_one_writes(client: TestClient, own_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.1)
    with writing(own_index):
        for answer in (put(client, NEW), client.delete("/questions/sum1")):
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
            assert answer.json()["detail"] == "the index cannot be written now; try again"
        assert ids(client.post("/search", json=SEARCH))
    assert put(client, NEW).status_code == 200
    Versions.load(own_index).save()  # as if another version had become current
    assert put(client, NEW).status_code == 503


def test_a_full_queue(client_of: ClientOf, own_index: Path) -> None:
    client = client_of(own_index, writable=True, write_key="w", queue=0)
    headers = {"X-API-Key": "w"}
    answers = [client.put("/questions", json=[NEW], headers=headers), client.delete("/questions/x", headers=headers)]
    assert [answer.status_code for answer in answers] == [429, 429]
