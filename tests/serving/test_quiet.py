"""A search prints its own lines alone: no warnings of libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_search_prints_its_results_alone(own_index: Path) -> None:
    command = [sys.executable, "-m", "tqnet.cli", "search", str(own_index), "--text", "Find $x$", "--floor", "-1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout
    assert done.stderr == ""
