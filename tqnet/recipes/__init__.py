"""Find the training recipes and their configurations by name: in an installed wheel, or in the repository.

A wheel carries ``pretrain/``, ``finetune/`` and ``configs/`` in this folder; the repository has them at its top level.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).parent
#: The folder with ``pretrain``, ``finetune`` and ``configs``.
ROOT = _HERE if (_HERE / "pretrain").is_dir() else _HERE.parents[1]
STAGES = ("pretrain", "finetune")


def recipes() -> dict[str, Path]:
    """Map each recipe's name, such as ``moco``, to its script."""
    return {script.stem: script for stage in STAGES for script in sorted((ROOT / stage).glob("[a-z]*.py"))}


def recipe(name: str) -> Path:
    """Return the script of the recipe ``name``.

    Raises:
        ValueError: There is no such recipe.
    """
    known = recipes()
    if name not in known:
        raise ValueError(f"recipe: {name!r} is not one of {', '.join(known)}")
    return known[name]


def config_file(name: str) -> Path:
    """Return the YAML file called ``name``: a path, or a shipped configuration such as ``small/moco``.

    Raises:
        FileNotFoundError: Neither exists.
    """
    shipped = ROOT / "configs" / f"{name.removesuffix('.yaml')}.yaml"
    for file in (Path(name), shipped):
        if file.is_file():
            return file
    raise FileNotFoundError(f"{name}: no such file, and no shipped configuration of this name")


def launched(script: str | Path, arguments: Sequence[str], processes: int = 1, cpu: bool = False) -> list[str]:
    """Return the command that runs a recipe in ``processes`` processes, one a GPU; with ``cpu``, on the processor."""
    command = [sys.executable, str(script), *arguments]
    if processes > 1:
        # Given in full, so that accelerate neither asks for its own configuration nor warns that there is none.
        launch = ["--quiet", "--num_processes", str(processes), "--num_machines", "1"]
        launch += ["--mixed_precision", "no", "--dynamo_backend", "no", *(["--cpu"] if cpu else [])]
        command[1:1] = ["-m", "accelerate.commands.launch", *launch]
    return command
