"""The embedded engine: LanceDB, with tables as files in a folder."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.background_loop import LOOP
from lancedb.db import AsyncConnection
from lancedb.index import FTS, Bitmap, BTree, HnswSq, IvfRq, LabelList
from lancedb.query import AsyncQuery, BooleanQuery, FullTextQuery, MatchQuery, Occur
from lancedb.table import AsyncTable

from tqnet.errors import first_line
from tqnet.search.engine import (
    BOOSTS,
    EngineError,
    Hit,
    SearchEngine,
    lowest,
    rounded,
    top_hits,
    write_conditions,
)
from tqnet.search.kept import Kept
from tqnet.search.records import KEYS, TEXT_FIELDS, Filter, table_rows, unit

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
P = ParamSpec("P")

_TABLE = "questions"

#: Up to this many records, a search compares all vectors: exact, and faster than building a graph.
EXACT = 20_000
#: Up to this many records, a graph of all vectors (HNSW); above, one-bit vectors in partitions (IVF, RaBitQ).
GRAPH = 400_000

#: Number of partitions to search.
_PROBES = 30
#: Oversampling of the one-bit candidates whose full vectors are then compared.
_REFINE = 10
#: Minimum size of the candidate list (ef) of a graph search: shorter ones miss neighbours.
_EF = 64

#: Minimum share of matching records to apply a filter after an oversampled vector search: listing all matching records
#: first takes the longer the more there are.
_WIDE = 0.25
#: Maximum number of filters whose share is cached.
_SHARES = 256

#: Bytes of records cached in memory: some 30,000 records with vectors of 384 components.
_KEPT = 128 * 2**20

#: Search of words in several columns: oversampling of the best by the first column, and its limit.
_DEEPER = 8
_DEEPEST = 2048

#: `optimize` removes versions older than this.
_RECENT = timedelta(hours=1)

_SCALAR_INDEXES: dict[str, BTree | Bitmap | LabelList] = {
    **{field: BTree() for field in ("id", *KEYS, "difficulty")},
    **{field: Bitmap() for field in ("figures", "type", "language", "source")},
    "concept": LabelList(),
}

#: Settings for texts tokenized by `tqnet.text.sentences`.
_WORDS = FTS(
    with_position=False,
    base_tokenizer="whitespace",
    lower_case=False,
    stem=False,
    remove_stop_words=False,
    ascii_folding=False,
    max_token_length=None,
)

#: Errors of the database.
_ERRORS = (RuntimeError, OSError, pa.ArrowException)


def lance_condition(where: Sequence[Filter]) -> str:
    """Write filters that must all hold in LanceDB's SQL."""
    return write_conditions(where, "array_has_any", "()", lambda text: "'" + text.replace("'", "''") + "'")


def _clear_errors(method: F) -> F:
    """Turn errors of the database into an `EngineError` that names its folder."""

    @wraps(method)
    def call(engine: LanceEngine, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(engine, *args, **kwargs)
        except EngineError:
            raise
        except _ERRORS as error:
            raise EngineError(f"{engine.folder}: {first_line(error)}") from error

    return cast(F, call)


def _on_latest(
    method: Callable[Concatenate[LanceEngine, _Snapshot, P], T],
) -> Callable[Concatenate[LanceEngine, P], T]:
    """Pass the latest snapshot to a method; retry with a newer one if its files have been removed meanwhile."""

    @wraps(method)
    def call(engine: LanceEngine, *args: P.args, **kwargs: P.kwargs) -> T:
        version = engine.version()
        try:
            return method(engine, engine._at(version), *args, **kwargs)
        except _ERRORS:
            latest = engine.version()
            if latest == version:
                raise
        return method(engine, engine._at(latest), *args, **kwargs)

    return call


class _Snapshot:
    """The table at a version, with a cache of records read by searches.

    Attributes:
        one_bit: Vectors are indexed with one bit per component.
        words_complete: The word indexes hold all records.
    """

    def __init__(self, database: AsyncConnection, version: int):
        self.version = version
        # A query of the synchronous interface makes several calls, and takes 50 % longer.
        self._table: AsyncTable = LOOP.run(_checkout(database, version))
        indexes = _by_column(LOOP.run(self._table.list_indices()))
        words = [LOOP.run(self._table.index_stats(indexes[field].name)) for field in TEXT_FIELDS if field in indexes]
        self.one_bit = _has_one_bit_vectors(indexes)
        self.words_complete = [stats is not None and not stats.num_unindexed_rows for stats in words] == [True, True]
        self._kept: Kept[int, dict[str, Any]] = Kept(_KEPT, _bytes)

    def query(self) -> AsyncQuery:
        return self._table.query()

    def run(self, query: Any, columns: Sequence[str]) -> pa.Table:
        """Return ``columns`` of the results of a query."""
        return LOOP.run(query.select(list(columns)).to_arrow())

    def read(self, numbers: Sequence[int], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return the records of row numbers, with at least ``columns``; they must not be changed.

        See `tqnet.search.records.table_rows`.
        """
        names = dict.fromkeys(("id", *columns))
        rows = {number: self._kept.get(number) or {} for number in numbers}
        if missing := [number for number, row in rows.items() if not names.keys() <= row.keys()]:
            table = self.run(self._table.take_row_ids(missing), ("_rowid", *names))
            for number, row in zip(table["_rowid"].to_pylist(), table_rows(table.drop_columns("_rowid")), strict=True):
                rows[number] = rows[number] | row
                self._kept.keep(number, rows[number])
        return list(rows.values())  # complete by now


class LanceEngine(SearchEngine):
    """Records in a folder.

    Args:
        schema: Columns of a new table; by default an existing one is opened.
        exact, graph: See :data:`EXACT` and :data:`GRAPH`.

    Raises:
        EngineError: There is no table, or it cannot be read.
        FileExistsError: There is already a table where a new one should go.
    """

    def __init__(self, folder: Path, schema: pa.Schema | None = None, *, exact: int = EXACT, graph: int = GRAPH):
        self.folder, self._exact, self._graph = folder, exact, graph
        # Another process may have written since the last call.
        database = lancedb.connect(str(folder), read_consistency_interval=timedelta(0))
        try:
            if schema is not None:
                self._table = database.create_table(_TABLE, schema=schema)
                for field in TEXT_FIELDS:
                    self._table.create_index(field, config=_WORDS)
            else:
                self._table = database.open_table(_TABLE)
                self._table.count_rows()
        except (ValueError, RuntimeError, OSError) as error:
            if schema is not None and "already exists" in str(error):
                raise FileExistsError(f"{folder}: already holds an index") from error
            raise EngineError(f"{folder}: no readable index ({first_line(error)})") from error
        self.schema = self._table.schema
        # One connection for all snapshots, so that they share its cache of the indexes.
        self._database: AsyncConnection = LOOP.run(lancedb.connect_async(str(folder)))
        self._shares: dict[str, float] = {}
        self._snapshot: _Snapshot | None = None

    @_clear_errors
    def _write(self, records: pa.Table, replace: bool) -> None:
        if replace and len(records):
            self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(records)
        elif len(records):
            self._table.add(records)

    @_clear_errors
    def remove(self, where: Sequence[Filter]) -> None:
        for condition in where:
            self._table.delete(lance_condition([condition]))

    @_clear_errors
    @_on_latest
    def select(self, snapshot: _Snapshot, where: Filter, columns: Sequence[str], limit: int) -> pa.Table:
        return snapshot.run(_filtered(snapshot.query(), [where], limit), columns)

    @_clear_errors
    @_on_latest
    def by_vector(
        self,
        snapshot: _Snapshot,
        vector: np.ndarray,
        k: int,
        where: Sequence[Filter] = (),
        columns: Sequence[str] = (),
    ) -> list[Hit]:
        query = unit(np.asarray(vector, dtype=np.float32)[None])[0]
        share = self._share(where)
        filtered_late = _WIDE <= share < 1
        read = () if filtered_late else columns

        def nearest(limit: int, prefilter: bool = True) -> list[Hit]:
            search = snapshot.query().nearest_to(query).column("vector").distance_type("dot")
            if snapshot.one_bit:
                # As many candidates as `k` needs, even if the limit is a little higher.
                search = search.nprobes(_PROBES).refine_factor(math.ceil(_REFINE * k / limit))
            else:
                search = search.ef(max(_EF, 2 * limit))
            search = _filtered(search, where, limit)
            table = snapshot.run(search if prefilter else search.postfilter(), ("_rowid", "_distance"))
            rows = snapshot.read(table["_rowid"].to_pylist(), (*read, "vector"))
            # A graph's distances are approximate.
            cosines = np.stack([row["vector"] for row in rows]) @ query if rows else np.zeros(0)
            return _hits(rows, np.round(cosines, 6).tolist(), read)

        def search(limit: int) -> tuple[list[Hit], float | None]:
            hits = nearest(math.ceil(1.5 * limit / share), prefilter=False) if filtered_late else []
            if len(hits) < limit:
                hits = nearest(limit)
            return hits, lowest(hits, limit)

        hits = top_hits(search, k)
        return self._with_rows(hits, columns) if filtered_late else hits

    @_clear_errors
    @_on_latest
    def by_words(
        self,
        snapshot: _Snapshot,
        words: Mapping[str, Sequence[str]],
        k: int,
        where: Sequence[Filter] = (),
        columns: Sequence[str] = (),
    ) -> list[Hit]:
        queries: list[FullTextQuery] = [
            MatchQuery(" ".join(terms), field, boost=BOOSTS[field])  # type: ignore[call-arg]
            for field, terms in words.items()
            if terms
        ]
        if not queries:
            return []
        if len(queries) == 1:
            return top_hits(partial(self._by_text, snapshot, queries[0], where, columns), k)
        hits = top_hits(partial(self._by_sum, snapshot, queries, where, columns), k)
        return hits if hits and hits[0].row else self._with_rows(hits, columns)

    def _by_text(
        self,
        snapshot: _Snapshot,
        query: FullTextQuery,
        where: Sequence[Filter],
        columns: Sequence[str],
        limit: int,
    ) -> tuple[list[Hit], float | None]:
        table = snapshot.run(_filtered(snapshot.query().nearest_to_text(query), where, limit), ("_rowid", "_score"))
        scores = dict(zip(table["_rowid"].to_pylist(), table["_score"].to_pylist(), strict=True))
        hits = _hits(snapshot.read(list(scores), columns), list(map(rounded, scores.values())), columns)
        return hits, lowest(hits, limit)

    def _by_sum(
        self,
        snapshot: _Snapshot,
        queries: Sequence[FullTextQuery],
        where: Sequence[Filter],
        columns: Sequence[str],
        limit: int,
    ) -> tuple[list[Hit], float | None]:
        """Search by the sum over columns, without scoring every record with any of the words.

        A record that is not among the best of the first column scores at most as much there as the last of them, and at
        most the best score in each other column (the threshold algorithm: Fagin, Lotem and Naor, 2003).
        """

        def scores(query: FullTextQuery, where: Sequence[Filter], limit: int) -> dict[str, float]:
            table = snapshot.run(_filtered(snapshot.query().nearest_to_text(query), where, limit), ("id", "_score"))
            return dict(zip(table["id"].to_pylist(), table["_score"].to_pylist(), strict=True))

        first, *others = queries
        deeper = _DEEPER * limit
        # LanceDB computes BM25 of not yet indexed records among themselves, after the filter.
        feasible = snapshot.words_complete and deeper <= _DEEPEST
        sums = scores(first, where, deeper) if feasible else {}
        if len(sums) < deeper:  # score all
            every = BooleanQuery([(Occur.SHOULD, query) for query in queries])
            return self._by_text(snapshot, every, where, columns, limit)
        bound = min(sums.values())
        same_ids = [Filter("id", "=", tuple(sums))]
        for query in others:
            bound += max(scores(query, where, 1).values(), default=0.0)
            for id, score in scores(query, same_ids, deeper).items():
                sums[id] += score
        return [Hit(id, rounded(score)) for id, score in sums.items()], rounded(bound)

    @_clear_errors
    def count(self, where: Sequence[Filter] = ()) -> int:
        return self._table.count_rows(lance_condition(where) or None)

    def scan(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        try:
            search = self._table.search().select(list(columns or self.schema.names)).limit(self.count())
            for batch in search.to_batches(4096):
                yield pa.Table.from_batches([batch])
        except _ERRORS as error:
            raise EngineError(f"{self.folder}: {first_line(error)}") from error

    @_clear_errors
    def optimize(self) -> None:
        indexes = _by_column(self._table.list_indices())
        for field, config in _SCALAR_INDEXES.items():
            if field not in indexes:
                self._table.create_index(field, config=config)
        size = self.count()
        if size > self._graph and not _has_one_bit_vectors(indexes):
            partitions = max(1, round(math.sqrt(size)))
            self._table.create_index("vector", config=IvfRq(distance_type="dot", num_partitions=partitions))
        elif self._exact < size <= self._graph and "vector" not in indexes:
            self._table.create_index("vector", config=HnswSq(distance_type="dot", num_partitions=1))
        # The version that was current until now may go, too: its readers retry (`_on_latest`).
        self._table.optimize(cleanup_older_than=_RECENT)

    @_clear_errors
    def version(self) -> int:
        return self._table.version  # another process may have written

    def _share(self, where: Sequence[Filter]) -> float:
        """Return the share of records that meet ``where``, cached from the first time."""
        conditions = lance_condition(where)
        if not conditions:
            return 1.0
        if conditions not in self._shares:
            if len(self._shares) >= _SHARES:
                self._shares.clear()
            self._shares[conditions] = self.count(where) / max(1, self.count())
        return self._shares[conditions]

    def _at(self, version: int) -> _Snapshot:
        snapshot = self._snapshot
        if snapshot is None or snapshot.version != version:
            snapshot = self._snapshot = _Snapshot(self._database, version)
        return snapshot


async def _checkout(database: AsyncConnection, version: int) -> AsyncTable:
    table = await database.open_table(_TABLE)
    await table.checkout(version)
    return table


def _filtered(query: Any, where: Sequence[Filter], limit: int) -> Any:
    conditions = lance_condition(where)
    return (query.where(conditions) if conditions else query).limit(limit)


def _by_column(indexes: Iterable[Any]) -> dict[str, Any]:
    return {column: index for index in indexes for column in index.columns}


def _has_one_bit_vectors(indexes: Mapping[str, Any]) -> bool:
    return "vector" in indexes and indexes["vector"].index_type == "IvfRq"


def _bytes(row: Mapping[str, Any]) -> int:
    """Return the approximate size of a record in memory."""
    return sum(map(sys.getsizeof, (row, *row.values())))


def _hits(rows: Sequence[dict[str, Any]], scores: Sequence[float], columns: Sequence[str]) -> list[Hit]:
    return [Hit(row["id"], score, row if columns else {}) for row, score in zip(rows, scores, strict=True)]
