"""The processes of a run: how they are started, what they share, and how they end."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from types import FrameType

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
    if sys.platform == "linux" and _launch_words():
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def start_missing_processes() -> None:
    """Turn into torchrun with N processes where accelerate was asked for N and started one.

    ``accelerate launch --cpu --num_processes N`` leaves it to MPI to start them. Without MPI, accelerate 1.15 tells its
    one process by MASTER_ADDR alone that there shall be several; how many stands on its own command line. Does nothing
    where all are there.

    Raises:
        ConfigError: They are missing, and nothing says how many.
    """
    # The state is asked last: made before the Accelerator it knows nothing of ACCELERATE_USE_CPU, and under torchrun
    # it would stay alone.
    if "MASTER_ADDR" not in os.environ or "WORLD_SIZE" in os.environ or PartialState().num_processes > 1:
        return
    words = _launch_words()
    options = launch_command_parser().parse_args(words) if words else None
    if options is None or options.num_processes is None or options.num_machines not in (None, 1):
        raise ConfigError(
            "several processes were asked for and one was started; start them by: "
            "ACCELERATE_USE_CPU=true torchrun --nproc_per_node N RECIPE SETTINGS"
        )
    count = str(options.num_processes)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", count]
    os.execv(sys.executable, torchrun + sys.orig_argv[1:])


def _launch_words() -> list[str]:
    """What the ``accelerate launch`` that started this process was given; nothing where something else started it."""
    launcher = psutil.Process().parent()
    words = launcher.cmdline() if launcher else []
    start = next((place for place, word in enumerate(words, 1) if word.endswith(("launch", "launch.py"))), None)
    return [] if start is None else words[start:]


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
    local = rows[accelerator.process_index] = features.view_as(features)
    if local.requires_grad:
        local.register_hook(lambda gradient: gradient * world)
    return torch.cat(rows)


def weight_of_mean(accelerator: Accelerator, count: Tensor | int) -> Tensor:
    """Weight of a mean over ``count`` items of this process, so that DDP's mean over processes is that over all items.

    Returns:
        A scalar, 1 in a single process; 0 where no process has an item.
    """
    local = torch.as_tensor(count, device=accelerator.device, dtype=torch.float32)
    total = accelerator.reduce(local, "sum") if accelerator.num_processes > 1 else local
    return local * accelerator.num_processes / total.clamp(min=1)


def any_process(accelerator: Accelerator, flag: bool) -> bool:
    """Whether ``flag`` is set on any process."""
    if accelerator.num_processes == 1:
        return flag
    return bool(accelerator.reduce(torch.tensor(float(flag), device=accelerator.device), "sum") > 0)


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

    number = 0

    @property
    def exit_code(self) -> int:
        """As a shell gives it; that of SIGTERM where another process was asked to stop."""
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
