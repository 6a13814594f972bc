"""The API over a real index and a tiny model."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.serving.asking import ClientOf, figure, ids, metric, png
from tests.serving.conftest import HOSTILE
from tqnet.cli import main
from tqnet.questions import QuestionBank
from tqnet.search.build import Encode
from tqnet.search.index import Index
from tqnet.search.rerank import Curriculum, Place


def test_a_text_a_figure_both_and_a_question_of_the_index(
    client: TestClient, bank: QuestionBank, index_folder: Path
) -> None:
    pictured = next(question for question in bank if question.images)
    content = Path(pictured.images[0]).read_bytes()
    asked = bank[0].stem + " now?"
    by_text = client.post("/search", json={"text": asked, "k": 3})
    by_figure = client.post("/search", data={"k": "4"}, files=figure(content))
    by_both = client.post("/search", data={"text": asked, "by": "vector"}, files=figure(content))
    by_id = client.post("/search", json={"id": bank[0].id})
    assert [len(ids(answer)) for answer in (by_text, by_figure, by_both, by_id)] == [3, 4, 5, 5]
    assert bank[0].id not in ids(by_id)
    for answer in (by_figure, by_both):
        assert all(result["words"] is None and result["cosine"] is not None for result in answer.json()["results"])
    (first, *_) = by_text.json()["results"]
    assert first["score"] >= by_text.json()["results"][1]["score"]
    assert first["question"]["html"]["stem"]
    assert all(str(Path(image).parent) not in by_figure.text for image in pictured.images)


def test_results_say_what_they_share_with_the_query(client: TestClient) -> None:
    answer = client.post("/search", json={"text": "Find the attack $x^2 + 1$ of nothing", "by": "text", "k": 50})
    shared = {one["question"]["id"]: one["shared"] for one in answer.json()["results"]}
    assert shared[HOSTILE.id] == ["find", "attack"]
    assert "<math" in answer.json()["query"]["stem"]


def test_filters(client: TestClient, bank: QuestionBank) -> None:
    by_id = {question.id: question for question in bank}
    search = {"text": "Find $x$", "k": 50}
    found = ids(client.post("/search", json=search | {"filters": ["language=zh", "difficulty<=3"]}))
    assert found
    assert all(by_id[id].language == "zh" and by_id[id].difficulty <= 3 for id in found)
    assert ids(client.post("/search", json=search | {"filters": ["figures=0", "id=nobody"]})) == []
    there = client.get("/filters").json()
    assert there["questions"] == len(bank)
    assert {"en", "zh"} < set(there["languages"])
    assert there["difficulty"] == [
        min(q.difficulty for q in bank if q.difficulty),
        max(q.difficulty for q in bank if q.difficulty),
    ]


@pytest.mark.parametrize(
    ("status", "request_", "message"),
    [
        (400, {"json": {}}, "the query is either text and figures, or the id"),
        (400, {"json": {"text": " "}}, "the query is either"),
        (400, {"json": {"text": "x", "id": "y"}}, "the query is either"),
        (400, {"content": b"{", "headers": {"content-type": "application/json"}}, "the body is not JSON"),
        (400, {"json": {f"x{n}": n for n in range(50)}}, "the body has 50 fields"),
        (400, {"content": b"\xff", "headers": {"content-type": "application/json"}}, "the body is not JSON"),
        (400, {"data": {"by": "text"}, "files": figure(png(9, 9))}, "figures have no text to be searched by"),
        (400, {"content": b"--", "headers": {"content-type": "multipart/form-data"}}, "boundary"),
        (404, {"json": {"id": "nobody"}}, "the index has no question 'nobody'"),
        (413, {"json": {"text": "x" * 8001}}, "text: more than 8,000 characters"),
        (413, {"data": {}, "files": figure(png(1001, 1000))}, "more than 1 million pixels"),
        (415, {"content": b"text=x", "headers": {"content-type": "text/plain"}}, "send application/json"),
        (
            415,
            {"data": {}, "files": figure(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")},
            "is none of",
        ),
        (415, {"data": {}, "files": figure(b"%PDF-1.7", "image/png")}, "is none of"),
        (422, {"data": {}, "files": figure(png(300, 300)[:-30])}, "corrupt image"),
        (422, {"data": {"figures": "C:/x.png"}, "files": {"other": b"x"}}, "must be files"),
        (422, {"data": {"text": "x"}, "files": {"other": b"x"}}, "other: "),
        (422, {"json": {"text": "x", "k": 0}}, "k: "),
        (422, {"json": {"text": "x", "by": "magic"}}, "by: "),
        (422, {"json": {"text": "x", "colour": "red"}}, "colour: "),
        (422, {"json": ["x"]}, "body: "),
        (422, {"json": {"text": "x", "filters": ["colour=red"]}}, "unknown field 'colour'"),
        (422, {"json": {"text": "x", "filters": ["type"]}}, "is not of the form"),
        (422, {"content": b'{"text": "\\ud800"}', "headers": {"content-type": "application/json"}}, ""),
    ],
)
def test_searches_that_are_refused(
    client_of: ClientOf, index_folder: Path, status: int, request_: dict[str, Any], message: str
) -> None:
    client = client_of(index_folder, max_upload=2**20, max_pixels=1_000_000)
    answer = client.post("/search", **request_)
    assert answer.status_code == status, answer.text
    assert message in answer.json()["detail"]
    assert "/" not in answer.json()["detail"].replace("application/json", "").replace("multipart/form-data", "")


def test_a_question_and_its_figures(client: TestClient, bank: QuestionBank) -> None:
    pictured = next(question for question in bank if len(question.images) > 1)
    found = client.get(f"/questions/{pictured.id}").json()
    assert found["figures"] == len(pictured.images)
    assert found["answer"] == pictured.answer
    assert "images" not in found
    answer = client.get(f"/questions/{pictured.id}/figures/2")
    assert answer.headers["content-type"] == "image/png"
    with Image.open(pictured.images[1]) as drawn, Image.open(io.BytesIO(answer.content)) as served:
        assert served.size == drawn.size
        assert np.abs(np.asarray(served.convert("L"), int) - np.asarray(drawn.convert("L"), int)).mean() < 4


def test_a_figure_that_has_gone(client_of: ClientOf, own_index: Path, encode: Encode, tiny_bank: QuestionBank) -> None:
    gone = replace(tiny_bank[0], id="gone", images=("/nowhere/secret-name.png",))
    index = Index(own_index)
    index.put([gone], np.ones((1, index.manifest.width)))
    client = client_of(own_index)
    answer = client.get("/questions/gone/figures/1")
    assert answer.status_code == 404
    assert "secret-name" not in answer.text + client.get("/questions/gone").text


def test_docs_describe_every_endpoint(client: TestClient) -> None:
    page = client.get("/docs").text
    description = client.get("/openapi.json").json()
    assert set(description["paths"]["/search"]["post"]["requestBody"]["content"]) == {
        "application/json",
        "multipart/form-data",
    }
    for path in description["paths"]:
        assert f"{path}</code>" in page
    for word in ("filters", "figures", "429", "Retry-After", "X-API-Key"):
        assert word in page


def test_metrics(client: TestClient) -> None:
    for _ in range(3):
        client.post("/search", json={"text": "Find $x$ again"})
    client.get("/questions/nobody")
    client.get("/wp-login.php")
    assert metric(client, 'tqnet_requests_total{endpoint="/search",status="200"}') == 3
    assert metric(client, 'tqnet_requests_total{endpoint="/questions/{id:path}",status="404"}') == 1
    assert metric(client, 'tqnet_requests_total{endpoint="other",status="404"}') == 1
    assert metric(client, 'tqnet_request_seconds_count{endpoint="/search"}') == 3
    assert metric(client, "tqnet_cache_hits_total") == 2
    assert metric(client, "tqnet_cache_misses_total") == metric(client, "tqnet_batch_size_count") == 1
    assert metric(client, "tqnet_queue_length") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0: others could search the index; give --api-key-file FILE"),
        (["--host", "203.0.113.1", "--without-key"], "--host 203.0.113.1 --port 8000: "),
        (["--api-key-file", "gone"], "gone"),
    ],
)
def test_servers_that_do_not_start(
    index_folder: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TQNET_API_KEY", raising=False)
    assert main(["serve", str(index_folder), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tqnet: error: ")
    assert message in error


@pytest.mark.slow
def test_without_the_extra(index_folder: Path) -> None:
    code = (
        "import sys; sys.modules['fastapi'] = None; import tqnet.cli; "
        f"sys.exit(tqnet.cli.main(['serve', {str(index_folder)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "tqnet: error: fastapi is missing: pip install 'tqnet[serve]'\n"


def test_for_whom_the_answer_is(
    client: TestClient, client_of: ClientOf, index_folder: Path, bank: QuestionBank
) -> None:
    hardest = max(bank, key=lambda question: question.difficulty or 0)
    asked = {"text": hardest.stem, "k": 50, "student": "strong"}
    known = client.post("/search", json=asked | {"difficulty": hardest.difficulty}).json()
    assert known["dropped"]
    assert all(one["why"].startswith("dropped: easier than the query") for one in known["dropped"])
    left = {one["question"]["difficulty"] for one in known["results"]}
    assert left <= {None, hardest.difficulty}
    unknown = client.post("/search", json=asked).json()  # not the answer of before
    assert not unknown["dropped"]
    assert all(one["remarks"] == ["difficulty of the query unknown"] for one in unknown["results"])
    of_bank = client.post("/search", json={"id": hardest.id, "k": 50, "student": "strong"}).json()
    assert of_bank["dropped"]

    assert "needs a curriculum" in client.post("/search", json={"id": hardest.id, "stage": "review"}).json()["detail"]
    own = "/".join(hardest.knowledge[0])
    curriculum = Curriculum({own: Place(0, 0)}, ("Grade 7",))
    taught = client_of(index_folder, curriculum=curriculum)
    found = taught.post("/search", json={"id": hardest.id, "stage": "review", "section": own}).json()
    assert found["results"]
    wrong = taught.post("/search", json={"id": hardest.id, "stage": "review", "section": "Astrology"})
    assert (wrong.status_code, wrong.json()["detail"]) == (400, "section: the curriculum has no 'Astrology'")
    assert client.post("/search", json={"id": hardest.id, "student": "lazy"}).status_code == 422
