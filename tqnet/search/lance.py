"""The engine inside the process: LanceDB, whose tables are files of a folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

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
    best,
    portions,
    refuse_known,
    refuse_twice,
    unseen,
)
from tqnet.search.records import TEXT_FIELDS, Filter

_TABLE = "questions"

#: Up to so many records all vectors are compared: exact, and faster than a graph is built.
EXACT = 20_000
#: Up to so many, a graph of all vectors (HNSW); above, vectors of one bit per number in partitions (IVF, RaBitQ).
GRAPH = 400_000

#: Partitions that are searched.
_PROBES = 30
#: Kind of index -> how many times as many candidates as are wanted are then compared by their whole vectors.
_REFINE = {"IvfRq": 10}
_REFINE_OTHERS = 2

#: Share of the records that a filter must keep for the nearest of all to be looked through instead of the kept ones:
#: to list what a range keeps takes the longer, the more it is.
_WIDE = 0.25
#: Filters whose share is remembered.
_SHARES = 256

#: Words of several fields: how many times as many of the best by one field are looked at, and up to how many.
_DEEPER = 8
_DEEPEST = 8192

_SCALAR_INDEXES: dict[str, BTree | Bitmap | LabelList] = {
    "id": BTree(),
    "difficulty": BTree(),
    "figures": Bitmap(),
    "type": Bitmap(),
    "language": Bitmap(),
    "source": Bitmap(),
    "concept": LabelList(),
}


#: What goes wrong within the database.
_ERRORS = (RuntimeError, OSError, pa.ArrowException)

P = ParamSpec("P")
R = TypeVar("R")


def _with_clear_errors(method: Callable[Concatenate[LanceEngine, P], R]) -> Callable[Concatenate[LanceEngine, P], R]:
    """What goes wrong within the database is an `EngineError` that names its folder."""

    @wraps(method)
    def call(engine: LanceEngine, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(engine, *args, **kwargs)
        except EngineError:
            raise
        except _ERRORS as error:
            raise EngineError(f"{engine.folder}: {first_line(error)}") from error

    return call


class _Indexes(NamedTuple):
    """What searches want to know of the indexes of a version."""

    version: int
    #: See :data:`_REFINE`.
    refine: int
    #: All records are in those of the words.
    words_are_whole: bool


class LanceEngine(SearchEngine):
    """Records in a folder.

    Args:
        folder: Of the database.
        schema: Makes a new table of these columns; by default the one that is there is opened.
        exact, graph: See :data:`EXACT` and :data:`GRAPH`.

    Raises:
        EngineError: There is none, or it cannot be read.
        FileExistsError: There is one where a new one was to be made.
    """

    def __init__(self, folder: Path, schema: pa.Schema | None = None, *, exact: int = EXACT, graph: int = GRAPH):
        self.folder, self._exact, self._graph = folder, exact, graph
        # Another process may have written since the last call.
        self._database = lancedb.connect(str(folder), read_consistency_interval=timedelta(0))
        try:
            if schema is not None:
                self._table = self._database.create_table(_TABLE, schema=schema)
                self._make_word_indexes()
            else:
                self._table = self._database.open_table(_TABLE)
                self._table.count_rows()
        except (ValueError, RuntimeError, OSError) as error:
            if schema is not None and "already exists" in str(error):
                raise FileExistsError(f"{folder}: there is an index already") from error
            raise EngineError(f"{folder}: no index that can be read ({first_line(error)})") from error
        self._shares: dict[str, float] = {}
        self._seen = _Indexes(-1, _REFINE_OTHERS, words_are_whole=False)

    @_with_clear_errors
    def add(self, records: pa.Table, *, known_new: bool = False) -> None:
        refuse_twice(records)
        if not known_new:
            refuse_known(self.get(records["id"].to_pylist(), ["id"])["id"].to_pylist())
        if len(records):
            self._table.add(records)

    @_with_clear_errors
    def put(self, records: pa.Table) -> None:
        refuse_twice(records)
        if len(records):
            self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(records)

    @_with_clear_errors
    def delete(self, ids: Collection[str]) -> int:
        before = self.count()
        for some in portions(sorted(ids)):
            self._table.delete(condition(Filter("id", "=", some)))
        return before - self.count()

    @_with_clear_errors
    def by_vector(self, vector: np.ndarray, k: int, where: Sequence[Filter] = ()) -> list[Hit]:
        length = float(np.linalg.norm(vector))
        unit = np.asarray(vector, dtype=np.float32) / (length or 1)
        refined = self._indexes().refine

        def nearest(limit: int, prefilter: bool = True) -> list[Hit]:
            # As many candidates as `k` wants, though a few more than `k` are listed.
            refine = max(_REFINE_OTHERS, math.ceil(refined * k / limit))
            search: Any = self._table.search(unit, vector_column_name="vector")
            search = search.distance_type("dot").nprobes(_PROBES).refine_factor(refine)
            search = search.ef(max(64, refine * limit))  # less is an error
            table = self._filtered(search, where, limit, prefilter).select(["id", "_distance"]).to_arrow()
            scores = np.round(1 - table["_distance"].to_numpy(), 6)
            return list(map(Hit, table["id"].to_pylist(), scores.tolist()))

        def found(limit: int) -> tuple[list[Hit], float | None]:
            hits: list[Hit] = []
            share = self._share(where)
            if _WIDE <= share < 1:
                hits = nearest(math.ceil(1.5 * limit / share), prefilter=False)
            if len(hits) < limit:
                hits = nearest(limit)
            return hits, unseen(hits, limit)

        return best(found, k)

    @_with_clear_errors
    def by_words(
        self,
        words: Mapping[str, Sequence[str]],
        k: int,
        where: Sequence[Filter] = (),
        boosts: Mapping[str, float] = BOOSTS,
    ) -> list[Hit]:
        asked = [
            MatchQuery(" ".join(of), field, boost=boosts.get(field, 1.0))  # type: ignore[call-arg]
            for field, of in words.items()
            if of and boosts.get(field, 1.0) > 0
        ]
        if not asked:
            return []
        # Of one field, LanceDB scores only what may be among the best, which is a small part of the work.
        found = partial(self._by_one_field, asked[0], where) if len(asked) == 1 else partial(self._by_all, asked, where)
        return best(found, k)

    def _by_one_field(
        self, query: FullTextQuery, where: Sequence[Filter], limit: int
    ) -> tuple[list[Hit], float | None]:
        hits = _hits(self._scored(query, where, limit))
        return hits, unseen(hits, limit)

    def _by_all(
        self, asked: Sequence[FullTextQuery], where: Sequence[Filter], limit: int
    ) -> tuple[list[Hit], float | None]:
        """By the sum over fields, though LanceDB would score every record that has one of the words for it.

        What is not among the best of the first field scores less than the last of them there, and at most as much as
        the best of each other field (the threshold algorithm: Fagin, Lotem and Naor, 2003).
        """
        first, *others = asked
        deeper = _DEEPER * limit
        # A record that is not indexed yet scores by the words of the others that are not and meet the filter.
        within = deeper <= _DEEPEST and self._indexes().words_are_whole
        top = self._scored(first, where, deeper) if within else None
        if top is None or len(top) < deeper:  # then all are scored
            query = BooleanQuery([(Occur.SHOULD, each) for each in asked])
            return self._by_one_field(query, where, limit)
        scores = dict(zip(top["id"].to_pylist(), top["_score"].to_pylist(), strict=True))
        rest = min(scores.values())
        these = Filter("id", "=", tuple(scores))
        for other in others:
            rest += max(self._scored(other, where, 1)["_score"].to_pylist(), default=0.0)
            table = self._scored(other, [these], deeper)
            for id, score in zip(table["id"].to_pylist(), table["_score"].to_pylist(), strict=True):
                scores[id] += score
        return list(map(Hit, scores, map(_rounded, scores.values()))), _rounded(rest)

    def _scored(self, query: FullTextQuery, where: Sequence[Filter], limit: int) -> pa.Table:
        return self._filtered(self._table.search(query), where, limit).select(["id", "_score"]).to_arrow()

    @_with_clear_errors
    def get(self, ids: Sequence[str], columns: Sequence[str] | None = None) -> pa.Table:
        wanted = list(dict.fromkeys(("id", *(columns or self._table.schema.names))))
        pieces = [
            self._table.search().where(condition(Filter("id", "=", some))).select(wanted).limit(len(some)).to_arrow()
            for some in portions(list(dict.fromkeys(ids)))
        ]
        found = pa.concat_tables([self._table.schema.empty_table().select(wanted), *pieces])
        place = {id: row for row, id in enumerate(found["id"].to_pylist())}
        return found.take(pa.array([place[id] for id in ids if id in place], pa.int64()))

    @_with_clear_errors
    def count(self, where: Sequence[Filter] = ()) -> int:
        return self._table.count_rows(_conditions(where) or None)

    def scan(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        try:
            search = self._table.search().select(list(columns or self._table.schema.names)).limit(self.count())
            for batch in search.to_batches(4096):
                yield pa.Table.from_batches([batch])
        except _ERRORS as error:
            raise EngineError(f"{self.folder}: {first_line(error)}") from error

    @_with_clear_errors
    def optimize(self) -> None:
        self._make_indexes()
        # Readers of the last hour may still hold an old version.
        self._table.optimize(cleanup_older_than=timedelta(hours=1))

    @_with_clear_errors
    def version(self) -> int | None:
        return self._table.version

    def _filtered(self, search: Any, where: Sequence[Filter], limit: int, prefilter: bool = True) -> Any:
        wanted = _conditions(where)
        return (search.where(wanted, prefilter=prefilter) if wanted else search).limit(limit)

    def _share(self, where: Sequence[Filter]) -> float:
        """Of all records, those that meet ``where``; as it was when these conditions were first seen."""
        wanted = _conditions(where)
        if not wanted:
            return 1.0
        share = self._shares.get(wanted)
        if share is None:
            share = self.count(where) / max(1, self.count())
            if len(self._shares) >= _SHARES:
                self._shares.clear()
            self._shares[wanted] = share
        return share

    def _indexes(self) -> _Indexes:
        """Those that are there now: another process may have made others."""
        version = self._table.version
        if self._seen.version != version:
            indexes = self._index_of()
            words = [self._table.index_stats(indexes[field].name) for field in TEXT_FIELDS if field in indexes]
            self._seen = _Indexes(
                version,
                _REFINE.get(indexes["vector"].index_type if "vector" in indexes else "", _REFINE_OTHERS),
                len(words) == len(TEXT_FIELDS) and not any(each is None or each.num_unindexed_rows for each in words),
            )
        return self._seen

    def _index_of(self) -> dict[str, Any]:
        """Column -> its index."""
        return {column: index for index in self._table.list_indices() for column in index.columns}

    def _make_word_indexes(self) -> None:
        for field in TEXT_FIELDS:
            self._table.create_index(field, config=_words_as_they_are())

    def _make_indexes(self) -> None:
        """Those that are missing, and another one of the vectors where there have become too many for theirs."""
        there = self._index_of()
        for field, config in _SCALAR_INDEXES.items():
            if field not in there:
                self._table.create_index(field, config=config)
        size = self.count()
        if size > self._graph and not ("vector" in there and there["vector"].index_type == "IvfRq"):
            partitions = max(1, round(math.sqrt(size)))
            self._table.create_index("vector", config=IvfRq(distance_type="dot", num_partitions=partitions))
        elif self._exact < size <= self._graph and "vector" not in there:
            self._table.create_index("vector", config=HnswSq(distance_type="dot", num_partitions=1))


def _hits(scored: pa.Table) -> list[Hit]:
    return list(map(Hit, scored["id"].to_pylist(), map(_rounded, scored["_score"].to_pylist())))


def _rounded(score: float) -> float:
    """Equal texts get equal scores."""
    return float(f"{score:.6g}")


def _words_as_they_are() -> FTS:
    """`tqnet.text.sentences` has chosen them."""
    return FTS(
        with_position=False,
        base_tokenizer="whitespace",
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        max_token_length=None,
    )


def _conditions(where: Sequence[Filter]) -> str:
    return " AND ".join(f"({condition(each)})" for each in where)


def condition(each: Filter) -> str:
    """As LanceDB reads it."""
    values = ", ".join(map(_literal, each.values))
    if each.field == "concept":
        contains = f"array_has_any(concept, [{values}])"
        return contains if each.sign == "=" else f"NOT {contains}"
    if each.sign == "=":
        return f"{each.field} IN ({values})"
    if each.sign == "!=":
        return f"{each.field} IS NULL OR {each.field} NOT IN ({values})"
    return f"{each.field} {each.sign} {values}"


def _literal(value: str | float | int) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
