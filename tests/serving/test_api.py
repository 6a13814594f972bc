"""The API over a real index and a tiny model."""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.serving.conftest import HOSTILE
from tqnet.cli import main
from tqnet.questions import Question, QuestionBank
from tqnet.search.build import Encode
from tqnet.search.curriculum import Curriculum, Place
from tqnet.search.index import Index
from tqnet.search.rank import Rank
from tqnet.search.searcher import Searcher
from tqnet.serving.app import create_app
from tqnet.serving.batching import MicroBatcher
from tqnet.serving.settings import Settings
from tqnet.serving.uploads import Upload

ClientOf = Callable[..., TestClient]


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [result["question"]["id"] for result in answer.json()["results"]]


def metric(client: TestClient, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def png(width: int, height: int) -> bytes:
    stream = io.BytesIO()
    Image.new("1", (width, height)).save(stream, "PNG")
    return stream.getvalue()


def figure(content: bytes, kind: str = "image/png") -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("figures", ("figure", content, kind))]


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
        (400, {"content": b"{", "headers": {"content-type": "application/json"}}, "the body is no JSON"),
        (400, {"json": {f"x{n}": n for n in range(50)}}, "the body has 50 fields"),
        (400, {"content": b"\xff", "headers": {"content-type": "application/json"}}, "the body is no JSON"),
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
        (422, {"data": {"figures": "C:/x.png"}, "files": {"other": b"x"}}, "a file is wanted"),
        (422, {"data": {"text": "x"}, "files": {"other": b"x"}}, "other: "),
        (422, {"json": {"text": "x", "k": 0}}, "k: "),
        (422, {"json": {"text": "x", "by": "magic"}}, "by: "),
        (422, {"json": {"text": "x", "colour": "red"}}, "colour: "),
        (422, {"json": ["x"]}, "body: "),
        (422, {"json": {"text": "x", "filters": ["colour=red"]}}, "there is no field 'colour'"),
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


def test_more_bytes_than_there_may_be(client_of: ClientOf, index_folder: Path) -> None:
    client = client_of(index_folder, max_upload=1000)
    assert client.post("/search", data={}, files=figure(bytes(1001))).status_code == 413
    unannounced = (bytes(100) for _ in range(20))
    answer = client.post("/search", content=unannounced, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_a_decompression_bomb_is_not_opened(client: TestClient) -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")
    )
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


def test_more_figures_than_there_may_be(client: TestClient) -> None:
    answer = client.post("/search", data={"text": "x"}, files=figure(png(9, 9)) * 5)
    assert answer.status_code == 400
    assert "Too many files" in answer.json()["detail"]


def test_no_file_that_a_text_names_is_opened(client: TestClient, bank: QuestionBank) -> None:
    there = next(question for question in bank if question.images).images[0]
    for source in (there, "http://elsewhere.example/x.png", "/nowhere/x.png"):
        answer = client.post("/search", json={"text": f'<p>Find it <img src="{source}"></p>'})
        assert len(ids(answer)) == 5
        assert source not in answer.json()["query"]["stem"]


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


def test_no_path_leads_out_of_the_bank(client: TestClient, bank: QuestionBank, index_folder: Path) -> None:
    pictured = next(question for question in bank if question.images)
    outside = (
        "/questions/nobody",
        f"/questions/{pictured.id}/figures/0",
        f"/questions/{pictured.id}/figures/-1",
        f"/questions/{pictured.id}/figures/99",
        f"/questions/{pictured.id}/figures/..%2f..%2f..%2fetc%2fpasswd",
        f"/questions/{quote(pictured.images[0], safe='')}/figures/1",
        "/questions/..%2f..%2fetc%2fpasswd",
        f"/questions/{quote(HOSTILE.id, safe='')}/figures/1",
        "/page/..%2fapp.py",
        "/page/../app.py",
        "/page/%2e%2e/app.py",
    )
    for path in outside:
        answer = client.get(path)
        assert answer.status_code in (404, 422), path
        assert str(index_folder) not in answer.text


def test_a_figure_that_has_gone(client_of: ClientOf, own_index: Path, encode: Encode, tiny_bank: QuestionBank) -> None:
    gone = replace(tiny_bank[0], id="gone", images=("/nowhere/secret-name.png",))
    index = Index(own_index)
    index.put([gone], np.ones((1, index.manifest.width)))
    client = client_of(own_index)
    answer = client.get("/questions/gone/figures/1")
    assert answer.status_code == 404
    assert "secret-name" not in answer.text + client.get("/questions/gone").text


class Markup(HTMLParser):
    """Elements of a piece of HTML, and their attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_nothing_in_a_question_can_run(client: TestClient) -> None:
    found = client.get(f"/questions/{quote(HOSTILE.id, safe='')}").json()
    assert found["id"] == HOSTILE.id
    results = client.post("/search", json={"text": "Find the attack", "by": "text"}).json()["results"]
    searched = next(one["question"] for one in results if one["question"]["id"] == HOSTILE.id)
    for html in (found["html"], searched["html"]):
        texts = [html["stem"], *html["options"], html["answer"], html["analysis"]]
        markup = Markup(" ".join(text for text in texts if text))
        assert "math" in markup.elements
        assert not markup.elements & {"script", "img", "a", "iframe", "object", "embed", "style", "link", "svg"}
        assert not {name for name in markup.attributes if name.startswith("on") or name in ("href", "style", "src")}
    asked = client.post("/search", json={"text": HOSTILE.stem}).json()["query"]["stem"]
    assert Markup(asked).elements <= {"math", "mrow", "mi", "mtext", "mo", "mn", "mstyle", "code"}


def test_what_every_answer_forbids(client: TestClient) -> None:
    for path in ("/", "/docs", "/page/page.js", "/health", "/nowhere", "/questions/nobody"):
        headers = client.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
    for path in ("/", "/docs"):
        assert not re.search(
            r"<script>|<script (?!src=)| on\w+=| style=|(?:src|href)=.(?:https?:)?//", client.get(path).text
        )


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


def test_the_key(client_of: ClientOf, index_folder: Path, bank: QuestionBank) -> None:
    client = client_of(index_folder, api_key="s3cret-key")
    kept = (
        client.post("/search", json={"text": "x"}).status_code,
        client.post("/search", json={"text": "x"}, headers={"X-API-Key": "another"}).status_code,
        *(client.get(path).status_code for path in (f"/questions/{bank[0].id}", "/questions/x/figures/1", "/filters")),
        client.get("/metrics").status_code,
    )
    assert set(kept) == {401}
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/").status_code == client.get("/page/page.js").status_code == 200
    right = {"X-API-Key": b"s3cret-key"}
    assert len(ids(client.post("/search", json={"text": "x"}, headers=right))) == 5
    assert client.get("/metrics", headers=right).status_code == 200


def test_another_name_of_this_machine_is_refused(client_of: ClientOf, index_folder: Path) -> None:
    """What a page elsewhere would send whose name was made to point here."""
    client = client_of(index_folder, hosts=("127.0.0.1", "[::1]"))
    for host, status in (("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("elsewhere.example", 400)):
        assert client.get("/health", headers={"host": host}).status_code == status


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
        assert answer.json()["detail"] == "the index cannot be read now; the server's log says why"
    own_index.rename(tmp_path / "elsewhere")
    assert client.get("/health").status_code == 503


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

    assert "told by a curriculum" in client.post("/search", json={"id": hardest.id, "stage": "review"}).json()["detail"]
    own = "/".join(hardest.knowledge[0])
    curriculum = Curriculum({own: Place(0, 0)}, ("Grade 7",))
    taught = client_of(index_folder, curriculum=curriculum)
    found = taught.post("/search", json={"id": hardest.id, "stage": "review", "section": own}).json()
    assert found["results"]
    wrong = taught.post("/search", json={"id": hardest.id, "stage": "review", "section": "Astrology"})
    assert (wrong.status_code, wrong.json()["detail"]) == (400, "section: the curriculum has no 'Astrology'")
    assert client.post("/search", json={"id": hardest.id, "student": "lazy"}).status_code == 422


def test_a_late_ranking_is_not_kept(index_folder: Path, bank: QuestionBank) -> None:
    asked = []

    def score(query: Question, candidates: Sequence[Question]) -> np.ndarray:
        asked.append(query.id)
        return np.linspace(0, 1, len(candidates))

    body = {"id": bank[0].id, "k": 5}
    late = TestClient(create_app(Searcher(Index(index_folder), rank=Rank(score, deadline=0))))
    answers = [late.post("/search", json=body).json() for _ in range(2)]
    assert answers[0]["notes"] == ["there was no time to rank: this is the order of recall"]
    assert answers[0]["results"][0]["rank"] is None
    assert metric(late, "tqnet_cache_hits_total") == 0
    in_time = TestClient(create_app(Searcher(Index(index_folder), rank=Rank(score, first=8))))
    first, again = (in_time.post("/search", json=body).json() for _ in range(2))
    assert first == again
    assert [one["rank"] for one in first["results"]][:3] == pytest.approx([1, 6 / 7, 5 / 7])
    assert asked == [bank[0].id]
