"""The recipe that a benchmark runs, as its command line names it."""

from __future__ import annotations

import argparse
import importlib
import inspect
from pathlib import Path
from types import ModuleType

from tqnet.config import ConfigError, parse_config
from tqnet.training.config import RecipeConfig

_ROOT = Path(__file__).parents[2]


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """The argument ``recipe``; what follows it on the command line is the recipe's own."""
    parser.add_argument(
        "recipe", type=Path, help="pretrain/moco.py and the like; its arguments follow (python RECIPE --help)"
    )


def open_recipe(parser: argparse.ArgumentParser, path: Path, settings: list[str]) -> tuple[ModuleType, RecipeConfig]:
    """The recipe at ``path`` and what ``settings`` say to it, to be run for a few steps with nothing between them.

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
