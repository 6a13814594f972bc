"""Several processes on processors, which ``accelerate launch --cpu --num_processes N`` leaves to MPI to start."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

import psutil
from accelerate import PartialState
from accelerate.commands.launch import launch_command_parser

from tqnet.training.config import ConfigError

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
