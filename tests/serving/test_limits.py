"""What slow, greedy and broken clients cost others, and what the server says of each request."""

from __future__ import annotations

import io
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image

from tests.serving.conftest import ClientOf
from tests.serving.test_load import BlockedEncoder
from tqnet.search.build import Encode
from tqnet.search.searcher import Searcher
from tqnet.serving import figures
from tqnet.serving.app import create_app
from tqnet.serving.requests import Settings


async def post(
    app: FastAPI, body: bytes, client: str, *, ends: bool = True, parts: list[dict[str, Any]] | None = None
) -> tuple[int, dict[str, Any]]:
    """Post a search as a server would; a body that does not end keeps the application waiting."""
    sent: list[dict[str, Any]] = []
    parts = parts or [{"type": "http.request", "body": body, "more_body": not ends}]

    async def receive() -> dict[str, Any]:
        if not parts:
            await anyio.sleep_forever()
        return parts.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/search", "raw_path": b"/search", "query_string": b""}
    await app({**scope, "headers": headers, "client": (client, 1), "scheme": "http", "app": app}, receive, send)
    answer = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(answer)


def test_slow_bodies_keep_nobody_out(encode: Encode, index_folder: Path) -> None:
    settings = Settings(queue=4, body_seconds=0.5)
    app = create_app(index_folder, lambda index: Searcher(index, encode, reads_figures=True), settings)
    slow: list[tuple[int, dict[str, Any]]] = []
    answers: list[int] = []

    async def keep_waiting(number: int) -> None:
        slow.append(await post(app, b'{"text": ', f"10.0.0.{number}", ends=False))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(64):
                tasks.start_soon(keep_waiting, number)
            await anyio.sleep(0.01)
            answers.append((await post(app, b'{"text": "Find $x$"}', "10.0.1.1"))[0])

    anyio.run(main)
    assert answers == [200]
    assert slow == [(408, {"detail": "the body did not arrive within 0.5 seconds"})] * 64


def test_one_client_leaves_room_for_others(encode: Encode, index_folder: Path) -> None:
    blocked = BlockedEncoder(encode)
    app = create_app(index_folder, lambda index: Searcher(index, blocked), Settings(per_client=1))
    body = b'{"text": "Find $x$"}'
    statuses: dict[str, tuple[int, dict[str, Any]]] = {}

    async def ask(name: str, client: str) -> None:
        statuses[name] = await post(app, body, client)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "first", "10.0.0.1")
            await anyio.to_thread.run_sync(blocked.started.wait)
            tasks.start_soon(ask, "another", "10.0.0.2")
            await ask("again", "10.0.0.1")
            blocked.go.set()
        await ask("later", "10.0.0.1")

    anyio.run(main)
    assert {name: status for name, (status, _) in statuses.items()} == {
        "first": 200,
        "another": 200,
        "again": 429,
        "later": 200,
    }
    assert statuses["again"][1]["detail"] == "only 1 requests from this address are answered at a time; try again"


def test_a_batch_takes_no_more_than_the_share_of_a_client(client_of: ClientOf, index_folder: Path) -> None:
    body = {"searches": [{"text": f"Find ${n}x$"} for n in range(8)]}
    answers = client_of(index_folder, per_client=2).post("/search/batch", json=body).json()["answers"]
    assert {answer["status"] for answer in answers} == {200, 429}
    assert {answer["detail"] for answer in answers} == {
        None,
        "2 searches from this address are already waiting; try again",
    }


def test_a_search_in_json_has_a_bound(client: TestClient) -> None:
    answer = client.post("/search", content=b"{" + b" " * 2**20 + b"}", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()) == (413, {"detail": "the body has more than 1 MiB"})


def test_fields_without_end_are_one_error(client: TestClient) -> None:
    search = {str(number): 1 for number in range(100_000)}
    assert client.post("/search", json=search).json() == {"detail": "the body has 100,000 fields"}
    (answer,) = client.post("/search/batch", json={"searches": [search]}).json()["answers"]
    assert (answer["status"], answer["detail"]) == (400, "the body has 100,000 fields")


def test_a_client_that_leaves_is_no_failure(
    encode: Encode, index_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    app = create_app(index_folder, lambda index: Searcher(index, encode), Settings())
    parts = [{"type": "http.disconnect"}, {"type": "http.request", "body": b'{"', "more_body": True}]

    async def main() -> None:
        with suppress(IndexError):  # no answer is sent
            await post(app, b"", "10.0.0.1\x9b31m", parts=parts)

    anyio.run(main)
    (record,) = [record for record in caplog.records if record.name == "tqnet.requests"]
    assert json.loads(record.message)["status"] == 499
    assert record.message.isascii()
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data; boundary=x; charset=punycode", b"--x--", 415),
        ("multipart/form-data; boundary=x; charset=punycode", b"a" * 250_000, 415),
        ("application/json; charset=utf-16", '{"text": "x"}'.encode("utf-16"), 415),
        ("application/json", '{"text": "x"}'.encode("utf-16"), 400),
        ("application/json; charset=UTF-8", b'{"text": "x"}', 200),
        ("multipart/form-data", b"--x--", 400),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\ncontent-disposition: form-data; name="text"\r\n\r\n\xff\r\n--x--',
            200,
        ),
    ],
)
def test_no_other_codec_is_used(client_of: ClientOf, index_folder: Path, kind: str, body: bytes, status: int) -> None:
    answer = client_of(index_folder).post("/search", content=body, headers={"content-type": kind})
    assert answer.status_code == status


def slow_figure() -> bytes:
    """A small file that takes seconds to decode: as many scans as are let through, of 77 million pixels."""
    stream = io.BytesIO()
    Image.new("L", (8800, 8800)).save(stream, "JPEG", progressive=True)
    content = stream.getvalue()
    start = content.rindex(b"\xff\xda")
    return content[:start] + content[start:-2] * 95 + b"\xff\xd9"


def test_slow_figures_are_given_up_and_those_of_others_do_not_wait(
    encode: Encode, index_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "_SECONDS", 1)
    monkeypatch.setattr(figures, "DECODING", threading.BoundedSemaphore(2))
    settings = Settings(max_pixels=80_000_000)
    app = create_app(index_folder, lambda index: Searcher(index, encode, reads_figures=True), settings)
    small, slow = io.BytesIO(), slow_figure()
    Image.new("L", (8, 8)).save(small, "PNG")
    with (
        TestClient(app, client=("10.0.0.1", 1)) as greedy,
        TestClient(app, client=("10.0.0.2", 1)) as another,
        ThreadPoolExecutor(3) as pool,
    ):
        waiting = [pool.submit(greedy.post, "/search", files={"figures": ("a.jpg", slow)}) for _ in range(3)]
        assert another.post("/search", files={"figures": ("a.png", small.getvalue())}).status_code == 200
        assert not any(answer.done() for answer in waiting)
        answers = [answer.result() for answer in waiting]
    assert {answer.status_code for answer in answers} == {422}
    assert answers[0].json()["detail"] == "figures: a figure takes too long to decode, or crashes the decoder"


def test_every_request_has_an_id_and_a_line(
    client_of: ClientOf, index_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tqnet.requests")
    client = client_of(index_folder)
    given = client.post("/search", json={"text": "a secret"}, headers={"x-request-id": "from-a-proxy.1"})
    made = client.get("/questions/nobody", headers={"x-request-id": "no id\t" * 20})
    lines = [json.loads(record.message) for record in caplog.records if record.name == "tqnet.requests"]
    assert given.headers["x-request-id"] == lines[0]["request"] == "from-a-proxy.1"
    assert made.headers["x-request-id"] == lines[1]["request"]
    assert len(lines[1]["request"]) == 32
    assert [(line["method"], line["endpoint"], line["status"]) for line in lines] == [
        ("POST", "/search", 200),
        ("GET", "/questions/{id:path}", 404),
    ]
    assert "secret" not in caplog.text
    client_of(index_folder, log_queries=True).post("/search", json={"text": "a secret", "k": 3})
    assert json.loads(caplog.records[-1].message)["search"] == {"text": "a secret", "k": 3}


def test_a_failure_names_the_request_in_the_log(
    encode: Encode, index_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(questions: Any) -> Any:
        raise RuntimeError("the model is broken")

    app = create_app(index_folder, lambda index: Searcher(index, broken), Settings())
    answer = TestClient(app, raise_server_exceptions=False).post("/search", json={"text": "x"})
    assert (answer.status_code, answer.json()) == (500, {"detail": "the server failed; see its log"})
    assert f"request {answer.headers['x-request-id']}" in caplog.text
    assert "the model is broken" in caplog.text


def test_a_server_that_runs_may_not_be_ready(client_of: ClientOf, index_folder: Path) -> None:
    client = client_of(index_folder)
    assert client.get("/health").json() == client.get("/ready").json() == {"status": "ok"}
