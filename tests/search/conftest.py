"""Every engine in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.search.samples import ENGINES
from tqnet.search.engine import SearchEngine


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SearchEngine]:
    made = ENGINES[request.param](tmp_path)
    yield made
    made.close()
