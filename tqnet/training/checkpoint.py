"""Checkpoints: everything needed to resume a run as if it had never stopped."""

from __future__ import annotations

import os
import pickle
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from tqnet.config import ConfigError
from tqnet.files import atomic

_NAME = re.compile(r"step-\d{8}\.pt")


def save_checkpoint(folder: Path, step: int, state: dict[str, Any], accelerator: Accelerator, keep: int) -> None:
    """Write ``state`` and the random generators of all processes atomically; keep the newest ``keep`` checkpoints.

    Call it on all processes.

    Raises:
        OSError: Writing failed, because the disk is full for example.
    """
    generators = gather_object([_generators()])
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic(folder / f"step-{step:08d}.pt") as temporary:
            _write({**state, "generators": generators}, temporary)
        _sync(folder)
        for old in checkpoints(folder)[:-keep]:
            old.unlink()
    accelerator.wait_for_everyone()


def _write(state: dict[str, Any], path: Path) -> None:
    """Write ``state`` and fsync it: after a power cut, the rename could otherwise survive without the contents."""
    try:
        torch.save(state, path)
    except RuntimeError as error:  # torch's writer only reports an unexpected file size
        raise OSError(f"{path}: the checkpoint cannot be written; is the disk full? ({error})") from error
    _sync(path)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def sweep(folder: Path) -> None:
    """Remove partial checkpoints of killed processes."""
    for stale in folder.glob(".step-*.tmp"):
        stale.unlink(missing_ok=True)


def checkpoints(folder: Path) -> list[Path]:
    """Return complete checkpoints, oldest first."""
    return sorted(path for path in folder.glob("step-*.pt") if _NAME.fullmatch(path.name))


def load_checkpoint(folder: Path, accelerator: Accelerator) -> dict[str, Any] | None:
    """Load the newest checkpoint's state, or None without one, and set this process's generators.

    Raises:
        ConfigError: The number of processes has changed, or the file holds more than tensors and plain values.
    """
    saved = checkpoints(folder)
    if not saved:
        return None
    state = read_checkpoint(saved[-1])
    generators = state.pop("generators")
    if len(generators) != accelerator.num_processes:
        raise ConfigError(
            f"{saved[-1]}: written by {len(generators)} processes, resumed by {accelerator.num_processes}; "
            "the order of the questions would not be the same"
        )
    _set_generators(generators[accelerator.process_index])
    return state


def read_checkpoint(file: Path) -> dict[str, Any]:
    """Return the state in a checkpoint; raise ConfigError for one that would run code."""
    try:
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ConfigError(f"{file}: holds more than tensors and plain values; start the run anew") from None
    return state


def _generators() -> dict[str, Any]:
    name, keys, *rest = np.random.get_state()
    numpy = (name, torch.from_numpy(np.asarray(keys, dtype=np.int64)), *rest)
    state = {"python": random.getstate(), "numpy": numpy, "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def _set_generators(state: dict[str, Any]) -> None:
    random.setstate(state["python"])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
