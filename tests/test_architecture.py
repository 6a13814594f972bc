"""Imports run one way: from the outside over the methods to the core, never back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "tqnet"

#: Rooms from the ground up. A room imports rooms of lower floors alone: no method knows another method.
FLOORS = (
    ("version", "errors", "config", "libraries", "files", "cache", "parallel", "recipes", "text", "losses"),
    ("questions",),
    ("importers", "augment"),
    ("modeling",),
    ("evaluation",),
    ("training",),
    ("paraphrase", "solver", "search", "prediction"),
    ("export",),
    ("hub", "serving"),
    ("cli",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def _imports(file: Path) -> Iterator[str]:
    """Rooms that a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        if modules == ["tqnet"]:
            modules = [f"tqnet.{alias.name}" for alias in node.names]
        yield from (module.split(".")[1] for module in modules if module.startswith("tqnet."))


def test_every_room_has_a_floor() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert rooms - {"__init__", "bench", "commands"} == FLOOR.keys()


@pytest.mark.parametrize("room", FLOOR)
def test_imports_run_down(room: str) -> None:
    folder, module = PACKAGE / room, PACKAGE / f"{room}.py"
    ground = {room, *(FLOORS[0] if FLOOR[room] == 0 else ())}
    wrong = [
        f"{file.relative_to(PACKAGE)} imports tqnet.{target}"
        for file in ([module] if module.is_file() else sorted(folder.rglob("*.py")))
        for target in _imports(file)
        if target in FLOOR and target not in ground and FLOOR[target] >= FLOOR[room]
    ]
    assert not wrong
