"""Middleware around every request: its id, headers, log line and metrics; limits on time and on requests per client."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tqnet.serving.metrics import Metrics

#: Logs a line of JSON for each request, with the query if the endpoint left it in ``request.state.search``.
LOG = logging.getLogger("tqnet.requests")
_errors = logging.getLogger(__name__)

_HEADERS = {
    # Only files of this server; no script or style inside a page, whatever a question contains.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

#: Request ids accepted from a proxy; others are replaced.
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Places:
    """Places held by clients; to be used only from the event loop."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._held.total()

    def of(self, client: str) -> int:
        """Return the number of places that a client holds."""
        return self._held[client]

    @contextmanager
    def hold(self, client: str) -> Iterator[None]:
        """Hold one more place."""
        self._held[client] += 1
        try:
            yield
        finally:
            self._held[client] -= 1
            self._held += Counter()  # drops zeros


class Guard:
    """ASGI middleware around the whole application.

    Args:
        body_seconds: Seconds for a request's body to arrive; otherwise the answer is 408.
        per_client: Maximum number of concurrent POST, PUT and DELETE requests of an address; more get 429. 0 for no
            limit.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, body_seconds: float, per_client: int):
        self._app, self._metrics = app, metrics
        self._body_seconds, self._per_client = body_seconds, per_client
        self._requests = Places()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500
        request_id = _id_of(scope)

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                ours = {**_HEADERS, "X-Request-ID": request_id}
                taken = {name.lower().encode() for name in ours}
                kept = [(name, value) for name, value in message["headers"] if name.lower() not in taken]
                added = [(name.lower().encode(), value.encode()) for name, value in ours.items()]
                message = {**message, "headers": [*kept, *added]}
            await send(message)

        try:
            await self._within_limits(scope, self._in_time(receive), send_marked)
        except ClientDisconnect:
            status = 499
        except Exception:
            _errors.exception("request %s", request_id)
            if status != 500:  # part of a response was sent: close the connection
                raise
            await JSONResponse({"detail": "the server failed; see its log"}, 500)(scope, receive, send_marked)
        finally:
            # The pattern of the path: otherwise each path would be a separate series.
            endpoint = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - started
            self._metrics.requests.labels(endpoint, status).inc()
            self._metrics.seconds.labels(endpoint).observe(seconds)
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "request": request_id,
                "client": client_of(scope),
                "method": scope["method"],
                "endpoint": endpoint,
                "status": status,
                "seconds": round(seconds, 4),
            }
            if search := scope.get("state", {}).get("search"):
                line["search"] = search
            LOG.info(json.dumps(line))

    async def _within_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = client_of(scope)
        if not self._per_client or scope["method"] not in ("POST", "PUT", "DELETE"):
            await self._app(scope, receive, send)
        elif self._requests.of(client) >= self._per_client:
            detail = f"only {self._per_client} requests from this address are answered at a time; try again"
            await JSONResponse({"detail": detail}, 429, {"Retry-After": "2"})(scope, receive, send)
        else:
            with self._requests.hold(client):
                await self._app(scope, receive, send)

    def _in_time(self, receive: Receive) -> Receive:
        deadline, is_whole = anyio.current_time() + self._body_seconds, False

        async def receive_in_time() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            with anyio.move_on_at(deadline):
                message = await receive()
                is_whole = not message.get("more_body", False)
                return message
            raise HTTPException(408, f"the body did not arrive within {self._body_seconds:g} seconds")

        return receive_in_time


def _id_of(scope: Scope) -> str:
    given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
    return given if _GIVEN.fullmatch(given) else uuid.uuid4().hex


def client_of(scope: Scope) -> str:
    """Return the address that a request came from, as given by a trusted proxy."""
    client: Any = scope.get("client")
    return client[0] if client else ""
