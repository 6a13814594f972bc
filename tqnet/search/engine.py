"""What finds records by vector and by words, whatever keeps them.

The contract, which one suite of tests holds every engine to:

- A call that returns is acknowledged: what it wrote is there after the process is killed, and read by every later call.
- Higher scores are better. Vectors score by their cosine; words by BM25, each engine by its own variant, so that
  engines agree on most of what they find and not on the numbers. Equal scores come in order of id.
- ``add`` refuses all records of a call or writes all; of a writer that is killed meanwhile, an engine may keep some,
  each of them whole (Milvus).
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tqnet.errors import first_line
from tqnet.search.records import Filter

if TYPE_CHECKING:
    from tqnet.search.milvus import MilvusServer


#: How much a word counts by the field that it is found in: chosen on opl's `valid`.
BOOSTS = {"stem": 1.0, "concepts": 2.0}

_EXPORTED, _COUNT = "records-{:05d}.parquet", "records.json"


class Hit(NamedTuple):
    """A record that was found."""

    id: str
    score: float


class EngineError(OSError):
    """The engine's data is missing or damaged, or its server does not answer."""


class DuplicateIdError(ValueError):
    """A record to be added has the id of another one."""


class SearchEngine(ABC):
    """Keeps records (`tqnet.search.records.schema`)."""

    @abstractmethod
    def add(self, records: pa.Table, *, known_new: bool = False) -> None:
        """Write records that are new.

        Args:
            known_new: Their ids need not be looked for, as those of a bank, in which each is there once.

        Raises:
            DuplicateIdError: An id is in the engine already, or twice in ``records``; nothing was written.
        """

    @abstractmethod
    def put(self, records: pa.Table) -> None:
        """Write records, each in place of the one of its id where there is one; for one process at a time.

        Raises:
            DuplicateIdError: An id is twice in ``records``; nothing was written.
        """

    @abstractmethod
    def delete(self, ids: Collection[str]) -> int:
        """Remove records; how many there were."""

    @abstractmethod
    def by_vector(self, vector: np.ndarray, k: int, where: Sequence[Filter] = ()) -> list[Hit]:
        """The ``k`` records that meet ``where`` with the highest cosine to ``vector`` ``[width]``, best first."""

    @abstractmethod
    def by_words(
        self,
        words: Mapping[str, Sequence[str]],
        k: int,
        where: Sequence[Filter] = (),
        boosts: Mapping[str, float] = BOOSTS,
    ) -> list[Hit]:
        """The ``k`` records that meet ``where`` with the highest BM25, best first; one without a word is not found.

        Args:
            words: Field -> the words that are looked for in it.
            boosts: Field -> what its score is multiplied by before those of all fields are added.
        """

    @abstractmethod
    def get(self, ids: Sequence[str], columns: Sequence[str] | None = None) -> pa.Table:
        """The records of ``ids`` in their order; those that are not there are left out.

        Args:
            columns: Of the records, beside ``id``; all by default.
        """

    @abstractmethod
    def count(self, where: Sequence[Filter] = ()) -> int:
        """How many records meet ``where``."""

    @abstractmethod
    def scan(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All records, piece by piece, in no order."""

    @abstractmethod
    def optimize(self) -> None:
        """Bring the indexes up to date with what was written: searches find it anyway, and faster then."""

    def version(self) -> int | None:
        """Another one after every write, by whichever process; None where the engine cannot tell."""
        return None

    def close(self) -> None:  # noqa: B027 - an embedded engine has nothing to close
        """Let go of a server."""

    def export(self, folder: Path) -> int:
        """All records as Parquet files of ``folder``, which must be new, and how many they are; that number."""
        folder.mkdir(parents=True)
        count = 0
        for number, table in enumerate(self.scan()):
            pq.write_table(table, folder / _EXPORTED.format(number))
            count += len(table)
        if not count:
            pq.write_table(self.get([]), folder / _EXPORTED.format(0))
        (folder / _COUNT).write_text(json.dumps({"records": count}), encoding="utf-8")
        return count

    def restore(self, folder: Path) -> int:
        """Add what :meth:`export` wrote; how many records.

        Raises:
            EngineError: There is nothing of that kind in ``folder``, or not all of it.
        """
        try:
            expected = int(json.loads((folder / _COUNT).read_text(encoding="utf-8"))["records"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EngineError(f"{folder / _COUNT}: not as tqnet index export writes it ({first_line(error)})") from None
        files = sorted(folder.glob("records-*.parquet"))
        present = sum(_rows(file) for file in files)
        if present != expected:
            raise EngineError(f"{folder}: {present:,} of {expected:,} records; files are missing or of another export")
        for file in files:
            with _as_exported(file):
                self.add(pq.read_table(file))
        return expected


@contextmanager
def _as_exported(file: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, pa.ArrowInvalid) as error:
        raise EngineError(f"{file}: not as tqnet index export writes it ({first_line(error)})") from None


def _rows(file: Path) -> int:
    with _as_exported(file):
        return int(pq.read_metadata(file).num_rows)


def best(found: Callable[[int], tuple[list[Hit], float | None]], k: int) -> list[Hit]:
    """The first ``k`` of what is found, equal scores in order of id.

    An engine cuts its list anywhere among equal scores, so more are asked for until the cut lies behind them.

    Args:
        found: Limit -> hits, and the most that one which is not among them can score; None where that is all.
    """
    limit = k + 16
    while True:
        hits, rest = found(limit)
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        if rest is None or (len(hits) >= k and rest < hits[k - 1].score):
            return hits[:k]
        limit *= 4


def unseen(hits: Sequence[Hit], limit: int) -> float | None:
    """The most that a record behind a list of ``limit`` hits can score; None where the list is not full."""
    return min(hit.score for hit in hits) if len(hits) >= limit else None


def refuse_twice(records: pa.Table) -> None:
    """Whether every id is there once.

    Raises:
        DuplicateIdError: One is not.
    """
    twice = sorted(entry["values"] for entry in pc.value_counts(records["id"]).to_pylist() if entry["counts"] > 1)
    if twice:
        raise DuplicateIdError(f"{twice[0]}: two of the records have this id ({len(twice):,} such ids)")


def refuse_known(ids: Collection[str]) -> None:
    """Whether no record is there already.

    Args:
        ids: Those of the new ones that are.

    Raises:
        DuplicateIdError: There are some.
    """
    if ids:
        raise DuplicateIdError(f"{min(ids)}: there is a record of this id already ({len(ids):,} such ids)")


def portions(ids: Sequence[str], size: int = 1000) -> Iterator[tuple[str, ...]]:
    """As many ids at a time as a condition may name."""
    for start in range(0, len(ids), size):
        yield tuple(ids[start : start + size])


# Where an index's records are: in files of its folder (LanceDB), or in a collection of a server (Milvus).
#
# A collection has a name of its own, which the index remembers, and an alias, which the server's other users know; an
# index that replaces another one has another collection. So a folder that takes its name takes its records with it, and
# what a killed run has left is known by its folder.


#: Folder of LanceDB's files.
_DATA = "lance"

ENGINES = ("lance", "milvus")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where records are.

    Attributes:
        engine: One of `ENGINES`.
        uri: Of the server, ``http://HOST:PORT``.
        collection: The alias.
        records: The collection's own name; empty where there is none yet.
        shards, replicas: Of the collection (`tqnet.search.milvus.MilvusEngine`).

    Raises:
        ValueError: There is no such engine, or what it needs is missing or not as it should be.
    """

    engine: str = "lance"
    uri: str = ""
    collection: str = ""
    records: str = ""
    shards: int = 1
    replicas: int = 1

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"engine: {self.engine!r} is none of {', '.join(ENGINES)}")
        if self.engine == "lance" and (self.uri or self.collection):
            raise ValueError("uri, collection: of a server; the engine of this one is lance, its records are files")
        if self.engine == "milvus" and not re.fullmatch(r"https?://[^@\s]+", self.uri):
            raise ValueError("uri: must be http://HOST:PORT; who one is, is said by MILVUS_TOKEN")
        if self.engine == "milvus" and not re.fullmatch(r"[A-Za-z_]\w{0,199}", self.collection, re.ASCII):
            raise ValueError(f"collection: {self.collection!r} must be letters, digits and _, 200 at most")


P = TypeVar("P", bound=Place)


def named(place: P) -> P:
    """The same with a name for a new collection, if it is one."""
    return replace(place, records=f"{place.collection}_{uuid.uuid4().hex}") if place.engine == "milvus" else place


def create_engine(folder: Path, place: Place, columns: pa.Schema) -> SearchEngine:
    """A new one without records.

    Raises:
        FileExistsError, EngineError: There is one, or the server does not answer.
    """
    return _engine(folder, place, columns)


def open_engine(folder: Path, place: Place) -> SearchEngine:
    """That of the index in ``folder``.

    Raises:
        EngineError: Its records cannot be read.
    """
    return _engine(folder, place, None)


def _engine(folder: Path, place: Place, columns: pa.Schema | None) -> SearchEngine:
    if place.engine == "milvus":
        from tqnet.search.milvus import MilvusEngine

        return MilvusEngine(place.uri, place.records, columns, shards=place.shards, replicas=place.replicas)
    from tqnet.search.lance import LanceEngine

    return LanceEngine(folder / _DATA, columns)


def check_free(place: Place, replaced: Place | None = None) -> None:
    """Whether no other index has the alias.

    Args:
        replaced: The index that may have it.

    Raises:
        FileExistsError: One has it.
        EngineError: The server does not answer.
    """
    if place.engine != "milvus":
        return
    server = _server(place)
    own = server.names_of(replaced.records) if replaced and replaced.uri == place.uri else []
    if server.has(place.collection) and place.collection not in own:
        raise FileExistsError(f"{place.uri}: there is a collection {place.collection} already; choose another name")


def give_alias(place: Place) -> None:
    """Make the alias mean these records."""
    if place.engine == "milvus":
        _server(place).give_name(place.records, place.collection)


def remove(folder: Path, place: Place) -> None:
    """Remove an index: its records first, that a killed removal is gone on with."""
    if place.engine == "milvus":
        _server(place).drop(place.records)
    shutil.rmtree(folder)


def _server(place: Place) -> MilvusServer:
    from tqnet.search.milvus import MilvusServer

    return MilvusServer(place.uri, place.collection)
