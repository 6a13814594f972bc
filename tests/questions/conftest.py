import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Record = dict[str, Any]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TQNET_CACHE", str(folder))
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes records as ``questions.jsonl`` (or another name) and returns the file."""

    def write(*records: Record, name: str = "questions.jsonl") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return file

    return write


@pytest.fixture
def figure(tmp_path: Path) -> Callable[[str], str]:
    """Draws a small figure beside the bank and returns its relative path."""

    def figure(name: str, shade: int = 0) -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), shade).save(tmp_path / name)
        return name

    return figure
