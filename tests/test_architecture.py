"""Imports run one way, from the outside over the methods to the core, never back; and variables say what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tqnet"

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

#: Folders in which no variable has one of these names, which do not say what it holds.
NAMED_FOLDERS = ("tqnet", "pretrain", "finetune", "reproduce", "examples", "tests")
EMPTY_NAMES = frozenset({"of", "own", "one", "found"})


def _nodes(file: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(file.read_text(encoding="utf-8")))


def _imports(file: Path) -> Iterator[str]:
    """Rooms that a file imports, at the top or inside functions."""
    for node in _nodes(file):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        if modules == ["tqnet"]:
            modules = [f"tqnet.{alias.name}" for alias in node.names]
        yield from (module.split(".")[1] for module in modules if module.startswith("tqnet."))


def _variables(file: Path) -> Iterator[tuple[int, str]]:
    """Line and name wherever a variable gets its value: of assignments, loops, comprehensions, ``with``, parameters."""
    for node in _nodes(file):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


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


@pytest.mark.parametrize("folder", NAMED_FOLDERS)
def test_variables_say_what_they_hold(folder: str) -> None:
    empty = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line, name in _variables(file)
        if name in EMPTY_NAMES
    ]
    assert not empty
