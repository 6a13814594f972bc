"""A server follows the versions of its index, with another model, and goes on with the old one if it must."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.serving.conftest import ClientOf, ids, metric
from tests.serving.process import serving
from tqnet.cli import main
from tqnet.questions import QuestionBank

FAST = ["--device", "cpu", "--precision", "fp32"]

SEARCH: dict[str, Any] = {"text": "Find $x$", "k": 100}

#: Seconds within which a busy machine must have followed.
PATIENCE = 120


@pytest.fixture
def part(tiny_bank: QuestionBank, tmp_path: Path) -> str:
    """A bank of two questions."""
    file = tmp_path / "part.jsonl"
    tiny_bank.select([0, 1]).save(file)
    return str(file)


def rebuild(index: Path, bank: str, model: str) -> None:
    assert main(["index", bank, "--model", model, "--out", str(index), "--replace", *FAST]) == 0


def found_ids(client: TestClient | httpx.Client) -> set[str]:
    """Ids of the questions that are found; there is an answer, whatever happens."""
    assert client.get("/ready").status_code == 200
    assert client.get("/filters").status_code == 200
    return set(ids(client.post("/search", json=SEARCH)))


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_next_version_and_the_one_before(
    client_of: ClientOf, own_index: Path, part: str, model_folder: str, tiny_bank: QuestionBank, tmp_path: Path
) -> None:
    with client_of(own_index) as client:
        before = found_ids(client)
        assert len(before) > 5
        rebuild(own_index, part, model_folder)
        until(lambda: client.get("/filters").json()["questions"] == 2)
        assert found_ids(client) <= set(tiny_bank.ids[:2])
        assert main(["index", "use", str(own_index), "previous"]) == 0
        until(lambda: found_ids(client) == before)
        assert metric(client, "tqnet_index_behind") == 0
        own_index.rename(tmp_path / "elsewhere")
        until(lambda: metric(client, "tqnet_index_behind") == 1)  # though nobody searches
        assert client.get("/ready").status_code == 503


@pytest.mark.slow
def test_a_real_server_with_another_model(
    index_folder: Path, part: str, wider_model: str, tiny_bank: QuestionBank, tmp_path: Path
) -> None:
    index = shutil.copytree(index_folder, tmp_path / "index")
    with (
        serving(index, "--floor", "-1", *FAST) as address,
        httpx.Client(base_url=address, timeout=60, trust_env=False) as client,
    ):
        before = found_ids(client)
        rebuild(index, part, wider_model)
        until(lambda: found_ids(client) != before)
        assert found_ids(client) <= set(tiny_bank.ids[:2])
        Path(wider_model).rename(tmp_path / "moved")
        assert main(["index", "use", str(index), "previous"]) == 0
        until(lambda: found_ids(client) == before)
        assert main(["index", "use", str(index), "2"]) == 0
        until(lambda: "note" in client.get("/ready").json())
        note = "version 1 of the index is still searched: the current one cannot be opened"
        assert client.get("/ready").json() == {"status": "ok", "note": note}
        assert found_ids(client) == before
        assert metric(client, "tqnet_index_behind") == 1  # type: ignore[arg-type]
