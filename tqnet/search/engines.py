"""Where an index's records are: in files of its folder (LanceDB), or in a collection of a server (Milvus).

A collection has a name of its own, which the index remembers, and an alias, which the server's other users know; an
index that replaces another one has another collection. So a folder that takes its name takes its records with it, and
what a killed run has left is known by its folder.
"""

from __future__ import annotations

import re
import shutil
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from tqnet.search.engine import SearchEngine

if TYPE_CHECKING:
    from tqnet.search.milvus_server import MilvusServer

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
    from tqnet.search.milvus_server import MilvusServer

    return MilvusServer(place.uri, place.collection)
