"""What is measured is what is shown."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_results_are_collected() -> None:
    """After a change below docs/results/: python docs/collect.py."""
    document = runpy.run_path(str(DOCS / "collect.py"))["document"]
    assert (DOCS / "results.md").read_text(encoding="utf-8") == document()
