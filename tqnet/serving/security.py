"""Security headers of every response, and the API key."""

from __future__ import annotations

import hmac
import time

from fastapi import HTTPException, Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tqnet.serving.requests import Settings
from tqnet.serving.service import Metrics

KEY_HEADER = "X-API-Key"

#: Only files of this server; no script or style inside a page, whatever a question contains.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class KeyCheck:
    """A dependency of all endpoints that reveal the index; answers 401 without the key."""

    def __init__(self, settings: Settings):
        self._key = None if settings.api_key is None else settings.api_key.encode()

    async def __call__(self, request: Request) -> None:
        given = request.headers.get(KEY_HEADER, "").encode("latin-1")
        if self._key is not None and not hmac.compare_digest(given, self._key):
            raise HTTPException(401, f"send the key in the header {KEY_HEADER}")


class Guarded:
    """Middleware that adds the headers to every response, and counts it."""

    def __init__(self, app: ASGIApp, metrics: Metrics):
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            # The pattern of the path: each path would be a series of its own.
            endpoint = getattr(scope.get("route"), "path", "other")
            self._metrics.requests.labels(endpoint, status).inc()
            self._metrics.seconds.labels(endpoint).observe(time.perf_counter() - started)
