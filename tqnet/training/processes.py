"""Several processes on processors, which ``accelerate launch --cpu --num_processes N`` leaves to MPI to start."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from types import FrameType, TracebackType

import psutil
import torch
from accelerate import Accelerator, PartialState
from accelerate.commands.launch import launch_command_parser
from torch import Tensor

from tqnet.config import ConfigError

#: PR_SET_PDEATHSIG of linux/prctl.h.
_SET_PARENT_DEATH_SIGNAL = 1


def follow_launcher() -> None:
    """End, with the state saved, where ``accelerate launch`` is ended by SIGTERM: it hands that on to nobody.

    On Linux alone; elsewhere the recipe trains on.
    """
    launcher = psutil.Process().parent()
    if sys.platform == "linux" and launcher is not None and _launch_words(launcher):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def start_missing_processes() -> None:
    """Turn into torchrun with N processes where accelerate was asked for N and started one.

    Without MPI, accelerate 1.15 tells its one process by MASTER_ADDR alone that there shall be several; how many
    stands on its own command line. Does nothing where all are there.

    Raises:
        ConfigError: They are missing, and nothing says how many.
    """
    # The state is asked last: made before the Accelerator it knows nothing of ACCELERATE_USE_CPU, and under torchrun
    # it would stay alone.
    if "MASTER_ADDR" not in os.environ or "WORLD_SIZE" in os.environ or PartialState().num_processes > 1:
        return
    count = _processes_asked_for(psutil.Process().parent())
    if count is None:
        raise ConfigError(
            "several processes were asked for and one was started; start them by: "
            "ACCELERATE_USE_CPU=true torchrun --nproc_per_node N RECIPE SETTINGS"
        )
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count)]
    os.execv(sys.executable, torchrun + sys.orig_argv[1:])


def _processes_asked_for(launcher: psutil.Process | None) -> int | None:
    """``--num_processes`` of an ``accelerate launch`` on one machine; None where ``launcher`` is none such."""
    words = _launch_words(launcher) if launcher else []
    if not words:
        return None
    asked = launch_command_parser().parse_args(words)
    return asked.num_processes if asked.num_machines in (None, 1) else None


def _launch_words(process: psutil.Process) -> list[str]:
    """What ``accelerate launch`` was given; nothing where the process is another."""
    words = process.cmdline()
    start = next((place for place, word in enumerate(words, 1) if word.endswith(("launch", "launch.py"))), None)
    return [] if start is None else words[start:]


# What several processes share.


def gather_with_own_gradient(accelerator: Accelerator, features: Tensor) -> Tensor:
    """Features [b, d] of every process as [world * b, d]; the gradient flows into this process's own rows.

    Every process then computes the same loss over all rows. Summed over processes, the gradients of own
    rows are the gradient of that loss; DDP takes their mean instead, so they are scaled here by the number
    of processes. No communication is needed in the backward pass.
    """
    world = accelerator.num_processes
    if world == 1:
        return features
    rows = list(accelerator.gather(features.detach()).split(len(features)))
    own = rows[accelerator.process_index] = features.view_as(features)
    if own.requires_grad:
        own.register_hook(lambda gradient: gradient * world)
    return torch.cat(rows)


def weight_of_mean(accelerator: Accelerator, count: Tensor | int) -> Tensor:
    """Of a mean over ``count`` items of this process, so that DDP's mean over processes is that over all items.

    Returns:
        A scalar, 1 in a single process; 0 where no process has an item.
    """
    own = torch.as_tensor(count, device=accelerator.device, dtype=torch.float32)
    everyone = accelerator.reduce(own, "sum") if accelerator.num_processes > 1 else own
    return own * accelerator.num_processes / everyone.clamp(min=1)


def any_process(accelerator: Accelerator, flag: bool) -> bool:
    """Whether ``flag`` is set on any process."""
    if accelerator.num_processes == 1:
        return flag
    return bool(accelerator.reduce(torch.tensor(float(flag), device=accelerator.device), "sum") > 0)


# Ctrl-C and SIGTERM: a run ends with its state saved, not in the middle of a step.


class Interrupted(SystemExit):
    """Ctrl-C or SIGTERM; exit code 130 or 143. After the first of them the state is saved."""


def leave_signals_to_the_run(worker: int) -> None:
    """For a process that loads data: a signal that the whole group gets is the training's to answer.

    A worker that died of it would take the training along before the state is saved.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def kill_workers() -> None:
    """For the exit: after an error workers may be left, and SIGTERM, by which Python would end them, they ignore."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler raises when a worker is killed
    for process in multiprocessing.active_children():
        if process.daemon:
            process.kill()


class Signals:
    """Remembers the first SIGINT or SIGTERM within its block, for the loop to look at; the second ends at once.

    Attributes:
        number: Of the signal that came, 0 while none has.
    """

    def __init__(self) -> None:
        self.number = 0

    @property
    def exit_code(self) -> int:
        """As a shell gives it; that of SIGTERM where another process was asked to stop."""
        return 128 + (self.number or signal.SIGTERM)

    def __enter__(self) -> Signals:
        self._before = {n: signal.signal(n, self._remember) for n in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.number:  # asked twice: at once
            raise Interrupted(128 + number)
        self.number = number
