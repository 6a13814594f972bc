"""What is in a file, or in a model's folder, by its digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tqnet.files import content_digest


def test_a_digest_follows_the_content_and_not_the_place(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "notes.md").write_text(name)  # no part of the model
    digest = content_digest(tmp_path / "one")
    assert digest == content_digest(tmp_path / "other")
    (tmp_path / "one" / "model.safetensors").write_bytes(b"weights")
    assert digest != content_digest(tmp_path / "one")
    assert content_digest(tmp_path / "one" / "config.json") == content_digest(tmp_path / "other" / "config.json")


def test_what_is_not_there_has_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no model in this folder"):
        content_digest(tmp_path)
    with pytest.raises(FileNotFoundError, match="gone: no such file or folder"):
        content_digest(tmp_path / "gone")
