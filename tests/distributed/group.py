"""Two processes that stay up and run what they are sent.

    torchrun --nproc_per_node 2 -m tests.distributed.group FOLDER

Task N is a file ``FOLDER/N.json`` with a function and its arguments; each process answers with ``FOLDER/N.RANK``, which
is empty or holds a traceback.
"""

from __future__ import annotations

import importlib
import itertools
import json
import logging
import os
import sys
import time
import traceback
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from tests.distributed import helpers
from tests.recipes.conftest import run_recipe


def recipe(name: str, *settings: str) -> None:
    """Train by the recipe ``pretrain.mlm`` or another."""
    run_recipe(name, *settings)


def measure(model_folder: str, out: str) -> None:
    """Write what this process computes to ``out/rank-N.pt``."""
    torch.save(helpers.measure(model_folder), Path(out) / f"rank-{Accelerator().process_index}.pt")


def serve(folder: Path) -> None:
    """Run one task after the other; end with the first that fails, for the processes may no longer be in step."""
    torch.set_num_threads(1)
    for number in itertools.count():
        task, answer = folder / f"{number}.json", folder / f"{number}.{os.environ['RANK']}"
        while not task.exists():
            time.sleep(0.02)
        name, arguments = json.loads(task.read_text())
        AcceleratorState._reset_state(reset_partial_state=True)
        logging.disable(logging.NOTSET)
        error = ""
        try:
            module, _, function = name.rpartition(".")
            getattr(importlib.import_module(module), function)(*arguments)
        except BaseException:
            error = traceback.format_exc()
        half = answer.with_name(f".{answer.name}")
        half.write_text(error)
        half.rename(answer)
        if error:
            sys.exit(1)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
