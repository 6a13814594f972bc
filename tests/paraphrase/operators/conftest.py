"""One parser for all tests: a model takes a second to load."""

from __future__ import annotations

import pytest

from tqnet.paraphrase.problem import Parser


@pytest.fixture(scope="session")
def parse() -> Parser:
    return Parser()
