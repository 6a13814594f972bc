"""Encode on a cluster: a pool of Ray Data actors, each with model and bank, that take whole shards.

No shard is lost with a machine: Ray restarts its actors and their tasks where there is room.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tqnet.questions import QuestionBank

if TYPE_CHECKING:
    from tqnet.search.build import Encode

# Read at import. Ray's core warns about the arguments of every pool on stderr; errors are raised anyway.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")

import ray
import ray.data

#: Seconds to wait for a cluster.
PATIENCE = 60

_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}

#: Runs in a subprocess: Ray tries a silent address for two minutes, and then exits the process.
_PROBE = f"import sys, ray; ray.init(sys.argv[1], **{_QUIET})"


class ClusterError(ValueError):
    """No cluster answers, the cluster has no room for a worker, or a worker fails."""


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect this process to a cluster.

    Args:
        address: ``HOST:PORT``, ``auto`` for this machine's cluster, or ``local`` for a new one of this machine alone.

    Raises:
        ClusterError: No cluster answers within :data:`PATIENCE` seconds.
    """
    if address != "local":
        _probe(address)
    local: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    ray.init(address, **_QUIET, **local)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    try:
        yield
    finally:
        ray.shutdown()


def _probe(address: str) -> None:
    try:
        command = [sys.executable, "-c", _PROBE, address]
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise ClusterError(
            f"--ray {address}: no cluster answers within {PATIENCE} seconds to this machine, which must be part of it"
        ) from None
    except subprocess.CalledProcessError as error:
        raise ClusterError(f"--ray {address}: {_last_line(error.stderr)}") from None


def has_gpus() -> bool:
    """Return True if the cluster has GPUs."""
    return ray.cluster_resources().get("GPU", 0) > 0


@dataclass(frozen=True)
class Workers:
    """Encode shards on the connected cluster (`tqnet.search.build.EncodeShards`).

    Attributes:
        load: Function that loads the encoder, called once by each worker.
        count: Number of workers; by default as many as fit at the start.
        cpus, gpus: CPUs and GPUs per worker; torch uses one thread per CPU.
    """

    load: Callable[[], Encode]
    count: int | None = None
    cpus: int = 1
    gpus: int = 0

    def __call__(self, bank: QuestionBank, shards: Mapping[int, range]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield number and vectors of each shard as it finishes.

        Args:
            bank: A bank with a path, which the workers read, too.

        Raises:
            ClusterError: No machine has room for a worker, or one cannot read bank, figures or model, or reads others.
        """
        if not shards:
            return
        assert bank.path, "the workers read the bank's file"
        lines = np.asarray(bank.column("line"))
        tasks = [{"number": number, "lines": lines[rows.start : rows.stop]} for number, rows in shards.items()]
        count = min(self.count or self._room(), len(tasks))
        try:
            encoded = ray.data.from_items(tasks, override_num_blocks=len(tasks)).map(
                _Worker,  # type: ignore[arg-type]
                fn_constructor_args=(bank.path.absolute(), self.load),
                # A minimum of one releases idle workers at the end, which makes room for the tasks of a lost machine.
                compute=ray.data.ActorPoolStrategy(
                    min_size=1, initial_size=count, max_size=count, max_tasks_in_flight_per_actor=2
                ),
                num_cpus=self.cpus,
                num_gpus=self.gpus,
            )
            for done in encoded.iter_rows():
                if done["fault"]:
                    raise ClusterError(f"machine {done['machine']}: {done['fault']}")
                if done["fingerprint"] != bank.select(shards[done["number"]]).fingerprint:
                    raise ClusterError(f"machine {done['machine']}: {bank.path}: questions or figures differ from here")
                yield done["number"], done["vectors"]
        except ray.exceptions.RayError as error:
            raise ClusterError(f"Ray: {_last_line(str(error))}") from error

    def _room(self) -> int:
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        needs = {"CPU": self.cpus, "GPU": self.gpus}
        room = sum(min(free.get(name, 0) // need for name, need in needs.items() if need) for free in machines)
        if not room:
            raise ClusterError(
                f"none of {len(machines)} machines has {self.cpus} CPUs and {self.gpus} GPUs for a worker "
                "(--ray-cpus, --ray-gpus)"
            )
        return int(room)


class _Worker:
    """Reads bank and model once and encodes shard after shard."""

    def __init__(self, path: Path, load: Callable[[], Encode]):
        self.path, self.load = path, load

    @cached_property
    def bank(self) -> QuestionBank:
        bank, _ = QuestionBank.read(self.path, None)  # checked where the command runs
        return bank

    @cached_property
    def lines(self) -> np.ndarray:
        return np.asarray(self.bank.column("line"))

    @cached_property
    def encode(self) -> Encode:
        return self.load()

    def __call__(self, task: dict[str, Any]) -> dict[str, Any]:
        done = {"number": task["number"], "machine": ray.util.get_node_ip_address(), "fault": "", "fingerprint": ""}
        try:
            questions = self.bank.select(np.flatnonzero(np.isin(self.lines, task["lines"])))
            return done | {"fingerprint": questions.fingerprint, "vectors": self.encode(questions)}
        except (OSError, ValueError, ImportError, RuntimeError, MemoryError) as error:
            # Returned as a value: Ray Data keeps only the text of an exception's traceback.
            return done | {"fault": str(error) or type(error).__name__, "vectors": np.empty((0, 0), np.float32)}


def _last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "no reason given")
