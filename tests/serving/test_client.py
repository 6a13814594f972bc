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


def test_the_client_of_the_examples(own_index: Path, bank: QuestionBank, tmp_path: Path) -> None:
    """Meanwhile the server prints its address alone, and no warnings of libraries."""
    question, key, printed = bank[1], tmp_path / "key.txt", list[str]()
    key.write_text("to write")
    with serving(own_index, "--no-log", "--writable", "--write-key-file", str(key), printed=printed) as address:
        client = _client_module().Client(address, "to write")
        assert client.check(question.stem, list(question.options)) in ("identical", "near")
        assert client.check("Nobody asks this.") is None
        assert len(client.search("Find x", k=2, fold=False, floor=-1)["results"]) == 2
        with pytest.raises(ValueError, match="unknown field 'nothing'"):
            client.search("Find x", filters=["nothing=1"])
        good, bad = client.search_all(["Find x", " "])
        assert (good["status"], bad["status"]) == (200, 400)
        assert good["answer"] == client.search("Find x")
        assert "the query is either" in bad["detail"]
        assert client.put([{"id": "new/1?", "stem": "How heavy is a zebra?"}])["added"] == 1
        assert client.check("How heavy is a zebra?") == "identical"
        client.delete("new/1?")
        assert client.check("How heavy is a zebra?") is None
        with pytest.raises(ValueError, match="no question"):
            client.delete("new/1?")
    assert len(printed) == 1, printed
