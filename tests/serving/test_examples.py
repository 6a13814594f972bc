"""Examples of the API description hold: the server takes them, and gives answers of that form."""

from __future__ import annotations

from pathlib import Path

from tests.serving.conftest import ClientOf
from tqnet.serving import examples
from tqnet.serving.answers import SearchAnswer
from tqnet.serving.requests import BatchBody, PairBody, QuestionRecord, SearchBody


def test_the_server_takes_them(client_of: ClientOf, own_index: Path, tmp_path: Path) -> None:
    client = client_of(own_index, writable=True, write_key="w", pairs=tmp_path / "pairs.jsonl")
    client.headers["X-API-Key"] = "w"
    described = {}
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation:
                content = operation["requestBody"]["content"]["application/json"]
                described[method, path] = content.get("example") or content["schema"]["examples"][0]
    assert described == {
        ("post", "/search"): examples.SEARCH,
        ("post", "/search/batch"): examples.BATCH,
        ("post", "/check"): examples.CHECK,
        ("post", "/render"): examples.CHECK,
        ("post", "/pairs"): examples.PAIR,
        ("put", "/questions"): examples.QUESTIONS,
    }
    assert all(name in client.get("/docs").text for name in ("PUT /questions", "knowledge", "ids_only"))
    for method, path in sorted(described, reverse=True):  # the questions first: the pair names one of them
        answer = client.request(method, path, json=described[method, path])
        assert answer.status_code == (204 if path == "/pairs" else 200), answer.text
        if path == "/search/batch":
            assert {item["status"] for item in answer.json()["answers"]} == {200}
    assert client.post("/search", json=examples.SEARCH).json()["duplicates"][0]["question"]["id"] == "algebra-1"


def test_they_are_of_their_models() -> None:
    assert SearchAnswer.model_validate(examples.ANSWER).model_dump() == examples.ANSWER
    for body in (examples.SEARCH, examples.CHECK, *examples.BATCH["searches"]):
        SearchBody.model_validate(body)
    BatchBody.model_validate(examples.BATCH)
    PairBody.model_validate(examples.PAIR)
    for record in examples.QUESTIONS:
        assert not QuestionRecord.model_validate(record).model_extra
