"""Figures that come with a query: how many, how large, of what kind."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.serving.asking import ClientOf, figure, png
from tqnet.serving.requests import Upload


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
