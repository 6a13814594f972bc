"""What a server gives away, lets run, and to whom."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

from fastapi.testclient import TestClient

from tests.serving.conftest import HOSTILE, ClientOf, ids
from tqnet.questions import QuestionBank


def test_no_file_that_a_text_names_is_opened(client: TestClient, bank: QuestionBank) -> None:
    figure = next(question for question in bank if question.images).images[0]
    for source in (figure, "http://elsewhere.example/x.png", "/nowhere/x.png"):
        answer = client.post("/search", json={"text": f'<p>Find it <img src="{source}"></p>'})
        assert len(ids(answer)) == 5
        assert source not in answer.json()["query"]["stem"]


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
    question = client.get(f"/questions/{quote(HOSTILE.id, safe='')}").json()
    assert question["id"] == HOSTILE.id
    results = client.post("/search", json={"text": "Find the attack", "by": "text"}).json()["results"]
    searched = next(result["question"] for result in results if result["question"]["id"] == HOSTILE.id)
    for html in (question["html"], searched["html"]):
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
