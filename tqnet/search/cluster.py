"""Encoding on a cluster of machines: a pool of Ray Data's actors, each with model and bank, that take whole shards.

A machine that is lost loses no shard: Ray starts its actors, and what they had in hand, anew where there is room.
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

# Read at import. Ray's core warns of every pool's arguments on stderr; what goes wrong is raised all the same.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")

import ray
import ray.data

#: Seconds that a cluster may take to answer.
PATIENCE = 60

_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}

#: In a process of its own, since Ray does not give up an address that is silent before two minutes, and then exits.
_PROBE = f"import sys, ray; ray.init(sys.argv[1], **{_QUIET})"


class ClusterError(ValueError):
    """No cluster answers, it has no room for a worker, or a worker cannot do its part."""


@contextmanager
def connected(address: str) -> Iterator[None]:
    """This process is part of a cluster.

    Args:
        address: ``HOST:PORT``, ``auto`` for the cluster that this machine is part of, or ``local`` for a new one of
            this machine alone.

    Raises:
        ClusterError: None answers there within :data:`PATIENCE` seconds.
    """
    if address == "local":
        ray.init("local", include_dashboard=False, **_QUIET)
    else:
        _probe(address)
        ray.init(address, **_QUIET)
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
    """Whether the cluster does."""
    return ray.cluster_resources().get("GPU", 0) > 0


@dataclass(frozen=True)
class Workers:
    """Who encodes shards on the cluster that this process is part of (`tqnet.search.build.EncodeShards`).

    Attributes:
        load: Called once by each worker.
        count: By default as many as there is room for at the start.
        cpus, gpus: Of each worker; torch computes with as many threads as it has CPUs.
    """

    load: Callable[[], Encode]
    count: int | None = None
    cpus: int = 1
    gpus: int = 0

    def __call__(self, bank: QuestionBank, shards: Mapping[int, range]) -> Iterator[tuple[int, np.ndarray]]:
        """Number and vectors of each shard as it is done.

        Args:
            bank: One with a path, under which the workers find it too.

        Raises:
            ClusterError: No machine has room for a worker; one cannot read bank, figures or model, or finds others.
        """
        if not shards:
            return
        try:
            for done in self._encoded(bank, shards).iter_rows():
                if done["fault"]:
                    raise ClusterError(f"machine {done['machine']}: {done['fault']}")
                if done["fingerprint"] != bank.select(shards[done["number"]]).fingerprint:
                    raise ClusterError(f"machine {done['machine']}: {bank.path}: other questions or figures than here")
                yield done["number"], done["vectors"]
        except ray.exceptions.RayError as error:
            raise ClusterError(f"Ray: {_last_line(str(error))}") from error

    def _encoded(self, bank: QuestionBank, shards: Mapping[int, range]) -> ray.data.Dataset:
        """A row for each shard; each is a task of its own, so that it is handed over as soon as it is done."""
        if bank.path is None:
            raise ValueError("a bank in memory cannot be encoded on a cluster")
        lines = np.asarray(bank.column("line"))
        tasks = [{"number": number, "lines": lines[rows.start : rows.stop]} for number, rows in shards.items()]
        count = min(self.count or self._room(), len(tasks))
        # A smallest size of one lets the last workers go, in whose room what a lost machine had in hand is started.
        pool = ray.data.ActorPoolStrategy(
            min_size=1, initial_size=count, max_size=count, max_tasks_in_flight_per_actor=2
        )
        return ray.data.from_items(tasks, override_num_blocks=len(tasks)).map(
            _Worker,  # type: ignore[arg-type]
            fn_constructor_args=(bank.path.absolute(), self.load),
            compute=pool,
            num_cpus=self.cpus,
            num_gpus=self.gpus,
        )

    def _room(self) -> int:
        """How many workers the machines take."""
        found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        rooms = [
            min(of.get("CPU", 0) // self.cpus, of.get("GPU", 0) // self.gpus if self.gpus else float("inf"))
            for of in found
        ]
        if not sum(rooms):
            raise ClusterError(
                f"none of {len(found)} machines has the {self.cpus} CPUs and {self.gpus} GPUs of a worker "
                "(--ray-cpus, --ray-gpus)"
            )
        return int(sum(rooms))


class _Worker:
    """Reads bank and model once and encodes one shard after the other."""

    def __init__(self, path: Path, load: Callable[[], Encode]):
        self.path, self.load = path, load

    @cached_property
    def bank(self) -> QuestionBank:
        bank, _ = QuestionBank.read(self.path, None)  # its faults and figures were looked at where the command runs
        return bank

    @cached_property
    def lines(self) -> np.ndarray:
        return np.asarray(self.bank.column("line"))

    @cached_property
    def encode(self) -> Encode:
        return self.load()

    def __call__(self, task: dict[str, Any]) -> dict[str, Any]:
        machine = ray.util.get_node_ip_address()
        done = {"number": task["number"], "machine": machine, "vectors": np.empty((0, 0), np.float32)}
        try:
            rows = np.flatnonzero(np.isin(self.lines, task["lines"]))
            questions = self.bank.select(rows)
            done |= {"fingerprint": questions.fingerprint, "vectors": self.encode(questions), "fault": ""}
        except (OSError, ValueError, ImportError, RuntimeError, MemoryError) as error:
            # As a value: of an exception, Ray Data keeps no more than a trace in words.
            done |= {"fingerprint": "", "fault": str(error) or type(error).__name__}
        return done


def _last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "no reason given")
