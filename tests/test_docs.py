"""What is measured is what is shown."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
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
