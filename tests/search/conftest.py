"""Every engine in turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.search.samples import EMBEDDED, WIDTH
from tqnet.search.engine import SearchEngine
from tqnet.search.records import schema

NewEngine = Callable[[str, Path], SearchEngine]
MILVUS = pytest.param("milvus", marks=pytest.mark.slow)


@pytest.fixture
def new_engine(request: pytest.FixtureRequest) -> NewEngine:
    """Makes an empty engine of a name, with a folder for its files."""

    def make(name: str, folder: Path) -> SearchEngine:
        if name in EMBEDDED:
            return EMBEDDED[name](folder)
        uri = request.getfixturevalue("milvus")
        from tqnet.search.milvus import MilvusEngine

        return MilvusEngine(uri, f"test_{uuid.uuid4().hex}", schema(WIDTH))

    return make


@pytest.fixture(params=[*EMBEDDED, MILVUS])
def engine(request: pytest.FixtureRequest, new_engine: NewEngine, tmp_path: Path) -> Iterator[SearchEngine]:
    made = new_engine(request.param, tmp_path)
    yield made
    made.close()
