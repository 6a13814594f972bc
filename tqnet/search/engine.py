"""The contract of a search engine, and where an index keeps its records: LanceDB files or a Milvus collection.

One test suite holds every engine to the contract:

- Writes are acknowledged: what a call wrote survives a kill of the process, and every later call reads it.
- Higher scores are better: the cosine of vectors, or BM25 of words in the engine's own variant. Ties are broken by id.
- ``add`` writes all records of a call or none; if the writer is killed, Milvus may keep some of them, each complete.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tqnet.errors import NO_SERVER, first_line
from tqnet.search.records import OPTIONAL, Filter, schema, table_rows

if TYPE_CHECKING:
    from tqnet.search.milvus import MilvusServer

#: Text column -> weight of its BM25 score. Chosen on opl's `valid`.
BOOSTS = {"stem": 1.0, "concepts": 2.0}

T = TypeVar("T")

_COUNT = "records.json"

#: The tables of an index: its questions, and their figures (`tqnet.search.figures`).
Table = Literal["questions", "figures"]

#: Table -> its folder among the files of a version.
_FOLDERS: dict[Table, str] = {"questions": "lance", "figures": "figures"}


class Hit(NamedTuple):
    """A search result, with the requested columns (`tqnet.search.records.table_rows`)."""

    id: str
    score: float
    row: Mapping[str, Any] = MappingProxyType({})


class EngineError(OSError):
    """The engine's data is missing or damaged, or its server does not answer."""


class NoServerError(EngineError):
    """The server does not answer."""

    exit_code = NO_SERVER


class DuplicateIdError(ValueError):
    """A new record has the id of another one."""


class SearchEngine(ABC):
    """Keeps records (`tqnet.search.records.schema`) and finds them by vector and by words."""

    schema: pa.Schema

    def add(self, records: pa.Table, *, known_new: bool = False) -> None:
        """Write new records; with ``known_new``, without checking whether their ids exist.

        Raises:
            DuplicateIdError, FieldError: See :meth:`check`; nothing was written.
        """
        self.check(records, known_new=known_new)
        self._write(records, replace=False)

    def put(self, records: pa.Table) -> None:
        """Insert or replace records by id; not for concurrent writers.

        Raises:
            DuplicateIdError, FieldError: See :meth:`check`; nothing was written.
        """
        self.check(records, known_new=True)
        self._write(records, replace=True)

    def check(self, records: pa.Table, *, known_new: bool = False) -> None:
        """Check that ``records`` can be written.

        Raises:
            DuplicateIdError: An id occurs twice or, unless ``known_new``, exists already.
            FieldError: A value is too long for the engine.
        """
        counts = pc.value_counts(records["id"]).to_pylist()
        if repeated := sorted(entry["values"] for entry in counts if entry["counts"] > 1):
            raise DuplicateIdError(f"{repeated[0]}: two of the records have this id ({len(repeated):,} such ids)")
        known = [] if known_new else self.get(records["id"].to_pylist(), ["id"])["id"].to_pylist()
        if known:
            raise DuplicateIdError(f"{min(known)}: there is a record of this id already ({len(known):,} such ids)")

    def delete(self, ids: Collection[str]) -> int:
        """Remove records; return the number that existed."""
        known = self.get(sorted(set(ids)), ["id"])["id"].to_pylist()
        self.remove(list(id_filters(known)))
        return len(known)

    def get(self, ids: Sequence[str], columns: Sequence[str] | None = None) -> pa.Table:
        """Return ``columns``, by default all, of the records of ``ids``, in their order and without unknown ones."""
        columns = list(dict.fromkeys(("id", *(columns or self.schema.names))))
        pieces = [self.select(chunk, columns, len(chunk.values)) for chunk in id_filters(list(dict.fromkeys(ids)))]
        table = pa.concat_tables([self.schema.empty_table().select(columns), *pieces])
        rows = {id: row for row, id in enumerate(table["id"].to_pylist())}
        return table.take(pa.array([rows[id] for id in ids if id in rows], pa.int64()))

    @abstractmethod
    def _write(self, records: pa.Table, replace: bool) -> None: ...

    @abstractmethod
    def remove(self, where: Sequence[Filter]) -> None:
        """Remove the records of each filter."""

    @abstractmethod
    def select(self, where: Filter, columns: Sequence[str], limit: int) -> pa.Table:
        """Return ``columns`` of at most ``limit`` records that meet ``where``, in no particular order."""

    @abstractmethod
    def by_vector(
        self, vector: np.ndarray, k: int, where: Sequence[Filter] = (), columns: Sequence[str] = ()
    ) -> list[Hit]:
        """Return the ``k`` records that meet ``where`` with the highest cosine to ``vector`` [width], best first.

        Args:
            columns: Columns to read with each hit.
        """

    @abstractmethod
    def by_words(
        self, words: Mapping[str, Sequence[str]], k: int, where: Sequence[Filter] = (), columns: Sequence[str] = ()
    ) -> list[Hit]:
        """Return the ``k`` records that meet ``where`` with the highest BM25 of ``words`` by text column, best first.

        Scores of the columns are added with the weights `BOOSTS`; records without any of the words are left out.
        """

    def _with_rows(self, hits: Sequence[Hit], columns: Sequence[str]) -> list[Hit]:
        """Return hits with ``columns``, without those deleted in the meantime."""
        if not columns:
            return list(hits)
        rows = {row["id"]: row for row in table_rows(self.get([hit.id for hit in hits], columns))}
        return [hit._replace(row=rows[hit.id]) for hit in hits if hit.id in rows]

    @abstractmethod
    def count(self, where: Sequence[Filter] = ()) -> int:
        """Return the number of records that meet ``where``."""

    @abstractmethod
    def scan(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield all records in pieces, in no particular order."""

    @abstractmethod
    def optimize(self) -> None:
        """Bring the indexes up to date; searches are complete without it, and faster after it."""

    def version(self) -> int | None:
        """Return a number that changes with every write of any process; None if the engine has none."""
        return None

    def close(self) -> None:  # noqa: B027 - an embedded engine has nothing to close
        """Close the connection to a server."""

    def export(self, folder: Path) -> int:
        """Write all records as Parquet files to the new ``folder``; return their number."""
        folder.mkdir(parents=True)
        count = 0
        for number, table in enumerate(self.scan()):
            pq.write_table(table, folder / f"records-{number:05d}.parquet")
            count += len(table)
        (folder / _COUNT).write_text(json.dumps({"records": count}), encoding="utf-8")
        return count

    def restore(self, folder: Path) -> int:
        """Add the records that :meth:`export` wrote; return their number.

        Raises:
            EngineError: ``folder`` holds no export, or an incomplete one.
        """
        expected = _exported(folder / _COUNT, lambda file: int(json.loads(file.read_text(encoding="utf-8"))["records"]))
        files = sorted(folder.glob("records-*.parquet"))
        present = sum(_exported(file, pq.read_metadata).num_rows for file in files)
        if present != expected:
            raise EngineError(f"{folder}: {present:,} of {expected:,} records; files are missing or of another export")
        for file in files:
            self.add(_exported(file, lambda file: pq.read_table(file).select(schema(0).names)))
        return expected


def _exported(file: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(file)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{file}: not written by tqnet index export ({first_line(error)})") from None


#: Limit -> hits, and the highest score that any other record can have; None if there are no others.
Search = Callable[[int], tuple[list[Hit], float | None]]


def top_hits(search: Search, k: int) -> list[Hit]:
    """Return the ``k`` best hits, ties broken by id.

    An engine cuts its list anywhere among equal scores, so the limit grows until the cut is after the ties.
    """
    limit = k + 16
    while True:
        hits, bound = search(limit)
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        if bound is None or (len(hits) >= k and bound < hits[k - 1].score):
            return hits[:k]
        limit *= 4


def lowest(hits: Sequence[Hit], limit: int) -> float | None:
    """Return the lowest score of a list that was cut at ``limit``; None for a complete list."""
    return min(hit.score for hit in hits) if len(hits) >= limit else None


def rounded(score: float) -> float:
    """Round a BM25 score so that equal texts score equally."""
    return float(f"{score:.6g}")


def id_filters(ids: Sequence[str], size: int = 1000) -> Iterator[Filter]:
    """Yield filters for ``ids``, each with as many as a condition may name."""
    for start in range(0, len(ids), size):
        yield Filter("id", "=", tuple(ids[start : start + size]))


def write_conditions(where: Sequence[Filter], contains_any: str, brackets: str, quote: Callable[[str], str]) -> str:
    """Write filters that must all hold in an engine's language.

    Args:
        contains_any: Name of the function that looks for values in an array.
        brackets: Brackets around the values of a set.
        quote: Text -> literal.
    """
    parts = []
    for condition in where:
        field, sign = condition.field, condition.sign
        values = ", ".join(quote(value) if isinstance(value, str) else repr(value) for value in condition.values)
        negation = "" if sign == "=" else "not "
        if field == "concept":
            part = f"{negation}{contains_any}(concept, [{values}])"
        elif sign in ("=", "!="):
            missing = f"{field} is null or " if negation and field in OPTIONAL else ""
            part = f"{missing}{field} {negation}in {brackets[0]}{values}{brackets[1]}"
        else:
            part = f"{field} {sign} {values}"
        parts.append(f"({part})")
    return " and ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where an index keeps its records.

    A Milvus collection has a unique name, stored with the version of the index; the collection of the current version
    also has an alias, for other users of the server. So an index keeps its records when its folder is renamed, and the
    leftovers of a killed run are identified by their folder.

    Attributes:
        engine: ``lance`` or ``milvus``.
        uri: URI of the server, ``http://HOST:PORT``.
        collection: The alias.
        records: The unique name of the collection; empty before it exists.
        shards, replicas: See `tqnet.search.milvus.MilvusEngine`.

    Raises:
        ValueError: The engine is unknown, or its settings are missing or malformed.
    """

    engine: str = "lance"
    uri: str = ""
    collection: str = ""
    records: str = ""
    shards: int = 1
    replicas: int = 1

    def __post_init__(self) -> None:
        if self.engine not in ("lance", "milvus"):
            raise ValueError(f"engine: {self.engine!r} is not one of lance, milvus")
        if self.engine == "lance":
            if self.uri or self.collection:
                raise ValueError("uri, collection: only for engine milvus; lance keeps its records in files")
            return
        if not re.fullmatch(r"https?://[^@\s]+", self.uri):
            raise ValueError("uri: must be http://HOST:PORT; credentials are read from MILVUS_TOKEN")
        if not re.fullmatch(r"[A-Za-z_]\w{0,199}", self.collection, re.ASCII):
            raise ValueError(f"collection: {self.collection!r} must be at most 200 letters, digits and _")

    @property
    def collections(self) -> dict[Table, str]:
        """The unique name of each table's collection."""
        return {"questions": self.records, "figures": f"{self.records}_figures"}

    def open(self, folder: Path, new_schema: pa.Schema | None = None, table: Table = "questions") -> SearchEngine:
        """Open an engine of the version in ``folder``, or make an empty one with the columns of ``new_schema``.

        Raises:
            EngineError: The records cannot be read, or the server does not answer.
            FileExistsError: A new engine's place is taken.
        """
        if self.engine == "milvus":
            from tqnet.search.milvus import MilvusEngine

            return MilvusEngine(
                self.uri, self.collections[table], new_schema, shards=self.shards, replicas=self.replicas
            )
        from tqnet.search.lance import LanceEngine

        return LanceEngine(folder / _FOLDERS[table], new_schema)

    @contextmanager
    def connected(self) -> Iterator[MilvusServer | None]:
        """Connect to the server, or raise an `EngineError`; yield None for files."""
        if self.engine != "milvus":
            yield None
            return
        from tqnet.search.milvus import MilvusServer

        with closing(MilvusServer(self.uri, self.collection)) as server:
            yield server
