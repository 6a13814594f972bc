"""The processes of a run: start, communication and exit."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import psutil
import torch
from accelerate import Accelerator, PartialState
from accelerate.commands.launch import launch_command_parser
from accelerate.utils import gather_object
from torch import Tensor

from tqnet.config import ConfigError, Precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import QuestionBank

#: PR_SET_PDEATHSIG of linux/prctl.h.
_SET_PARENT_DEATH_SIGNAL = 1

#: The end of the command before its options: a script, two words, or a module by name or by path.
_LAUNCHER = re.compile(r"(^|[ /])accelerate(-launch| launch|\.commands\.launch|/commands/launch\.py)$")


def follow_launcher() -> None:
    """Stop, with the state saved, when ``accelerate launch`` dies of SIGTERM, which it does not forward.

    Linux only; elsewhere the recipe trains on.
    """
    if sys.platform == "linux" and _launch_words():
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def start_missing_processes() -> None:
    """Exec torchrun with N processes if accelerate was asked for N but started one.

    ``accelerate launch --cpu --num_processes N`` relies on MPI. Without MPI, accelerate 1.15 starts one process and
    sets MASTER_ADDR; the number is only on its command line. Does nothing if all processes are running.

    Raises:
        ConfigError: Processes are missing and their number is unknown.
    """
    # Check PartialState last: created before the Accelerator, it ignores ACCELERATE_USE_CPU, and under torchrun it
    # would stay a single process.
    if "MASTER_ADDR" not in os.environ or "WORLD_SIZE" in os.environ or PartialState().num_processes > 1:
        return
    words = _launch_words()
    options = launch_command_parser().parse_args(words) if words else None
    if options is None or options.num_processes is None or options.num_machines not in (None, 1):
        raise ConfigError(
            "several processes were requested but one was started; start them with: "
            "ACCELERATE_USE_CPU=true torchrun --nproc_per_node N RECIPE SETTINGS"
        )
    count = str(options.num_processes)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", count]
    os.execv(sys.executable, torchrun + sys.orig_argv[1:])


def refuse_launcher_options() -> None:
    """Refuse options of the launcher that the training loop does not support.

    Raises:
        ConfigError: The launcher was asked to accumulate gradients, which only ``run.accumulate`` may do, or to shard
            weights, which the loop keeps whole in every process.
    """
    for option in ("FSDP", "DEEPSPEED", "MEGATRON_LM", "PARALLELISM_CONFIG"):
        if os.environ.get(f"ACCELERATE_USE_{option}", "false").lower() == "true":
            name = f"--use_{option.lower()}"
            raise ConfigError(f"{name} of the launcher is not supported; model.lora trains large encoders")
    count = os.environ.get("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "1")
    if words := _launch_words():  # with one process, the launcher does not pass it on
        count = str(launch_command_parser().parse_args(words).gradient_accumulation_steps or count)
    if count != "1":
        raise ConfigError(f"run.accumulate: set it to {count} instead of --gradient_accumulation_steps of the launcher")


def launched_precision(setting: Precision) -> Precision:
    """Return ``run.precision``, or the launcher's ``--mixed_precision bf16`` where the setting leaves it open.

    Raises:
        ConfigError: The launcher was asked for another precision than the setting.
    """
    launched = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")  # "no" is also the launcher's default
    if launched == "no" or launched == setting:
        return setting
    if launched != "bf16" or setting != "auto":
        raise ConfigError(f"run.precision: {setting}, but --mixed_precision of the launcher is {launched}")
    return "bf16"


def _launch_words() -> list[str]:
    """Return the arguments of the ``accelerate launch`` that started this process; [] if something else did."""
    launcher = psutil.Process().parent()
    words = launcher.cmdline() if launcher else []
    ends = (end for end in range(1, len(words) + 1) if _LAUNCHER.search(" ".join(words[:end])))
    start = next(ends, len(words))
    return words[start:]


def gather_with_own_gradient(accelerator: Accelerator, features: Tensor) -> Tensor:
    """Gather features [b, d] of all processes to [world * b, d], with gradients for this process's rows only.

    Every process then computes the same loss over all rows. The gradients of own rows, summed over processes, are the
    gradient of that loss; DDP averages, so scale them by the number of processes. The backward pass needs no
    communication.
    """
    world = accelerator.num_processes
    if world == 1:
        return features
    rows = list(accelerator.gather(features.detach()).split(len(features)))
    local = rows[accelerator.process_index] = features.view_as(features)
    if local.requires_grad:
        local.register_hook(lambda gradient: gradient * world)
    return torch.cat(rows)


def weight_of_mean(accelerator: Accelerator, count: Tensor | int) -> Tensor:
    """Weight a mean over ``count`` items of this process so that DDP's mean over processes is the mean over all items.

    Returns:
        A scalar; 1 in a single process, 0 without items.
    """
    local = torch.ones((), device=accelerator.device) * count
    total = accelerator.reduce(local, "sum") if accelerator.num_processes > 1 else local
    return local * accelerator.num_processes / total.clamp(min=1)


def in_shares(compute: Callable[[np.ndarray], np.ndarray], count: int) -> np.ndarray:
    """Compute rows [count, ...] for numbers 0 to ``count`` - 1, each process a share of them; returns all everywhere.

    Args:
        compute: Numbers [m] -> rows [m, ...].
    """
    state = PartialState()
    if state.num_processes == 1:  # without a copy
        return compute(np.arange(count))
    shares = [np.arange(first, count, state.num_processes) for first in range(state.num_processes)]
    local = compute(shares[state.process_index])
    rows = np.empty((count, *local.shape[1:]), local.dtype)
    for share, computed in zip(shares, gather_object([local]), strict=True):
        rows[share] = computed
    return rows


def encode_in_shares(model: QuestionEncoder, bank: QuestionBank, **options: Any) -> np.ndarray:
    """Encode a bank, each process a share: [n, h] in all of them; options as of `tqnet.modeling.encode.encode`."""
    return in_shares(lambda rows: model.encode(bank.select(rows), **options), len(bank))


class HostFlags:
    """Agreement of all processes on flags of their hosts, without waiting for a device."""

    def __init__(self, accelerator: Accelerator):
        several = accelerator.num_processes > 1
        self._group: Any = torch.distributed.new_group(backend="gloo") if several else None

    def any(self, flag: bool) -> bool:
        """Return whether ``flag`` is set on any process."""
        if self._group is None:
            return flag
        flags = torch.tensor([flag], dtype=torch.uint8)
        torch.distributed.all_reduce(flags, torch.distributed.ReduceOp.MAX, group=self._group)
        return bool(flags)


class Interrupted(SystemExit):
    """Exit on Ctrl-C or SIGTERM, with code 130 or 143. The state is saved after the first signal."""


def leave_signals_to_the_run(worker: int) -> None:
    """Ignore SIGINT and SIGTERM in a data worker.

    A worker killed by a signal to the whole group would take down training before the state is saved.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def kill_workers() -> None:
    """Kill leftover workers at exit: they ignore the SIGTERM that Python would send."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler raises when a worker is killed
    for process in multiprocessing.active_children():
        if process.daemon:
            process.kill()


class Signals:
    """Records the first SIGINT or SIGTERM in its block for the loop to check; the second exits at once.

    Attributes:
        number: The signal received; 0 for none.
    """

    number = 0

    @property
    def exit_code(self) -> int:
        """The shell's exit code; SIGTERM's if the signal went to another process."""
        return 128 + (self.number or signal.SIGTERM)

    def __enter__(self) -> Signals:
        self._before = {n: signal.signal(n, self._remember) for n in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.number:
            raise Interrupted(128 + number)
        self.number = number
