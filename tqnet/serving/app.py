"""The server as an ASGI application: endpoints, API key, security headers, search page and API description."""

from __future__ import annotations

import hmac
import html
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Annotated, Any

import anyio
from fastapi import Depends, FastAPI, HTTPException, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import APIKeyHeader
from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tqnet.questions.question import FieldError
from tqnet.search.engine import EngineError
from tqnet.search.index import IndexFolderError
from tqnet.search.records import FilterError
from tqnet.search.searcher import QueryError, Searcher, UnknownIdError
from tqnet.serving.models import Health, Problem, QuestionBody, SearchAnswer, SearchBody, Suggestions
from tqnet.serving.requests import Settings, UploadError, read_search
from tqnet.serving.service import BusyError, Metrics, SearchService
from tqnet.version import __version__

_log = logging.getLogger(__name__)

_DESCRIPTION = (
    "Similar questions from an index. Where the server has a key, send it as `X-API-Key`. Every error is "
    '`{"detail": "why"}`.'
)

Id = Annotated[str, Path(description="Id of a question; it may contain slashes")]

#: Seconds after which a refused search may be repeated.
_RETRY = 2

_PAGE = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}

_PROBLEMS: dict[int, str] = {
    400: "Malformed JSON, or a query that cannot be answered",
    401: "A missing or wrong key",
    404: "No such question or figure",
    413: "Too many bytes (as plain text), characters or pixels",
    415: "An unsupported type",
    422: "An invalid value of a field, a malformed filter, a damaged figure",
    429: "Too many searches are waiting; the header Retry-After has the seconds to wait",
    503: "The index cannot be read",
}


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


def create_app(searcher: Searcher, settings: Settings | None = None) -> FastAPI:
    """Make the application that answers from the index of ``searcher``."""
    settings = settings or Settings()
    metrics = Metrics()
    service = SearchService(searcher, settings, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await anyio.to_thread.run_sync(service.close)

    app = FastAPI(
        title="tqnet serve",
        description=_DESCRIPTION,
        version=__version__,
        docs_url=None,  # FastAPI's own pages fetch their scripts from elsewhere
        redoc_url=None,
        max_body_size=settings.max_upload,
        lifespan=lifespan,
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts), www_redirect=False)
    app.add_middleware(Guarded, metrics=metrics)
    _add_errors(app)
    _add_page(app)
    _add_api(app, service, settings, metrics)
    return app


def _add_api(app: FastAPI, service: SearchService, settings: Settings, metrics: Metrics) -> None:
    needs_key = [Depends(KeyCheck(settings)), Depends(APIKeyHeader(name=KEY_HEADER, auto_error=False))]
    limiter = anyio.CapacityLimiter(settings.queue)

    @app.post(
        "/search",
        summary="Find similar questions",
        dependencies=needs_key,
        responses=_problems(400, 401, 404, 413, 415, 422, 429, 503),
        openapi_extra=_SEARCH_BODY,
    )
    async def search(request: Request) -> SearchAnswer:
        """The query is a text, figures, or both; or a question of the index. JSON, or a form with figures."""
        with service.room():  # before reading the figures, which take memory
            query = await read_search(request, settings)
            return await anyio.to_thread.run_sync(service.answer, query, limiter=limiter)

    @app.get(
        "/questions/{id:path}/figures/{number}",
        summary="A figure of a question",
        dependencies=needs_key,
        response_class=Response,
        responses={200: {"content": {"image/png": {}}}, **_problems(401, 404, 503)},
    )
    def figure(id: Id, number: Annotated[int, Path(description="From 1")]) -> Response:
        """As PNG, on white."""
        try:
            return Response(service.figure(id, number), media_type="image/png")
        except UnknownIdError:
            raise
        except ValueError:
            raise HTTPException(404, f"figure {number} of question {id!r} cannot be read") from None

    @app.get(
        "/questions/{id:path}",
        summary="A question with its solution",
        dependencies=needs_key,
        responses=_problems(401, 404, 503),
    )
    def question(id: Id) -> QuestionBody:
        """All fields of the bank that are meant for people."""
        return service.question(id)

    @app.get("/filters", summary="Values to filter by", dependencies=needs_key, responses=_problems(401, 503))
    def filters() -> Suggestions:
        """The values in the index."""
        return service.suggestions()

    @app.get("/health", summary="Whether the server can answer", responses=_problems(503))
    def health() -> Health:
        """Needs no key."""
        service.check()
        return Health()

    @app.get("/metrics", summary="Numbers for Prometheus", dependencies=needs_key, response_class=Response)
    async def numbers() -> Response:
        """Requests, latencies, waiting searches, batch sizes, the cache."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page(app: FastAPI) -> None:
    folder = files("tqnet.serving") / "page"
    index = (folder / "index.html").read_bytes()
    parts = {name: (folder / name).read_bytes() for name in _PAGE}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return Response(index, media_type="text/html; charset=utf-8")

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in parts:
            raise HTTPException(404, "no such file")
        return Response(parts[name], media_type=_PAGE[name])

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(docs_page(app.openapi()), media_type="text/html; charset=utf-8")


def _add_errors(app: FastAPI) -> None:
    async def handle(request: Request, error: Exception) -> Response:
        return next(answer for kind, answer in _ANSWERS.items() if isinstance(error, kind))(error)

    for kind in _ANSWERS:
        app.add_exception_handler(kind, handle)


def _unreadable(error: Exception) -> Response:
    # The message names folders of this machine.
    _log.error("%s", error)
    return _problem(503, "the index cannot be read now; see the server's log")


def _fault(error: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"] if part not in ("body", "path", "query"))
    return f"{place or 'body'}: {error['msg']}"


def _problem(status: int, why: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": why}, status, headers)


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Problem, "description": _PROBLEMS[status]} for status in statuses}


def _search_body() -> dict[str, Any]:
    """Describe a body of two content types; FastAPI describes bodies of one."""
    fields = SearchBody.model_json_schema()
    figures = {
        "type": "array",
        "items": {"type": "string", "format": "binary"},
        "description": "Figures of the query: PNG, JPEG, GIF, WebP or BMP",
    }
    form = fields | {"properties": fields["properties"] | {"figures": figures}}
    content = {"application/json": {"schema": fields}, "multipart/form-data": {"schema": form}}
    return {"requestBody": {"required": True, "content": content}}


_SEARCH_BODY = _search_body()

#: Errors of a request or the index -> response; subclasses first.
_ANSWERS: dict[type[Exception], Callable[[Any], Response]] = {
    UnknownIdError: lambda error: _problem(404, str(error)),
    QueryError: lambda error: _problem(400, str(error)),
    FilterError: lambda error: _problem(422, str(error)),
    FieldError: lambda error: _problem(422, str(error)),
    RequestValidationError: lambda error: _problem(422, "; ".join(map(_fault, error.errors()))),
    UploadError: lambda error: _problem(error.status, str(error)),
    BusyError: lambda error: _problem(429, f"{error}; try again", {"Retry-After": str(_RETRY)}),
    EngineError: _unreadable,
    IndexFolderError: _unreadable,
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


def docs_page(description: dict[str, Any]) -> str:
    """Render an OpenAPI description as HTML that fetches nothing from elsewhere."""
    sections = "".join(
        _operation(method, path, operation, description)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    title, version = (html.escape(description["info"][name]) for name in ("title", "version"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}: API</title><link rel="stylesheet" href="/page/page.css">'
        '<link rel="icon" href="/page/icon.svg"></head><body class="docs"><main>'
        f"<h1>{title} <small>{version}</small></h1><p>{_code(description['info']['description'])} "
        '<a href="/openapi.json">openapi.json</a> · <a href="/">search page</a></p>'
        f"{sections}</main></body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any], description: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    bodies = [_resolved(body["schema"], description)["properties"] for body in content.values()]
    rows = [_row(item["name"], item["schema"] | item, item["in"]) for item in operation.get("parameters", [])]
    rows += [
        _row(name, field, "body" if all(name in body for body in bodies) else "only in a form")
        for name, field in (bodies[-1] if bodies else {}).items()  # the form has every field of the JSON
    ]
    answers = [
        f"<tr><td><code>{html.escape(status)}</code></td><td>{html.escape(answer['description'])}</td>"
        f"<td>{_schema(answer, description)}</td></tr>"
        for status, answer in operation["responses"].items()
    ]
    return (
        f"<section><h2><code>{method.upper()} {html.escape(path)}</code></h2>"
        f"<p><b>{html.escape(operation['summary'])}.</b> {_code(operation.get('description', ''))}</p>"
        + _table("Request", rows)
        + _table("Responses", answers)
        + "</section>"
    )


def _row(name: str, field: dict[str, Any], where: str) -> str:
    kinds = [option.get("type", "") for option in field.get("anyOf", [field])]
    kind = " or ".join(filter(None, kinds)) + (f", by default {field['default']}" if field.get("default") else "")
    return (
        f"<tr><td><code>{html.escape(name)}</code></td><td>{_code(field.get('description', ''))}</td>"
        f"<td>{html.escape(kind)}<br><small>{html.escape(where)}</small></td></tr>"
    )


def _schema(answer: dict[str, Any], description: dict[str, Any]) -> str:
    content = answer.get("content", {})
    names = [
        name
        for body in content.values()
        for name in _resolved(body.get("schema", {}), description).get("properties", {})
    ]
    return " ".join(f"<code>{html.escape(name)}</code>" for name in names) or ", ".join(content)


def _resolved(schema: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return description["components"]["schemas"][name] if name else schema


def _table(title: str, rows: list[str]) -> str:
    return f"<h3>{title}</h3><div class=scroll><table>{''.join(rows)}</table></div>" if rows else ""


def _code(text: str) -> str:
    """Escape a text, and mark what is between backticks as code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
