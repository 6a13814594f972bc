"""Results on disk: ``results.json``, ``results.md`` and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqnet.files import atomic


def write_results(folder: Path, facts: Mapping[str, str], document: Mapping[str, Any], markdown: str) -> None:
    """Write both files, each whole or not at all, headed by ``facts`` on how the numbers were made."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "results.json") as temporary:
        whole = {"made_by": dict(facts), **document}
        temporary.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with atomic(folder / "results.md") as temporary:
        lines = [f"- {name}: `{fact}`" for name, fact in facts.items()]
        temporary.write_text("\n".join((*lines, "", markdown)), encoding="utf-8")


def write_pictures(folder: Path, pictures: Mapping[str, bytes]) -> list[Path]:
    """Write PNG pictures, name -> content, each whole or not at all, and return their paths."""
    files = []
    for name, picture in pictures.items():
        files.append(folder / f"{name}.png")
        with atomic(files[-1]) as temporary:
            temporary.write_bytes(picture)
    return files
