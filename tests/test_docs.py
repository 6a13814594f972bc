"""What is measured is what is shown."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest

from tqnet.cli import make_parser
from tqnet.commands.index import with_verb

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COLLECT = runpy.run_path(str(DOCS / "collect.py"))


def test_results_are_collected() -> None:
    """After a change below docs/results/: python docs/collect.py."""
    assert (DOCS / "results.md").read_text(encoding="utf-8") == COLLECT["document"]()


def test_scores_that_no_table_names_are_removed(tmp_path: Path) -> None:
    for folder in ("table", "scores"):
        (tmp_path / folder).mkdir()
    (tmp_path / "table" / "results.json").write_text(json.dumps({"rows": {"a": {"kept": ["one"]}}}))
    for name in ("one", "two"):
        (tmp_path / "scores" / f"{name}.json").write_text("{}")
    COLLECT["_prune"](tmp_path)
    assert [file.name for file in (tmp_path / "scores").iterdir()] == ["one.json"]


def shown_commands() -> list[str]:
    """What the documents tell their readers to type, of ``tqnet`` itself."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))]
    blocks = [block for text in texts for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("tqnet ")]


@pytest.mark.parametrize("command", shown_commands())
def test_commands_are_as_they_are_shown(command: str) -> None:
    make_parser().parse_args(with_verb(shlex.split(command)[1:]))
