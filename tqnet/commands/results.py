"""What a command measured, as files: ``results.json`` and ``results.md``."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def command(args: argparse.Namespace) -> str:
    """As it was typed."""
    return "tqnet " + shlex.join(args.argv)


def write_results(folder: Path, facts: Mapping[str, str], document: Mapping[str, Any], markdown: str) -> None:
    """Write both files, each whole or not at all, with ``facts`` on how the numbers came about at their head."""
    import json

    from tqnet.files import atomic

    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "results.json") as temporary:
        whole = {"made_by": dict(facts), **document}
        temporary.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with atomic(folder / "results.md") as temporary:
        lines = [f"- {name}: `{fact}`" for name, fact in facts.items()]
        temporary.write_text("\n".join((*lines, "", markdown)), encoding="utf-8")


def output_file(name: str) -> Path:
    """Where a file can be written, found out before anything is made.

    Raises:
        FileNotFoundError: Its folder is not there.
        IsADirectoryError: It is a folder itself.
    """
    out = Path(name)
    if out.is_dir():
        raise IsADirectoryError(f"--out: {out} is a folder, not a file")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out: {out.parent}: no such folder")
    return out


def write_pictures(out: Path, pictures: Mapping[str, bytes]) -> list[Path]:
    """PNG pictures by name, each whole or not at all; their files."""
    from tqnet.files import atomic

    files = []
    for name, picture in pictures.items():
        files.append(out / f"{name}.png")
        with atomic(files[-1]) as temporary:
            temporary.write_bytes(picture)
    return files
