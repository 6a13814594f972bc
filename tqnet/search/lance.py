"""The embedded engine: LanceDB, whose tables are files in a folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, Bitmap, BTree, HnswSq, IvfRq, LabelList
from lancedb.query import BooleanQuery, FullTextQuery, MatchQuery, Occur

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
from tqnet.search.records import KEYS, TEXT_FIELDS, Filter, table_rows, unit

F = TypeVar("F", bound=Callable[..., Any])

_TABLE = "questions"

#: Up to this many records a search compares all vectors: exact, and faster than building a graph.
EXACT = 20_000
#: Up to this many a graph of all vectors (HNSW); above, one-bit vectors in partitions (IVF, RaBitQ).
GRAPH = 400_000

#: Partitions to search.
_PROBES = 30
#: Oversampling of the candidates whose full vectors are then compared, with one-bit vectors and with others.
_REFINE_ONE_BIT, _REFINE = 10, 2

#: From this share of matching records on, a filter is applied after the vector search, which finds more instead:
#: listing the records in a range takes the longer the more there are.
_WIDE = 0.25
#: Filters whose share is cached.
_SHARES = 256

#: Words of several columns: oversampling of the best by the first column, and its limit.
_DEEPER = 8
_DEEPEST = 8192

_SCALAR_INDEXES: dict[str, BTree | Bitmap | LabelList] = {
    **{field: BTree() for field in ("id", *KEYS, "difficulty")},
    **{field: Bitmap() for field in ("figures", "type", "language", "source")},
    "concept": LabelList(),
}

#: For texts that `tqnet.text.sentences` has tokenized.
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


class _Indexes(NamedTuple):
    """State of the indexes at a version: oversampling, and whether the word indexes hold all records."""

    version: int
    refine: int
    words_complete: bool


class LanceEngine(SearchEngine):
    """Records in a folder.

    Args:
        schema: Columns of a new table; by default an existing one is opened.
        exact, graph: See :data:`EXACT` and :data:`GRAPH`.

    Raises:
        EngineError: There is no table, or it cannot be read.
        FileExistsError: The place of a new table is taken.
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
                raise FileExistsError(f"{folder}: there is an index already") from error
            raise EngineError(f"{folder}: no index that can be read ({first_line(error)})") from error
        self.schema = self._table.schema
        self._shares: dict[str, float] = {}
        self._known_indexes = _Indexes(-1, _REFINE, words_complete=False)

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
    def select(self, where: Filter, columns: Sequence[str], limit: int) -> pa.Table:
        return self._filtered(self._table.search(), [where], limit).select(list(columns)).to_arrow()

    @_clear_errors
    def by_vector(
        self, vector: np.ndarray, k: int, where: Sequence[Filter] = (), columns: Sequence[str] = ()
    ) -> list[Hit]:
        query = unit(np.asarray(vector, dtype=np.float32)[None])[0]
        oversampling, share = self._indexes().refine, self._share(where)
        filtered_late = _WIDE <= share < 1
        read = () if filtered_late else columns

        def nearest(limit: int, prefilter: bool = True) -> list[Hit]:
            # As many candidates as `k` needs, even if a few more than `k` are listed.
            refine = max(_REFINE, math.ceil(oversampling * k / limit))
            search: Any = self._table.search(query, vector_column_name="vector")
            search = search.distance_type("dot").nprobes(_PROBES).refine_factor(refine)
            search = search.ef(max(64, refine * limit))  # less is an error
            table = self._columns(self._filtered(search, where, limit, prefilter), "_distance", read)
            return _hits(table, np.round(1 - table["_distance"].to_numpy(), 6).tolist(), read)

        def search(limit: int) -> tuple[list[Hit], float | None]:
            hits = nearest(math.ceil(1.5 * limit / share), prefilter=False) if filtered_late else []
            if len(hits) < limit:
                hits = nearest(limit)
            return hits, lowest(hits, limit)

        hits = top_hits(search, k)
        return self._with_rows(hits, columns) if filtered_late else hits

    @_clear_errors
    def by_words(
        self, words: Mapping[str, Sequence[str]], k: int, where: Sequence[Filter] = (), columns: Sequence[str] = ()
    ) -> list[Hit]:
        queries: list[FullTextQuery] = [
            MatchQuery(" ".join(terms), field, boost=BOOSTS[field])  # type: ignore[call-arg]
            for field, terms in words.items()
            if terms
        ]
        if len(queries) == 1:
            return top_hits(partial(self._by_text, queries[0], where, columns), k)
        return self._with_rows(top_hits(partial(self._by_sum, queries, where), k), columns) if queries else []

    def _by_text(
        self, query: FullTextQuery, where: Sequence[Filter], columns: Sequence[str], limit: int
    ) -> tuple[list[Hit], float | None]:
        table = self._columns(self._filtered(self._table.search(query), where, limit), "_score", columns)
        hits = _hits(table, list(map(rounded, table["_score"].to_pylist())), columns)
        return hits, lowest(hits, limit)

    def _by_sum(
        self, queries: Sequence[FullTextQuery], where: Sequence[Filter], limit: int
    ) -> tuple[list[Hit], float | None]:
        """Search by the sum over columns, without scoring every record that has any of the words.

        A record that is not among the best of the first column scores less there than the last of them, and at most
        the best score in each other column (the threshold algorithm: Fagin, Lotem and Naor, 2003).
        """
        first, *others = queries
        deeper = _DEEPER * limit
        # LanceDB computes BM25 of records that are not indexed yet among themselves, after the filter.
        feasible = deeper <= _DEEPEST and self._indexes().words_complete
        scores = self._scores(first, where, deeper) if feasible else {}
        if len(scores) < deeper:  # score all
            return self._by_text(BooleanQuery([(Occur.SHOULD, query) for query in queries]), where, (), limit)
        bound = min(scores.values())
        same_ids = [Filter("id", "=", tuple(scores))]
        for query in others:
            bound += max(self._scores(query, where, 1).values(), default=0.0)
            for id, score in self._scores(query, same_ids, deeper).items():
                scores[id] += score
        return [Hit(id, rounded(score)) for id, score in scores.items()], rounded(bound)

    def _scores(self, query: FullTextQuery, where: Sequence[Filter], limit: int) -> dict[str, float]:
        table = self._columns(self._filtered(self._table.search(query), where, limit), "_score")
        return dict(zip(table["id"].to_pylist(), table["_score"].to_pylist(), strict=True))

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
        indexes = self._index_by_column()
        for field, config in _SCALAR_INDEXES.items():
            if field not in indexes:
                self._table.create_index(field, config=config)
        size = self.count()
        if size > self._graph and not self._has_one_bit_vectors(indexes):
            partitions = max(1, round(math.sqrt(size)))
            self._table.create_index("vector", config=IvfRq(distance_type="dot", num_partitions=partitions))
        elif self._exact < size <= self._graph and "vector" not in indexes:
            self._table.create_index("vector", config=HnswSq(distance_type="dot", num_partitions=1))
        # Readers of the last hour may still hold an old version.
        self._table.optimize(cleanup_older_than=timedelta(hours=1))

    @_clear_errors
    def version(self) -> int | None:
        return self._table.version

    def _filtered(self, search: Any, where: Sequence[Filter], limit: int, prefilter: bool = True) -> Any:
        conditions = lance_condition(where)
        return (search.where(conditions, prefilter=prefilter) if conditions else search).limit(limit)

    def _columns(self, search: Any, score: str, columns: Sequence[str] = ()) -> pa.Table:
        return search.select(list(dict.fromkeys(("id", score, *columns)))).to_arrow()

    def _share(self, where: Sequence[Filter]) -> float:
        """Return the share of records that meet ``where``, as it was when first computed."""
        conditions = lance_condition(where)
        if not conditions:
            return 1.0
        if conditions not in self._shares:
            if len(self._shares) >= _SHARES:
                self._shares.clear()
            self._shares[conditions] = self.count(where) / max(1, self.count())
        return self._shares[conditions]

    def _indexes(self) -> _Indexes:
        version = self._table.version  # another process may have written
        if self._known_indexes.version != version:
            indexes = self._index_by_column()
            words = [self._table.index_stats(indexes[field].name) for field in TEXT_FIELDS if field in indexes]
            refine = _REFINE_ONE_BIT if self._has_one_bit_vectors(indexes) else _REFINE
            complete = [stats is not None and not stats.num_unindexed_rows for stats in words] == [True, True]
            self._known_indexes = _Indexes(version, refine, complete)
        return self._known_indexes

    def _index_by_column(self) -> dict[str, Any]:
        return {column: index for index in self._table.list_indices() for column in index.columns}

    def _has_one_bit_vectors(self, indexes: Mapping[str, Any]) -> bool:
        return "vector" in indexes and indexes["vector"].index_type == "IvfRq"


def _hits(table: pa.Table, scores: Sequence[float], columns: Sequence[str]) -> list[Hit]:
    if not columns:
        return list(map(Hit, table["id"].to_pylist(), scores))
    return [Hit(row["id"], score, row) for row, score in zip(table_rows(table), scores, strict=True)]
