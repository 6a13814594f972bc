"""The client of examples/ against a real server."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.serving.process import serving
from tqnet.questions import QuestionBank


def _client_module() -> ModuleType:
    file = Path(__file__).parents[2] / "examples" / "search_client.py"
    spec = importlib.util.spec_from_file_location("search_client", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_client_of_the_examples(index_folder: Path, bank: QuestionBank) -> None:
    question = bank[1]
    with serving(index_folder) as address:
        client = _client_module().Client(address)
        assert client.check(question.stem, list(question.options)) in ("identical", "near")
        assert client.check("Nobody asks this.") is None
        assert len(client.search("Find x", k=2, fold=False, floor=-1)["results"]) == 2
        with pytest.raises(ValueError, match="unknown field 'nothing'"):
            client.search("Find x", filters=["nothing=1"])
        good, bad = client.search_all(["Find x", " "])
        assert (good["status"], bad["status"]) == (200, 400)
        assert good["answer"] == client.search("Find x")
        assert "the query is either" in bad["detail"]
