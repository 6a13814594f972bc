"""``tqnet train``: start a recipe by its name, from the repository or from an installed wheel."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

from tqnet.cli.options import Command, argument, whole_number
from tqnet.recipes import recipe, recipes


@dataclass(frozen=True, kw_only=True)
class Train(Command, name="train"):
    """Train a model by a recipe. Starts it as accelerate launch would.

    Behind the recipe come --num-processes N (one a GPU; 1), --cpu (keep to the processor), --config FILE or NAME, such
    as small/moco, and settings: data.bank=BANK run.out=DIR. tqnet train RECIPE --help explains every setting.
    """

    recipe: str = argument(", ".join(recipes()), metavar="RECIPE")
    arguments: tuple[str, ...] = argument("options and settings", nargs=argparse.REMAINDER, metavar="...")

    def run(self) -> int:
        script = recipe(self.recipe)
        parser = argparse.ArgumentParser(prog=f"tqnet train {self.recipe}", add_help=False, allow_abbrev=False)
        parser.add_argument("--num-processes", type=whole_number(1), default=1)
        parser.add_argument("--cpu", action="store_true")
        ours, passed_on = parser.parse_known_args(self.arguments)
        command = [sys.executable, str(script), *passed_on]
        if ours.num_processes > 1:
            # Given in full, so that accelerate neither asks for its own configuration nor warns that there is none.
            launch = ["--quiet", "--num_processes", str(ours.num_processes), "--num_machines", "1"]
            launch += ["--mixed_precision", "no", "--dynamo_backend", "no", *(["--cpu"] if ours.cpu else [])]
            command[1:1] = ["-m", "accelerate.commands.launch", *launch]
        elif ours.cpu:
            os.environ["ACCELERATE_USE_CPU"] = "true"
        sys.stdout.flush()
        os.execv(sys.executable, command)
