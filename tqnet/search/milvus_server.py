"""A Milvus server: its collections, the names that they are known by, and errors that say whose they are."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from pymilvus import MilvusClient, MilvusException

from tqnet.errors import first_line
from tqnet.search.engine import EngineError

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
