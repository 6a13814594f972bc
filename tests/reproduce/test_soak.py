"""The requests of the soak are answered as they should be, and their answers are counted."""

from __future__ import annotations

import itertools

import pytest
from fastapi.testclient import TestClient

from reproduce.benchmarks import soak
from tests.serving.conftest import bank, client, client_of, encode, index_folder, model_folder
from tqnet.questions import QuestionBank

__all__ = ["bank", "client", "client_of", "encode", "index_folder", "model_folder"]  # fixtures


@pytest.mark.slow
def test_every_request_has_its_status(client: TestClient, bank: QuestionBank) -> None:
    asked = list(itertools.islice(soak.requests(bank, soak.figure_files(bank), seed=0), 80))
    assert {request.kind for request in asked} == set(soak.SHARES)
    for request in [*soak.INVALID, *asked]:
        answer = client.request(request.method, request.path, **request.options)
        assert answer.status_code == request.status, (request, answer.text)


def test_errors_are_told_from_refusals() -> None:
    search, wrong = soak.Request("id", "POST", "/search", {}), soak.Request("invalid", "POST", "/search", {}, 422)
    replies = [
        soak.Reply(search, 200, 0, 0.1),
        soak.Reply(search, 200, 0, 0.3),
        soak.Reply(search, 429, 0, 0.1),
        soak.Reply(search, 500, 0, 0.1),
        soak.Reply(wrong, 422, 0, 0.1),
        soak.Reply(wrong, 200, 0, 0.1),
        soak.Reply(search, 0, 0, 60),
    ]
    report = soak.latencies(replies)
    assert report["errors"] == {"id: 500": 1, "invalid: 200": 1, "id: no answer": 1}
    assert report["refused by the queue (429)"] == 1
    assert (report["searches"], report["p50 ms"], report["of each kind"]["id"]["p95 ms"]) == (2, 200, 290)


def test_what_becomes_of_requests_in_flight() -> None:
    search = soak.Request("id", "POST", "/search", {})
    times = [(200, 0, 1), (200, 1, 3), (0, 1, 3), (503, 1, 3), (500, 1, 3), (0, 2.5, 3)]
    told = soak.end_of([soak.Reply(search, *time) for time in times], ended=2)
    assert list(told.values()) == [4, 1, 1, 1, 1, 1, 0]
