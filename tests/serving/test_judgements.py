"""What users say of pairs, from the request to what training reads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.serving.conftest import ClientOf
from tqnet.cli import main
from tqnet.questions import Question, QuestionBank
from tqnet.questions.pairs import read_labelled_pairs, read_pairs
from tqnet.questions.similarity import Similarity
from tqnet.search.searcher import typed_question
from tqnet.serving.judgements import JudgementFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.jsonl"


@pytest.fixture
def client(client_of: ClientOf, index_folder: Path, file: Path) -> TestClient:
    return client_of(index_folder, pairs=file)


def test_training_and_evaluation_read_them(client: TestClient, file: Path, bank: QuestionBank) -> None:
    first, second, third = bank.ids[:3]
    typed = {"text": "Find x if x^2 = 9", "options": ["3", "-3"]}
    pairs = [
        {"id": first, "result": second, "label": "no"},
        {"id": second, "result": first, "label": "similar"},  # the last word counts
        {"id": first, "result": third, "label": "variant"},
        {"id": second, "result": third, "label": "no"},
        {**typed, "result": first, "label": "duplicate"},
        {**typed, "result": second, "label": "similar"},
        {**typed, "result": second, "label": None},
    ]
    for pair in pairs:
        assert client.post("/pairs", json=pair).status_code == 204, pair

    bank.save(file.with_name("bank.jsonl"))
    banks = [str(file.with_name(name)) for name in ("bank.jsonl", "pairs-queries.jsonl", "whole.jsonl")]
    assert main(["merge", *banks[:2], "--keep-ids", "--out", banks[2]]) == 0
    queries, merged = map(QuestionBank.load, banks[1:])
    stored = [(query.stem, query.options, query.split) for query in queries]
    assert stored == [("Find $x$ if $x^2=9$", ("3", "-3"), bank[0].split)]
    read = read_pairs(file, merged)
    ids = merged.ids
    scores = {(ids[a], ids[b]): score for a, b, score in zip(read.first, read.second, read.score, strict=True)}
    assert scores == {(first, second): 1, (first, third): 0.5, (second, third): 0, (first, queries[0].id): 1}
    assert Similarity.from_pairs(file, merged).neighbours(0).tolist() == [1, 2, len(bank)]
    labels = [(pair.a.id, pair.b.id, pair.relation) for pair in read_labelled_pairs(file, merged)]
    assert labels[0] == (second, first, "similar")
    assert {relation for *_, relation in labels} == {"duplicate", "similar", "variant", "unrelated"}


def test_several_servers_write(file: Path) -> None:
    questions = [typed_question(f"Find {number} apples") for number in range(20)]
    files = [JudgementFile(file) for _ in range(2)]

    def judge(number: int) -> None:
        files[number % 2].write(questions[number % 20], Question(id=f"r{number % 20}", stem="x"), "similar", typed=True)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(judge, range(40)))
    queries = QuestionBank.load(files[0].queries)
    assert len(queries) == len(file.read_text().splitlines()) == 20


def test_half_a_line_of_a_killed_writer_stays_alone(file: Path) -> None:
    file.write_text('{"a": "x", "b"')
    JudgementFile(file).write(typed_question("Find x"), Question(id="y", stem="x"), "no", typed=True)
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (400, {"id": None}),
        (400, {"id": None, "text": " "}),
        (400, {"text": "x"}),
        (404, {"id": "nobody"}),
        (404, {"result": "nobody"}),
        (413, {"id": None, "text": "x" * 8001}),
        (422, {"label": "perhaps"}),
        (422, {"colour": "red"}),
    ],
)
def test_what_is_refused(
    client: TestClient, file: Path, bank: QuestionBank, status: int, change: dict[str, str | None]
) -> None:
    pair = {"id": bank[0].id, "result": bank[1].id, "label": "no"} | change
    assert client.post("/pairs", json=pair).status_code == status
    assert client.post("/pairs", json=pair | {"result": pair["id"]}).status_code >= 400
    assert file.read_text() == ""


def test_the_key_to_write(client_of: ClientOf, index_folder: Path, file: Path, bank: QuestionBank) -> None:
    client = client_of(index_folder, pairs=file, api_key="to read", write_key="to write")
    pair = {"id": bank[0].id, "result": bank[1].id, "label": "no"}
    statuses = [client.post("/pairs", json=pair, headers={"X-API-Key": key}).status_code for key in ("", "to read")]
    assert statuses == [401, 403]
    assert client.post("/pairs", json=pair, headers={"X-API-Key": "to write"}).status_code == 204
    assert client.get("/filters", headers={"X-API-Key": "to write"}).json()["judgements"] is True
    plain = client_of(index_folder, pairs=file, write_key="to write")
    assert [plain.post("/pairs", json=pair).status_code, plain.get("/filters").status_code] == [403, 200]
    without_file = client_of(index_folder)
    assert without_file.post("/pairs", json=pair).status_code == 404


def test_another_site_cannot_write(client: TestClient, file: Path, bank: QuestionBank) -> None:
    """A browser sends text/plain to other sites without asking them."""
    body = f'{{"id": "{bank[0].id}", "result": "{bank[1].id}", "label": "no"}}'
    assert client.post("/pairs", content=body, headers={"content-type": "text/plain"}).status_code == 415
    assert file.read_text() == ""


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"kept in a \.jsonl file"):
        JudgementFile(tmp_path / "pairs.csv")
    with pytest.raises(FileNotFoundError):
        JudgementFile(tmp_path / "nowhere" / "pairs.jsonl")
