"""The engine on a server or cluster: Milvus, whose collections hold records in shards and replicas."""

from __future__ import annotations

import logging
import os
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
import pyarrow as pa
from pymilvus import DataType, Function, FunctionType, MilvusClient, MilvusException
from pymilvus.client.types import Status

from tqnet.errors import first_line
from tqnet.questions.question import FieldError
from tqnet.search.engine import (
    BOOSTS,
    EngineError,
    Hit,
    NoServerError,
    Search,
    SearchEngine,
    id_filters,
    lowest,
    rounded,
    top_hits,
    write_conditions,
)
from tqnet.search.records import FIELDS, KEYS, TEXT_FIELDS, Filter, schema, unit

#: Environment variable with the server's credentials, ``USER:PASSWORD`` or an API key.
TOKEN = "MILVUS_TOKEN"

#: Timeouts in seconds, of a connection and of a call.
_CONNECT, _ANSWER = 10.0, 600.0

#: Milvus's limits: hits of a search, bytes of a string, entries of an array.
MAX_HITS, _MAX_BYTES, _MAX_ENTRIES = 16_384, 65_535, 4096

#: Error codes when no server answers: pymilvus's for a connection, and gRPC's for a call.
_NO_ANSWER = (Status.CONNECT_FAILED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)

#: Maximum number of bytes per insert; older servers accept messages of up to 64 MiB.
_MESSAGE = 32 * 2**20

#: Number of records per piece of a scan.
_PIECE = 2048

_GRAPH = {"M": 16, "efConstruction": 200}

#: Milvus's own default, and Lucene's.
_BM25 = {"bm25_k1": 1.2, "bm25_b": 0.75}


class MilvusServer:
    """A connection to a Milvus server; errors name the server and the collection.

    Args:
        uri: ``http://HOST:PORT``, or ``https://`` for a server with TLS.
        collection: Collection to name in connection errors.

    Raises:
        EngineError: In every method: the server refuses, or does not answer (NoServerError).
    """

    def __init__(self, uri: str, collection: str | None = None):
        self.uri = uri
        # pymilvus logs a traceback of every error that it raises.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        with self.clear_errors(collection):
            self._client = MilvusClient(uri=uri, token=os.environ.get(TOKEN, ""), timeout=_CONNECT, dedicated=True)
        # Running searches still use the engine of a version that is replaced (`Follower`).
        self._end = weakref.finalize(self, self._client.close)

    def call(self, method: str, collection: str, **arguments: Any) -> Any:
        """Call ``MilvusClient.METHOD(collection, ...)``."""
        with self.clear_errors(collection):
            return getattr(self._client, method)(collection, timeout=_ANSWER, **arguments)

    @contextmanager
    def clear_errors(self, collection: str | None) -> Iterator[None]:
        """Turn errors of the client into an `EngineError` of one line, without the credentials."""
        try:
            yield
        except (MilvusException, grpc.RpcError) as error:
            reason = first_line(error.message if isinstance(error, MilvusException) else error)
            if token := os.environ.get(TOKEN):
                reason = reason.replace(token, "***")
            subject = f"{self.uri}, collection {collection}" if collection else self.uri
            code = error.code if isinstance(error, MilvusException) else error.code()
            raise (NoServerError if code in _NO_ANSWER else EngineError)(f"{subject}: {reason}") from error

    def aliases(self, collection: str) -> list[str]:
        """Return the aliases of a collection; none if it does not exist."""
        return list(self.call("list_aliases", collection)["aliases"]) if self.has(collection) else []

    def has(self, name: str) -> bool:
        """Return True if there is a collection with this name or alias."""
        return bool(self.call("has_collection", name))

    def set_alias(self, collection: str, alias: str) -> None:
        """Point ``alias`` at this collection, atomically if it points at another one."""
        self.call("alter_alias" if self.has(alias) else "create_alias", collection, alias=alias)

    def drop(self, collection: str) -> None:
        """Remove a collection, if it exists, and its aliases."""
        for alias in self.aliases(collection):  # Milvus does not drop a collection with aliases
            self.call("drop_alias", alias)
        self.call("drop_collection", collection)

    def close(self) -> None:
        """Close the connection; it also closes by itself when unused."""
        self._end()


class MilvusEngine(SearchEngine):
    """Records in a collection; docs/milvus.md explains the differences of Milvus Lite.

    Every write is flushed before it returns. A call's records go to the server in messages of at most 32 MiB, and
    Milvus does not write a message atomically to all shards: a killed writer may leave some records, each complete, and
    running the same command again, or ``sync``, repairs the rest. A list has at most 16,384 hits.

    Args:
        collection: Name or alias of the collection.
        schema: Columns of a new collection; by default an existing one is opened.
        shards: Number of parts of a new collection that are written in parallel.
        replicas: Number of servers that load each part for searches, if it is not loaded yet.

    Raises:
        EngineError: There is no such collection, it was not made by tqnet, or the server does not answer.
        FileExistsError: The name of a new collection is taken.
    """

    def __init__(
        self, uri: str, collection: str, schema: pa.Schema | None = None, *, shards: int = 1, replicas: int = 1
    ):
        self.server, self.collection = MilvusServer(uri, collection), collection
        if schema is not None:
            self._create(schema, shards)
        self.schema = self._read_schema()
        self._kind = self._call("describe_index", index_name="vector")["index_type"]
        if self._call("get_load_state")["state"].name != "Loaded":
            self._call("load_collection", replica_number=replicas)

    def by_vector(
        self, vector: np.ndarray, k: int, where: Sequence[Filter] = (), columns: Sequence[str] = ()
    ) -> list[Hit]:
        query = unit(np.asarray(vector, dtype=np.float32)[None])[0].tolist()

        def search(limit: int) -> tuple[list[Hit], float | None]:
            hits = [Hit(id, round(score, 6)) for id, score in self._search("vector", query, limit, where).items()]
            return hits, lowest(hits, limit)

        return self._with_rows(_top_hits(search, k), columns)

    def by_words(
        self, words: Mapping[str, Sequence[str]], k: int, where: Sequence[Filter] = (), columns: Sequence[str] = ()
    ) -> list[Hit]:
        texts = {field: _escaped(" ".join(terms)) for field, terms in words.items() if terms}

        def search(limit: int) -> tuple[list[Hit], float | None]:
            lists = {field: self._bm25(field, text, limit, where) for field, text in texts.items()}
            cut = [field for field, scores in lists.items() if len(scores) >= limit]
            # A record in no list scores at most as much as the last of each list.
            bound = rounded(sum(BOOSTS[field] * min(lists[field].values()) for field in cut))
            ids: set[str] = set().union(*lists.values())
            for field in cut:
                for chunk in id_filters(sorted(ids - lists[field].keys())):
                    lists[field] |= self._bm25(field, texts[field], len(chunk.values), [chunk])
            sums = {id: sum(BOOSTS[field] * scores.get(id, 0.0) for field, scores in lists.items()) for id in ids}
            return [Hit(id, rounded(score)) for id, score in sums.items()], bound if cut else None

        return self._with_rows(_top_hits(search, k), columns)

    def count(self, where: Sequence[Filter] = ()) -> int:
        return int(self._call("query", filter=_conditions(where), output_fields=["count(*)"])[0]["count(*)"])

    def scan(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        columns = list(columns or self.schema.names)
        rows = self._call("query_iterator", batch_size=_PIECE, output_fields=columns)
        while True:
            with self.server.clear_errors(self.collection):
                piece = rows.next()
                # pymilvus copies the last id into the condition of the next page without escaping quotes.
                rows._next_id = None if rows._next_id is None else rows._next_id.translate(_ESCAPES)
            if not piece:
                return
            yield self._table(piece, columns)

    def optimize(self) -> None:
        """Ask the server to merge the segments of the flushes in the background."""
        self._call("compact")

    def close(self) -> None:
        self.server.close()

    def _call(self, method: str, **arguments: Any) -> Any:
        return self.server.call(method, self.collection, **arguments)

    def _create(self, columns: pa.Schema, shards: int) -> None:
        if self.server.has(self.collection):
            raise FileExistsError(f"{self.server.uri}, collection {self.collection}: already exists")
        # Reads see every write acknowledged before them.
        self._call("create_collection", schema=_fields(columns), num_shards=shards, consistency_level="Strong")
        self._add_index("vector", "HNSW", metric_type="IP", params=_GRAPH)
        for name in TEXT_FIELDS:
            self._add_index(_sparse(name), "SPARSE_INVERTED_INDEX", metric_type="BM25", params=_BM25)
        for name in {*FIELDS, *KEYS} - {"concept"}:
            self._add_index(name, "INVERTED")
        try:
            self._add_index("concept", "INVERTED")
        except EngineError as error:
            if "does not support scalar index" not in str(error):  # Milvus Lite does not index arrays
                raise

    def _add_index(self, field: str, kind: str, **options: Any) -> None:
        index = MilvusClient.prepare_index_params()
        index.add_index(field, kind, field, **options)
        self._call("create_index", index_params=index, sync=False)  # the collection is still empty

    def _read_schema(self) -> pa.Schema:
        if not self.server.has(self.collection):
            raise EngineError(
                f"{self.server.uri}: there is no collection {self.collection}; rebuild it with tqnet index --replace"
            )
        fields = {field["name"]: field for field in self._call("describe_collection")["fields"]}
        columns = schema(int(fields.get("vector", {}).get("params", {}).get("dim", 0)))
        if fields.keys() != {*columns.names, *map(_sparse, TEXT_FIELDS)}:
            raise EngineError(f"{self.server.uri}, collection {self.collection}: not made by tqnet index")
        return columns

    def check(self, records: pa.Table, *, known_new: bool = False) -> None:
        super().check(records, known_new=known_new)
        for row in map(_row, records.drop_columns("vector").to_pylist()):
            for name, value in row.items():
                if isinstance(value, str) and (size := len(value.encode())) > _MAX_BYTES:
                    raise FieldError(row["id"], f"its {name} has {size:,} bytes; Milvus keeps at most {_MAX_BYTES:,}")

    def _write(self, records: pa.Table, replace: bool) -> None:
        rows = list(map(_row, records.to_pylist()))
        size = max(1, len(rows) * _MESSAGE // max(records.nbytes, 1))
        for start in range(0, len(rows), size):
            self._call("upsert" if replace else "insert", data=rows[start : start + size])
        if rows:
            self._call("flush")

    def remove(self, where: Sequence[Filter]) -> None:
        for condition in where:
            # pymilvus copies `ids` into a condition without escaping quotes.
            self._call("delete", filter=_conditions([condition]))
        if where:
            self._call("flush")

    def select(self, where: Filter, columns: Sequence[str], limit: int) -> pa.Table:
        rows = self._call("query", filter=_conditions([where]), output_fields=list(columns), limit=limit)
        return self._table(rows, columns)

    def _search(self, field: str, query: object, limit: int, where: Sequence[Filter]) -> dict[str, float]:
        """Return id -> score of the nearest records, best first."""
        params: dict[str, int] = {}
        if field == "vector" and self._kind.startswith("HNSW"):  # an operator may have replaced the index
            params = {"ef": max(128, 2 * limit)}
        elif field == "vector" and self._kind.startswith("IVF"):
            params = {"nprobe": 64}
        (hits,) = self._call(
            "search",
            data=[query],
            anns_field=field,
            limit=limit,
            filter=_conditions(where),
            search_params={"params": params},
            output_fields=["id"],
        )
        return {hit["id"]: float(hit["distance"]) for hit in hits}

    def _bm25(self, field: str, text: str, limit: int, where: Sequence[Filter]) -> dict[str, float]:
        scores = self._search(_sparse(field), text, limit, where)
        return {id: abs(score) for id, score in scores.items()}  # Milvus Lite returns negative scores

    def _table(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pa.Table:
        plain = [
            {name: _unescaped(row[name]) if name in TEXT_FIELDS else row[name] for name in columns} for row in rows
        ]
        return pa.Table.from_pylist(plain, schema=pa.schema([self.schema.field(name) for name in columns]))


def _top_hits(search: Search, k: int) -> list[Hit]:
    """Return `top_hits`, within the maximum number of hits of Milvus."""
    if k > MAX_HITS:
        raise EngineError(f"{k:,} hits: Milvus returns at most {MAX_HITS:,}")

    def limited(limit: int) -> tuple[list[Hit], float | None]:
        hits, bound = search(min(limit, MAX_HITS))
        return hits, bound if limit < MAX_HITS else None

    return top_hits(limited, k)


def _fields(columns: pa.Schema) -> Any:
    """Return the collection's schema: the columns, and for each text column a field with the server's word counts."""
    fields = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    for column in columns:
        options = _type(column.type)
        if column.name in TEXT_FIELDS:
            options |= {"enable_analyzer": True, "analyzer_params": {"tokenizer": "standard"}}
        fields.add_field(column.name, nullable=column.nullable, is_primary=column.name == "id", **options)
    for name in TEXT_FIELDS:
        fields.add_field(_sparse(name), DataType.SPARSE_FLOAT_VECTOR)
        fields.add_function(Function(f"bm25_of_{name}", FunctionType.BM25, [name], [_sparse(name)]))
    return fields


def _type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_fixed_size_list(kind):
        return {"datatype": DataType.FLOAT_VECTOR, "dim": kind.list_size}
    if pa.types.is_string(kind):
        return {"datatype": DataType.VARCHAR, "max_length": _MAX_BYTES}
    if pa.types.is_list(kind):
        elements = {"element_type": DataType.VARCHAR, "max_length": _MAX_BYTES}
        return {"datatype": DataType.ARRAY, "max_capacity": _MAX_ENTRIES, **elements}
    return {"datatype": DataType.DOUBLE if pa.types.is_floating(kind) else DataType.INT64}


def _sparse(field: str) -> str:
    return f"{field}_bm25"


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _escaped(value) if name in TEXT_FIELDS else value for name, value in record.items()}


def _escaped(words: str) -> str:
    """Escape search terms to lower-case letters and digits, which no analyzer changes: ``$ab$`` is ``z24zabz24z``.

    Milvus Lite has a single analyzer, which lowercases letters and drops signs.
    """
    return re.sub(r"[^a-y0-9 ]", lambda sign: f"z{ord(sign[0]):x}z", words)


def _unescaped(words: str) -> str:
    return re.sub(r"z([0-9a-f]+)z", lambda sign: chr(int(sign[1], 16)), words)


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def _conditions(where: Sequence[Filter]) -> str:
    return write_conditions(where, "array_contains_any", "[]", lambda text: f'"{text.translate(_ESCAPES)}"')
