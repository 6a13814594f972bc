"""The engine on a server or a cluster of them: Milvus, whose collections hold records in shards and replicas."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pymilvus import DataType, Function, FunctionType, MilvusClient, MilvusException
from pymilvus.milvus_client import IndexParams

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
from tqnet.search.records import FIELDS, TEXT_FIELDS, Filter, schema

# A Milvus server: its collections, the names that they are known by, and errors that say whose they are.


#: Environment variable with what the server lets one in for, ``USER:PASSWORD`` or an API key.
TOKEN = "MILVUS_TOKEN"

#: Seconds within which a connection is there, and within which a call is answered.
_CONNECT, _ANSWER = 10.0, 600.0


class MilvusServer:
    """A connection.

    Args:
        uri: ``http://HOST:PORT``, or ``https://`` for a server with TLS.
        collection: What it is for, to be named where there is no connection.

    Raises:
        EngineError: From every method: the server does not answer, or refuses; it names server and collection.
    """

    def __init__(self, uri: str, collection: str | None = None):
        self.uri = uri
        # It logs a traceback of every error that it raises.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        with self.clear_errors(collection):
            self._client = MilvusClient(uri=uri, token=os.environ.get(TOKEN, ""), timeout=_CONNECT, dedicated=True)

    def call(self, method: str, collection: str, **arguments: Any) -> Any:
        """``MilvusClient.METHOD(collection, ...)``."""
        with self.clear_errors(collection):
            return getattr(self._client, method)(collection, timeout=_ANSWER, **arguments)

    @contextmanager
    def clear_errors(self, collection: str | None) -> Iterator[None]:
        """What goes wrong within is an `EngineError` of one line."""
        try:
            yield
        except (MilvusException, grpc.RpcError) as error:
            about = f"{self.uri}, collection {collection}" if collection else self.uri
            raise EngineError(f"{about}: {_reason(error)}") from error

    def names_of(self, collection: str) -> list[str]:
        """The aliases of a collection, none of one that is not there."""
        return list(self.call("list_aliases", collection)["aliases"]) if self.has(collection) else []

    def has(self, name: str) -> bool:
        """Whether there is a collection with this name or alias."""
        return bool(self.call("has_collection", name))

    def give_name(self, collection: str, alias: str) -> None:
        """Make ``alias`` mean this collection, in one step if it has meant another one."""
        self.call("alter_alias" if self.has(alias) else "create_alias", collection, alias=alias)

    def drop(self, collection: str) -> None:
        """Remove a collection and its aliases, if it is there."""
        for alias in self.names_of(collection):  # Milvus drops no collection that has one
            self.call("drop_alias", alias)
        self.call("drop_collection", collection)

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def _reason(error: Exception) -> str:
    reason = first_line(error.message if isinstance(error, MilvusException) else error)
    token = os.environ.get(TOKEN)
    return reason.replace(token, "***") if token else reason


#: What Milvus allows: hits of a search, bytes of a string, entries of an array.
MOST_HITS, _LONGEST, _ENTRIES = 16_384, 65_535, 4096

#: Bytes of one insert; older servers take a message of 64 MiB.
_MESSAGE = 32 * 2**20

#: Records that are read at a time.
_PIECE = 2048

_GRAPH = {"M": 16, "efConstruction": 200}

#: Milvus's own default, and Lucene's.
_BM25 = {"bm25_k1": 1.2, "bm25_b": 0.75}


class MilvusEngine(SearchEngine):
    """Records in a collection.

    Every write is flushed before it returns. A call's records go to the server in one message of at most 32 MiB, or in
    several, and Milvus promises of none that it is written to all shards or to none: of a writer that is killed, some
    of the records may be there. Each of them is whole, and the same command run again, or ``sync``, mends the rest. A
    list has 16,384 hits at most.

    Milvus Lite, the server in one process, counts words by segment (what was flushed together), so that BM25 of a
    question depends on what was added with it; Milvus counts them in the whole shard. It has no index of arrays: a
    filter by concept looks at every record.

    Args:
        collection: Its name or alias.
        schema: Makes a new collection of these columns; by default the one that is there is opened.
        shards: Of a new collection: parts that are written side by side.
        replicas: How many servers are to hold each part for searches, where it is not loaded yet.

    Raises:
        EngineError: There is none, or it is not of ours, or the server does not answer.
        FileExistsError: There is one where a new one was to be made.
    """

    def __init__(
        self, uri: str, collection: str, schema: pa.Schema | None = None, *, shards: int = 1, replicas: int = 1
    ):
        self.server, self.collection = MilvusServer(uri, collection), collection
        if schema is not None:
            self._create(schema, shards)
        self._schema = self._read_schema()
        self._kind = self._call("describe_index", index_name="vector")["index_type"]
        if self._call("get_load_state")["state"].name != "Loaded":
            self._call("load_collection", replica_number=replicas)

    def add(self, records: pa.Table, *, known_new: bool = False) -> None:
        refuse_twice(records)
        if not known_new:
            refuse_known(self.get(records["id"].to_pylist(), ["id"])["id"].to_pylist())
        self._write("insert", records)

    def put(self, records: pa.Table) -> None:
        refuse_twice(records)
        self._write("upsert", records)

    def delete(self, ids: Collection[str]) -> int:
        there = self.get(sorted(set(ids)), ["id"])["id"].to_pylist()
        for some in portions(there):
            # pymilvus writes `ids` into a condition as they are, quotes and all.
            self._call("delete", filter=_condition(Filter("id", "=", some)))
        if there:
            self._call("flush")
        return len(there)

    def by_vector(self, vector: np.ndarray, k: int, where: Sequence[Filter] = ()) -> list[Hit]:
        _affordable(k)
        length = float(np.linalg.norm(vector))
        unit = np.asarray(vector, dtype=np.float32) / (length or 1)

        def found(limit: int) -> tuple[list[Hit], float | None]:
            limit = min(limit, MOST_HITS)
            scores = self._search("vector", unit.tolist(), limit, _conditions(where), _reach(self._kind, limit))
            hits = [Hit(id, round(score, 6)) for id, score in scores.items()]
            return hits, unseen(hits, limit) if limit < MOST_HITS else None

        return best(found, k)

    def by_words(
        self,
        words: Mapping[str, Sequence[str]],
        k: int,
        where: Sequence[Filter] = (),
        boosts: Mapping[str, float] = BOOSTS,
    ) -> list[Hit]:
        _affordable(k)
        asked = {field: _spelled(" ".join(of)) for field, of in words.items() if of and boosts.get(field, 1.0) > 0}
        if not asked:
            return []

        def found(limit: int) -> tuple[list[Hit], float | None]:
            limit = min(limit, MOST_HITS)
            lists = {field: self._bm25(field, text, limit, _conditions(where)) for field, text in asked.items()}
            cut = [field for field, scores in lists.items() if len(scores) >= limit]
            # What is in no list scores in each at most what the last one there does.
            rest = _rounded(sum(boosts.get(field, 1.0) * min(lists[field].values()) for field in cut))
            ids = set().union(*lists.values())
            for field in cut:
                for some in portions(sorted(ids - lists[field].keys())):
                    lists[field] |= self._bm25(field, asked[field], len(some), _condition(Filter("id", "=", some)))
            sums = {
                id: sum(boosts.get(field, 1.0) * scores.get(id, 0.0) for field, scores in lists.items()) for id in ids
            }
            hits = [Hit(id, _rounded(score)) for id, score in sums.items()]
            return hits, rest if cut and limit < MOST_HITS else None

        return best(found, k)

    def get(self, ids: Sequence[str], columns: Sequence[str] | None = None) -> pa.Table:
        columns = list(dict.fromkeys(("id", *(columns or self._schema.names))))
        rows: dict[str, dict[str, Any]] = {}
        for some in portions(list(dict.fromkeys(ids))):
            condition = _condition(Filter("id", "=", some))
            rows |= {row["id"]: row for row in self._call("query", filter=condition, output_fields=columns)}
        return self._table([rows[id] for id in ids if id in rows], columns)

    def count(self, where: Sequence[Filter] = ()) -> int:
        return int(self._call("query", filter=_conditions(where), output_fields=["count(*)"])[0]["count(*)"])

    def scan(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        columns = list(columns or self._schema.names)
        rows = self._call("query_iterator", batch_size=_PIECE, output_fields=columns)
        while True:
            with self.server.clear_errors(self.collection):
                piece = rows.next()
                # pymilvus writes the last id into the condition of the next page as it is, quotes and all.
                rows._next_id = None if rows._next_id is None else rows._next_id.translate(_ESCAPES)
            if not piece:
                return
            yield self._table(piece, columns)

    def optimize(self) -> None:
        """Asks the server to merge the segments that every flush begins anew; it does so in its own time."""
        self._call("compact")

    def close(self) -> None:
        self.server.close()

    def _call(self, method: str, **arguments: Any) -> Any:
        return self.server.call(method, self.collection, **arguments)

    def _create(self, columns: pa.Schema, shards: int) -> None:
        if self.server.has(self.collection):
            raise FileExistsError(f"{self.server.uri}, collection {self.collection}: is there already")
        # Reads see every write that was acknowledged before them.
        self._call("create_collection", schema=_fields(columns), num_shards=shards, consistency_level="Strong")
        self._call("create_index", index_params=_indexes(), sync=False)  # there is nothing to wait for yet
        try:
            self._call("create_index", index_params=_index("concept", "INVERTED"), sync=False)
        except EngineError as error:
            if "does not support scalar index" not in str(error):  # Milvus Lite has none of arrays
                raise

    def _read_schema(self) -> pa.Schema:
        if not self.server.has(self.collection):
            raise EngineError(
                f"{self.server.uri}: there is no collection {self.collection}; tqnet index --replace makes it anew"
            )
        fields = {field["name"]: field for field in self._call("describe_collection")["fields"]}
        width = fields.get("vector", {}).get("params", {}).get("dim", 0)
        columns = schema(int(width))
        if fields.keys() != {*columns.names, *map(_sparse, TEXT_FIELDS)}:
            raise EngineError(f"{self.server.uri}, collection {self.collection}: not one that tqnet index has made")
        return columns

    def _write(self, method: str, records: pa.Table) -> None:
        _refuse_long(records)
        if not len(records):
            return
        rows = max(1, len(records) * _MESSAGE // max(records.nbytes, 1))
        for start in range(0, len(records), rows):
            self._call(method, data=[_row(record) for record in records.slice(start, rows).to_pylist()])
        self._call("flush")

    def _search(
        self, field: str, query: object, limit: int, condition: str, params: Mapping[str, int]
    ) -> dict[str, float]:
        """Id -> score of what is nearest, best first."""
        (hits,) = self._call(
            "search",
            data=[query],
            anns_field=field,
            limit=limit,
            filter=condition,
            search_params={"params": dict(params)},
            output_fields=["id"],
        )
        return {hit["id"]: float(hit["distance"]) for hit in hits}

    def _bm25(self, field: str, text: str, limit: int, condition: str) -> dict[str, float]:
        scores = self._search(_sparse(field), text, limit, condition, {})
        return {id: abs(score) for id, score in scores.items()}  # Milvus Lite gives its negative

    def _table(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pa.Table:
        fields = pa.schema([self._schema.field(name) for name in columns])
        read = [
            {name: _as_written(row[name]) if name in TEXT_FIELDS else row[name] for name in columns} for row in rows
        ]
        return pa.Table.from_pylist(read, schema=fields)


def _affordable(k: int) -> None:
    if k > MOST_HITS:
        raise EngineError(f"{k:,} hits: Milvus finds no more than {MOST_HITS:,} at a time")


def _fields(columns: pa.Schema) -> Any:
    """The collection's schema: the columns, and for each text a field that the server writes its words' counts to."""
    made = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    for column in columns:
        text = {"enable_analyzer": True, "analyzer_params": {"tokenizer": "standard"}}
        made.add_field(
            column.name,
            nullable=column.nullable,
            is_primary=column.name == "id",
            **_type(column.type),
            **(text if column.name in TEXT_FIELDS else {}),
        )
    for name in TEXT_FIELDS:
        made.add_field(_sparse(name), DataType.SPARSE_FLOAT_VECTOR)
        made.add_function(Function(f"bm25_of_{name}", FunctionType.BM25, [name], [_sparse(name)]))
    return made


def _type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_fixed_size_list(kind):
        return {"datatype": DataType.FLOAT_VECTOR, "dim": kind.list_size}
    if pa.types.is_list(kind):
        of = {"element_type": DataType.VARCHAR, "max_length": _LONGEST}
        return {"datatype": DataType.ARRAY, "max_capacity": _ENTRIES, **of}
    if pa.types.is_string(kind):
        return {"datatype": DataType.VARCHAR, "max_length": _LONGEST}
    return {"datatype": DataType.DOUBLE if pa.types.is_floating(kind) else DataType.INT64}


def _indexes() -> IndexParams:
    """All but that of concepts."""
    made = _index("vector", "HNSW", metric_type="IP", params=_GRAPH)
    for name in TEXT_FIELDS:
        made.add_index(_sparse(name), "SPARSE_INVERTED_INDEX", _sparse(name), metric_type="BM25", params=_BM25)
    for name in FIELDS.keys() - {"concept"}:
        made.add_index(name, "INVERTED", name)
    return made


def _index(field: str, kind: str, **options: Any) -> IndexParams:
    made = MilvusClient.prepare_index_params()
    made.add_index(field, kind, field, **options)
    return made


def _sparse(field: str) -> str:
    return f"{field}_bm25"


def _reach(kind: str, limit: int) -> dict[str, int]:
    """How far an index of vectors is searched; one that was put in place of ours may be of another kind."""
    if kind.startswith("HNSW"):
        return {"ef": max(128, 2 * limit)}
    return {"nprobe": 64} if kind.startswith("IVF") else {}


def _rounded(score: float) -> float:
    """Equal for equal texts."""
    return float(f"{score:.6g}")


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _spelled(value) if name in TEXT_FIELDS else value for name, value in record.items()}


def _spelled(words: str) -> str:
    """Words in small letters and digits alone, which no analyzer parts or changes: ``$ab$`` is ``z24zabz24z``.

    `tqnet.text.sentences` has chosen them; Milvus Lite knows no analyzer but one that makes letters small and drops
    signs.
    """
    return re.sub(r"[^a-y0-9 ]", lambda sign: f"z{ord(sign[0]):x}z", words)


def _as_written(words: str) -> str:
    return re.sub(r"z([0-9a-f]+)z", lambda sign: chr(int(sign[1], 16)), words)


def _refuse_long(records: pa.Table) -> None:
    for column in records.schema:
        if not pa.types.is_string(column.type):
            continue
        values = records[column.name]
        if column.name in TEXT_FIELDS:
            values = pa.chunked_array([[_spelled(value) for value in values.to_pylist()]], pa.string())
        sizes = pc.fill_null(pc.binary_length(values), 0)
        if len(sizes) and pc.max(sizes).as_py() > _LONGEST:
            row = pc.index(sizes, pc.max(sizes)).as_py()
            raise ValueError(
                f"{records['id'][row]}: its {column.name} has {sizes[row].as_py():,} bytes; Milvus keeps {_LONGEST:,}"
            )


def _conditions(where: Sequence[Filter]) -> str:
    return " and ".join(f"({_condition(each)})" for each in where)


def _condition(each: Filter) -> str:
    values = ", ".join(map(_literal, each.values))
    if each.field == "concept":
        contains = f"array_contains_any(concept, [{values}])"
        return contains if each.sign == "=" else f"not {contains}"
    if each.sign == "=":
        return f"{each.field} in [{values}]"
    if each.sign == "!=":
        other = f"{each.field} not in [{values}]"
        return other if each.field in ("id", "figures") else f"{each.field} is null or {other}"
    return f"{each.field} {each.sign} {values}"


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def _literal(value: str | float | int) -> str:
    return f'"{value.translate(_ESCAPES)}"' if isinstance(value, str) else repr(value)
