"""Ctrl-C and SIGTERM: a run ends with its state saved, not in the middle of a step."""

from __future__ import annotations

import multiprocessing
import signal
from types import FrameType, TracebackType


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
