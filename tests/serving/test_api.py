"""The API over a real index and a tiny model."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.serving.conftest import HOSTILE, ClientOf, figure, ids, metric, png
from tqnet.cli import main
from tqnet.questions import Question, QuestionBank
from tqnet.search.index import Index
from tqnet.search.rerank import Curriculum, Place
from tqnet.search.retrieval import Candidate
from tqnet.search.searcher import NO_DIFFICULTY, Answer, Query
from tqnet.serving.answers import answer_view
from tqnet.serving.figures import Upload


def test_a_text_a_figure_both_and_a_question_of_the_index(client: TestClient, bank: QuestionBank) -> None:
    pictured = next(question for question in bank if question.images)
    content = Path(pictured.images[0]).read_bytes()
    text = f"{bank[0].stem} now?"
    by_text = client.post("/search", json={"text": text, "k": 3})
    by_figure = client.post("/search", data={"k": "4"}, files=figure(content))
    by_both = client.post("/search", data={"text": text, "by": "vector"}, files=figure(content))
    by_id = client.post("/search", json={"id": bank[0].id})
    assert [len(ids(answer)) for answer in (by_text, by_figure, by_both, by_id)] == [3, 4, 5, 5]
    assert bank[0].id not in ids(by_id)
    for answer in (by_figure, by_both):
        assert all(result["words"] is None and result["cosine"] is not None for result in answer.json()["results"])
    first, second, _ = by_text.json()["results"]
    assert first["score"] >= second["score"]
    assert first["question"]["html"]["stem"]
    assert all(str(Path(image).parent) not in by_figure.text for image in pictured.images)


def test_results_say_what_they_share_with_the_query(client: TestClient) -> None:
    body = {"text": "Find the attack $x^2 + 1$ of nothing", "by": "text", "k": 50}
    answer = client.post("/search", json=body).json()
    shared = {result["question"]["id"]: result["shared"] for result in answer["results"]}
    assert shared[HOSTILE.id] == ["find", "attack"]
    assert "<math" in answer["query"]["stem"]


def test_shared_words_within_others_are_not_listed() -> None:
    query, candidate = (Question(id=stem, stem=stem) for stem in ("求圆锥形沙堆的体积", "一个圆锥形零件的体积"))
    answer = answer_view(Answer(Query(query), [Candidate(candidate, 1.0)]))
    assert [result.shared for result in answer.results] == [["圆锥形", "体积"]]  # not 圆锥


def test_questions_that_the_bank_has_already(client: TestClient, bank: QuestionBank) -> None:
    stem, options = bank[1].stem, list(bank[1].options)
    body = {"text": stem.replace(" ", "  "), "options": options, "k": 3}
    shown = client.post("/search", json=body).json()
    assert shown["duplicates"][0]["question"]["id"] == bank[1].id
    assert bank[1].id not in [result["question"]["id"] for result in shown["results"]]
    assert client.post("/search", json=body | {"duplicates": "hide"}).json()["duplicates"] == []
    only = client.post("/search", json=body | {"duplicates": "only", "filters": ["id=nobody"]}).json()
    assert (only["results"], bool(only["duplicates"])) == ([], True)
    pictured = next(question for question in bank if question.images and not question.options)
    for choice, count in (("show", 1), ("hide", 0)):  # typed without its figure
        answer = client.post("/search", json={"text": pictured.stem, "k": 50, "duplicates": choice})
        assert pictured.id not in ids(answer)
        assert [repeat["question"]["id"] for repeat in answer.json()["duplicates"]].count(pictured.id) == count
    checked = client.post("/check", json=body).json()
    assert checked["relation"] == shown["duplicates"][0]["relation"]
    assert client.post("/check", json={"text": "Nobody asks this."}).json()["relation"] is None


def test_misspelt_words(client: TestClient) -> None:
    body = {"text": "Find the vaule of $x$"}
    corrected = client.post("/search", json=body).json()
    right = client.post("/search", json={"text": "Find the value of $x$"}).json()
    assert corrected["notes"] == ['searched for "Find the value of x"']
    assert (corrected["results"], right["notes"]) == (right["results"], [])
    exact = client.post("/search", json=body | {"exact_spelling": True}).json()
    assert (exact["query"]["stem"][:14], exact["notes"]) == ("Find the vaule", [])
    assert client.post("/check", json=body).json()["notes"] == []


def test_filters(client: TestClient, bank: QuestionBank) -> None:
    by_id = {question.id: question for question in bank}
    search = {"text": "Find $x$", "k": 50}
    results = ids(client.post("/search", json=search | {"filters": ["language=zh", "difficulty<=3"]}))
    assert results
    assert all(by_id[id].language == "zh" and by_id[id].difficulty <= 3 for id in results)
    assert ids(client.post("/search", json=search | {"filters": ["figures=0", "id=nobody"]})) == []
    suggested = client.get("/filters").json()
    assert suggested["questions"] == len(bank)
    assert {"en", "zh"} < {facet["value"] for facet in suggested["languages"]}
    for facet in suggested["types"] + suggested["concepts"]:
        if "<" in facet["value"]:  # a hostile name, which holds a slash
            continue
        path = tuple(facet["value"].split("/"))
        having = [
            question
            for question in bank
            if facet["value"] == question.type or any(known[: len(path)] == path for known in question.knowledge)
        ]
        assert facet["questions"] == len(having) > 0
    assert (suggested["more"], suggested["judgements"]) == ([], False)
    difficulties = [question.difficulty for question in bank if question.difficulty]
    assert suggested["difficulty"] == [min(difficulties), max(difficulties)]


def test_a_concept_that_is_not_there(client: TestClient, bank: QuestionBank) -> None:
    existing = bank[0].knowledge[0][0]
    for concept, note in (
        (existing, []),
        (existing[:-1].lower(), [f"no concept {existing[:-1].lower()!r}; did you mean {existing!r}?"]),
    ):
        answer = client.post("/search", json={"text": "Find $x$", "filters": [f"concept={concept}"]}).json()
        assert (bool(answer["results"]), answer["notes"]) == (not note, note)
    nothing_like_it = client.post("/search", json={"text": "Find $x$", "filters": ["concept=%%%%"]}).json()
    assert nothing_like_it["notes"] == ["no concept '%%%%'"]


def test_page_by_page(client: TestClient, bank: QuestionBank) -> None:
    body = {"text": "Find $x$", "k": 7}
    unpaged = client.post("/search", json=body | {"k": 100}).json()
    every = [result["question"]["id"] for result in unpaged["results"]]
    paged: list[str] = []
    for offset in range(0, len(every), 7):
        page = client.post("/search", json=body | {"offset": offset})
        paged += ids(page)
        assert page.json()["more"] == (offset + 7 < len(every))
    assert paged == every
    assert client.post("/search", json=body | {"offset": 901}).status_code == 422


def test_a_batch_is_answered_in_order(client: TestClient, bank: QuestionBank) -> None:
    searches = [
        {"text": "Find $x$"},
        {"id": "nobody"},
        {"id": bank[0].id, "k": 2},
        {"text": "x", "filters": ["no=1"]},
        7,
    ]
    answers = client.post("/search/batch", json={"searches": searches}).json()["answers"]
    assert [answer["status"] for answer in answers] == [200, 404, 200, 422, 422]
    for search, answer in zip(searches, answers, strict=True):
        alone = client.post("/search", json=search)
        assert alone.status_code == answer["status"]
        assert answer["answer"] == (alone.json() if alone.status_code == 200 else None)
        assert answer["detail"] == alone.json().get("detail")
    for body in ({}, {"searches": []}, {"searches": [{"text": "x"}] * 101}, {"searches": [], "more": 1}):
        assert client.post("/search/batch", json=body).status_code == 422
    assert client.post("/search/batch", content=b"{", headers={"content-type": "application/json"}).status_code == 400


def test_a_batch_leaves_room_for_others(client_of: ClientOf, index_folder: Path) -> None:
    answers = client_of(index_folder, queue=2).post("/search/batch", json={"searches": [{"text": "x"}] * 6}).json()
    assert {answer["status"] for answer in answers["answers"]} <= {200, 429}
    assert any(answer["status"] == 200 for answer in answers["answers"])


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_pages_elsewhere_may_ask_if_they_are_named(client_of: ClientOf, index_folder: Path, method: str) -> None:
    named, other = "https://school.example", "https://other.example"
    asking = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "x-api-key,content-type"}
    client = client_of(index_folder, origins=(named,), api_key="k")
    for origin, allowed in ((named, named), (other, None)):
        answers = [
            client.options("/search", headers={"Origin": origin, **asking}),
            client.post("/search", json={"text": "x"}, headers={"Origin": origin, "X-API-Key": "k"}),
            client.post("/search", json={"text": "x"}, headers={"Origin": origin}),  # a page must see why
        ]
        assert [answer.headers.get("Access-Control-Allow-Origin") for answer in answers] == [allowed] * 3
        assert [answer.status_code for answer in answers] == [200 if allowed else 400, 200, 401]
    assert client_of(index_folder).options("/search", headers={"Origin": named, **asking}).status_code == 405


def test_ids_alone(client: TestClient, bank: QuestionBank) -> None:
    search = {"text": "Find $x$", "k": 9}
    brief, full = (client.post("/search", json=search | {"ids_only": only}).json() for only in (True, False))
    pairs = [{"id": result["question"]["id"], "score": result["score"]} for result in full["results"]]
    assert brief["results"] == pairs != []
    assert brief | {"results": 0} == full | {"results": 0}


def test_a_typed_question_as_html(client: TestClient) -> None:
    answer = client.post("/render", json={"text": "Find x if (x^2-9)/(x+3) = 1/2", "options": ["x<5"]})
    assert answer.json()["stem"].count("<mfrac>") == 2
    assert "&lt;" in answer.json()["options"][0]
    assert client.post("/render", json={"text": " "}).status_code == 400
    assert client.post("/render", json={"text": "x" * 8001}).status_code == 413
    assert client.post("/render", json={"id": "x"}).status_code == 400


def raw(content: bytes, kind: str = "application/json") -> dict[str, Any]:
    return {"content": content, "headers": {"content-type": kind}}


@pytest.mark.parametrize(
    ("status", "search", "message"),
    [
        (400, {"json": {}}, "the query is either text and figures, or the id"),
        (400, {"json": {"text": " "}}, "the query is either"),
        (400, {"json": {"text": "x", "id": "y"}}, "the query is either"),
        (400, raw(b"{"), "the body is not JSON"),
        (400, raw(b"\xff"), "the body is not JSON"),
        (400, {"json": {f"x{n}": n for n in range(50)}}, "the body has 50 fields"),
        (400, {"data": {"by": "text"}, "files": figure(png(9, 9))}, "figures have no text to be searched by"),
        (400, {"data": {"text": "x"}, "files": figure(png(9, 9)) * 5}, "Too many files"),
        (400, raw(b"--", "multipart/form-data"), "boundary"),
        (404, {"json": {"id": "nobody"}}, "the index has no question 'nobody'"),
        (413, {"json": {"text": "x" * 8001}}, "text: more than 8,000 characters"),
        (413, {"data": {}, "files": figure(png(1001, 1000))}, "more than 1 million pixels"),
        (415, raw(b"text=x", "text/plain"), "send application/json"),
        (
            415,
            {"data": {}, "files": figure(b"<svg/>", "image/svg+xml")},
            "is not one of",
        ),
        (415, {"data": {}, "files": figure(b"%PDF-1.7", "image/png")}, "is not one of"),
        (422, {"data": {}, "files": figure(png(300, 300)[:-30])}, "corrupt image"),
        (422, {"data": {"figures": "C:/x.png"}, "files": {"other": b"x"}}, "must be files"),
        (422, {"data": {"text": "x"}, "files": {"other": b"x"}}, "other: "),
        (422, {"json": {"text": "x", "k": 0}}, "k: "),
        (422, {"json": {"text": "x", "by": "magic"}}, "by: "),
        (422, {"json": {"text": "x", "colour": "red"}}, "colour: "),
        (422, {"json": ["x"]}, "body: "),
        (422, {"json": {"text": "x", "filters": ["colour=red"]}}, "unknown field 'colour'"),
        (422, {"json": {"text": "x", "filters": ["type"]}}, "is not of the form"),
        (422, raw(b'{"text": "\\ud800"}'), ""),
    ],
)
def test_searches_that_are_refused(
    client_of: ClientOf, index_folder: Path, status: int, search: dict[str, Any], message: str
) -> None:
    client = client_of(index_folder, max_upload=2**20, max_pixels=1_000_000)
    answer = client.post("/search", **search)
    assert answer.status_code == status, answer.text
    assert message in answer.json()["detail"]
    assert "/" not in answer.json()["detail"].replace("application/json", "").replace("multipart/form-data", "")


def test_more_bytes_than_there_may_be(client_of: ClientOf, index_folder: Path) -> None:
    client = client_of(index_folder, max_upload=1000)
    assert client.post("/search", data={}, files=figure(bytes(1001))).status_code == 413
    unannounced = (bytes(100) for _ in range(20))
    assert client.post("/search", **raw(unannounced)).status_code == 413  # type: ignore[arg-type]


def test_a_decompression_bomb_is_not_opened(client: TestClient) -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")
    assert client.post("/search", data={}, files=figure(bomb)).status_code == 413


@pytest.mark.parametrize(
    ("mode", "kind"), [("RGB", "JPEG"), ("CMYK", "JPEG"), ("P", "PNG"), ("LA", "PNG"), ("I;16", "PNG")]
)
def test_a_photograph_is_scaled_down(tmp_path: Path, mode: str, kind: str) -> None:
    stream = io.BytesIO()
    Image.new(mode, (2600, 1300)).save(stream, kind)
    Upload(stream.getvalue()).save(tmp_path / "figure", 10_000_000)
    with Image.open(tmp_path / "figure") as saved:
        assert saved.size == (2048, 1024)


def test_a_question_and_its_figures(client: TestClient, bank: QuestionBank) -> None:
    pictured = next(question for question in bank if len(question.images) > 1)
    body = client.get(f"/questions/{pictured.id}").json()
    assert body["figures"] == len(pictured.images)
    assert body["answer"] == pictured.answer
    assert "images" not in body
    for _ in range(2):
        answer = client.get(f"/questions/{pictured.id}/figures/2")
        assert answer.headers["content-type"] == "image/png"
        with Image.open(pictured.images[1]) as drawn, Image.open(io.BytesIO(answer.content)) as served:
            assert served.size == drawn.size
            assert np.abs(np.asarray(served.convert("L"), int) - np.asarray(drawn.convert("L"), int)).mean() < 4


def test_a_figure_that_has_gone(client_of: ClientOf, own_index: Path, tiny_bank: QuestionBank) -> None:
    index = Index(own_index)
    gone = replace(tiny_bank[0], id="gone", images=("/nowhere/secret-name.png",))
    index.put([gone], np.ones((1, index.manifest.width)))
    client = client_of(own_index)
    answer = client.get("/questions/gone/figures/1")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "figure 1 of question 'gone' cannot be read"
    assert "secret-name" not in client.get("/questions/gone").text


def test_docs_describe_every_endpoint(client: TestClient) -> None:
    page, description = client.get("/docs").text, client.get("/openapi.json").json()
    kinds = description["paths"]["/search"]["post"]["requestBody"]["content"].keys()
    assert kinds == {"application/json", "multipart/form-data"}
    assert all(f"{path}</code>" in page for path in description["paths"])
    assert all(word in page for word in ("filters", "figures", "only in a form", "429", "Retry-After", "X-API-Key"))


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
        (["--host", "0.0.0.0"], "--host 0.0.0.0: others could search the index; set --api-key-file FILE"),
        (["--host", "203.0.113.1", "--without-key"], "--host 203.0.113.1 --port 8000: "),
        (["--api-key-file", "gone"], "gone"),
        (["--write-key-file", "gone"], "gone"),
        (["--writable"], "writable: needs a key for writing (--write-key-file)"),
        (["--pairs", "pairs.csv"], "pairs.csv: judgements are kept in a .jsonl file"),
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
    serve = f"import tqnet.cli; sys.exit(tqnet.cli.main(['serve', {str(index_folder)!r}]))"
    code = f"import sys; sys.modules['fastapi'] = None; {serve}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "tqnet: error: fastapi is missing: pip install 'tqnet[serve]'\n"


def test_results_for_a_student(client: TestClient, client_of: ClientOf, index_folder: Path, bank: QuestionBank) -> None:
    hardest = max(bank, key=lambda question: question.difficulty or 0)
    typed = {"text": hardest.stem, "k": 50, "student": "strong"}
    known = client.post("/search", json=typed | {"difficulty": hardest.difficulty}).json()
    assert known["dropped"]
    assert all(result["why"].startswith("dropped: easier than the query") for result in known["dropped"])
    assert {result["question"]["difficulty"] for result in known["results"]} <= {None, hardest.difficulty}
    unknown = client.post("/search", json=typed).json()  # not the cached answer
    assert not unknown["dropped"]
    assert NO_DIFFICULTY in unknown["notes"]
    assert NO_DIFFICULTY not in known["notes"]
    assert client.post("/search", json={"id": hardest.id, "k": 50, "student": "strong"}).json()["dropped"]
    assert client.post("/search", json={"id": hardest.id, "student": "lazy"}).status_code == 422

    review = {"id": hardest.id, "stage": "review"}
    assert "needs a curriculum" in client.post("/search", json=review).json()["detail"]
    section = "/".join(hardest.knowledge[0])
    taught = client_of(index_folder, curriculum=Curriculum({section: Place(0, 0)}, ("Grade 7",)))
    assert taught.post("/search", json=review | {"section": section}).json()["results"]
    wrong = taught.post("/search", json=review | {"section": "Astrology"})
    assert (wrong.status_code, wrong.json()["detail"]) == (400, "section: the curriculum has no 'Astrology'")
