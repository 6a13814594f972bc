"""What several tests of the API ask with."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient
from PIL import Image

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
