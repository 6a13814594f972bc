"""What the benchmarks share: a command line, contestants that take turns, and the recipe that some of them run."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import TypeVar

from tqnet.config import ConfigError, parse_config
from tqnet.training.config import RecipeConfig

_ROOT = Path(__file__).parents[2]

Name = TypeVar("Name")


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the benchmark that runs, described by its docstring."""
    prog = f"python -m reproduce.benchmarks.{Path(sys.argv[0]).stem}"
    return argparse.ArgumentParser(prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def take_turns(
    contestants: Mapping[Name, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[Name, float]:
    """Return the median seconds of each contestant over ``rounds``, after one that warms up.

    They take turns, so that whatever else the machine does falls on all of them alike.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds + 1):
        for name, run in contestants.items():
            begun = clock()
            run()
            seconds[name].append(clock() - begun)
    return {name: median(taken[1:]) for name, taken in seconds.items()}


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``recipe``; what follows it on the command line is the recipe's own."""
    parser.add_argument(
        "recipe", type=Path, help="pretrain/moco.py and the like; its arguments follow (python RECIPE --help)"
    )


def open_recipe(parser: argparse.ArgumentParser, path: Path, settings: list[str]) -> tuple[ModuleType, RecipeConfig]:
    """Return the recipe at ``path`` with its ``settings``, to be run for a few steps with nothing between them.

    Raises:
        ConfigError: The settings are not as the recipe wants them, or give a single step.
    """
    if not path.is_file() or not path.resolve().is_relative_to(_ROOT):
        parser.error(f"{path}: no such recipe")
    recipe = importlib.import_module(".".join(path.resolve().relative_to(_ROOT).with_suffix("").parts))
    kind = inspect.signature(recipe.main, eval_str=True).parameters["config"].annotation
    if not issubclass(kind, RecipeConfig):
        parser.error(f"{path}: it takes no steps")
    config = parse_config(kind, parser.prog, settings)
    if config.run.max_steps == 1:
        raise ConfigError("run.max_steps: a single step leaves nothing to clock")
    config.run.eval_every = config.run.save_every = 10**9
    return recipe, config
