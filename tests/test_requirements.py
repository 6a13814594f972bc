"""Pinned versions: one in all places, each with its hashes, and from nowhere in particular."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def pins(name: str) -> dict[str, str]:
    pinned = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in pinned}


def test_the_lock_has_the_constraints_versions() -> None:
    constraints, locked = pins("constraints.txt"), pins("requirements.lock")
    assert len(locked) > 100
    assert {name: version for name, version in locked.items() if constraints.get(name, version) != version} == {}


def test_the_lock_has_hashes_and_no_addresses() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|file:|^-|^/|--index|--find-links", text, re.MULTILINE)
    entries = re.split(r"\n(?=\w)", text.partition("\n#    make lock\n")[2])
    assert len(entries) == len(pins("requirements.lock"))
    assert all(" --hash=sha256:" in entry for entry in entries)
