"""Commands print their own lines alone: no warnings of libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.serving.process import serving


def test_a_server_prints_its_address_alone(own_index: Path, tmp_path: Path) -> None:
    key, printed = tmp_path / "key.txt", list[str]()
    key.write_text("w")
    with (
        serving(own_index, "--no-log", "--writable", "--write-key-file", str(key), printed=printed) as address,
        httpx.Client(base_url=address, headers={"X-API-Key": "w"}, timeout=60, trust_env=False) as client,
    ):
        answers = [
            client.post("/search", json={"text": "Find $x$"}),
            client.put("/questions", json=[{"id": "new", "stem": "Find $y$"}]),
            client.delete("/questions/new"),
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 204]
    assert len(printed) == 1, printed


@pytest.mark.slow
def test_a_search_prints_its_results_alone(own_index: Path) -> None:
    command = [sys.executable, "-m", "tqnet.cli", "search", str(own_index), "--text", "Find $x$", "--floor", "-1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout
    assert done.stderr == ""
