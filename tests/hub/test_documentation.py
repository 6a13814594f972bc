"""The code of docs/tools.md runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tqnet.modeling.model import TQNetModel

pytest.importorskip("sentence_transformers")
pytest.importorskip("mteb")

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_code_runs(tiny_model: TQNetModel, tmp_path: Path) -> None:
    """All of it in one process, as loading the libraries takes long."""
    snippets = CODE.findall((ROOT / "docs" / "tools.md").read_text(encoding="utf-8"))
    assert len(snippets) == 6
    tiny_model.save_pretrained(tmp_path / "runs" / "scl" / "model")
    Image.new("RGB", (40, 30), "white").save(tmp_path / "figure.png")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT), "TQNET_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(snippets)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    assert float(done.stdout.splitlines()[-1]) > 0
    assert TQNetModel.from_pretrained(tmp_path / "runs" / "further").encode("Find $x$.").shape == (1, 48)
