"""The server as an ASGI application: endpoints, API key, security headers, search page and API description."""

from __future__ import annotations

import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeVar

import anyio
from fastapi import Depends, FastAPI, HTTPException, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import APIKeyHeader
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from tqnet.questions.question import FieldError
from tqnet.search.engine import EngineError
from tqnet.search.records import FilterError
from tqnet.search.searcher import OpenSearcher, QueryError, UnknownIdError
from tqnet.search.versions import IndexFolderError
from tqnet.serving.answers import (
    BatchAnswer,
    BatchItem,
    CheckAnswer,
    Health,
    Problem,
    QuestionBody,
    QuestionHtml,
    SearchAnswer,
    Suggestions,
)
from tqnet.serving.requests import (
    BatchBody,
    PairBody,
    Search,
    SearchBody,
    Settings,
    UploadError,
    make_search,
    read_batch,
    read_search,
)
from tqnet.serving.service import BusyError, Metrics, SearchService, render_typed
from tqnet.version import __version__

_log = logging.getLogger(__name__)

T = TypeVar("T")

_DESCRIPTION = (
    "Similar questions from an index. Where the server has a key, send it as `X-API-Key`. Every error is "
    '`{"detail": "why"}`.'
)

Id = Annotated[str, Path(description="Id of a question; it may contain slashes")]

#: Seconds after which a refused search may be repeated.
_RETRY = 2

#: Searches of a batch that run at a time, so that it leaves room for others.
_AT_ONCE = 4

#: Seconds between two looks for another version of the index.
_NOTICE = 1.0

_PROBLEMS: dict[int, str] = {
    400: "Malformed JSON, or a query that cannot be answered",
    401: "A missing or wrong key",
    403: "Not the key to write",
    404: "No such question or figure",
    413: "Too many bytes (as plain text), characters or pixels",
    415: "An unsupported type",
    422: "An invalid value of a field, a malformed filter, a damaged figure",
    429: "Too many searches are waiting; the header Retry-After has the seconds to wait",
    503: "The index cannot be read",
}

_KEY = APIKeyHeader(name="X-API-Key", auto_error=False)

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


def create_app(index: FilePath, open_searcher: OpenSearcher, settings: Settings | None = None) -> FastAPI:
    """Make the application that answers from the current version of an index.

    Args:
        index: Its folder.
        open_searcher: See `Follower`, also for the errors raised.
    """
    settings = settings or Settings()
    metrics = Metrics()
    service = SearchService(index, open_searcher, settings, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_notice_versions, service)
            yield
            tasks.cancel_scope.cancel()
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
    app.middleware("http")(partial(_guard, metrics))
    if settings.origins:  # the outermost: a browser asks without a key first
        headers = [_KEY.model.name, "Content-Type"]
        methods = ["GET", "POST"]
        app.add_middleware(CORSMiddleware, allow_origins=settings.origins, allow_methods=methods, allow_headers=headers)
    for kind in _ANSWERS:
        app.add_exception_handler(kind, _handle)
    _add_api(app, service, settings, metrics)
    _add_page(app)
    return app


async def _notice_versions(service: SearchService) -> None:
    """Follow the index also while nobody searches."""
    while True:
        await anyio.sleep(_NOTICE)
        await anyio.to_thread.run_sync(service.notice_version)


async def _guard(metrics: Metrics, request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Add the headers to every response, and count it."""
    started, status = time.perf_counter(), 500
    try:
        response = await answer(request)
        response.headers.update(_HEADERS)
        status = response.status_code
        return response
    finally:
        # The pattern of the path: each path would be a series of its own.
        endpoint = getattr(request.scope.get("route"), "path", "other")
        metrics.requests.labels(endpoint, status).inc()
        metrics.seconds.labels(endpoint).observe(time.perf_counter() - started)


def _add_api(app: FastAPI, service: SearchService, settings: Settings, metrics: Metrics) -> None:
    def is_one(key: str | None, *expected: str | None) -> bool:
        given = (key or "").encode("latin-1")
        return any(hmac.compare_digest(given, one.encode()) for one in expected if one is not None)

    async def check_key(key: Annotated[str | None, Depends(_KEY)]) -> None:
        if settings.api_key is not None and not is_one(key, settings.api_key, settings.write_key):
            raise HTTPException(401, f"send the key in the header {_KEY.model.name}")

    async def check_write_key(key: Annotated[str | None, Depends(_KEY)]) -> None:
        if settings.write_key is not None and not is_one(key, settings.write_key):
            raise HTTPException(403, f"send the key to write in the header {_KEY.model.name}")

    needs_key = [Depends(check_key)]
    limiter = anyio.CapacityLimiter(settings.queue)

    async def in_turn(work: Callable[[Search], T], request: Request) -> T:
        with service.room():  # before reading the figures, which take memory
            search = await read_search(request, settings)
            return await anyio.to_thread.run_sync(work, search, limiter=limiter)

    @app.post(
        "/search",
        summary="Find similar questions",
        dependencies=needs_key,
        responses=_problems(400, 401, 404, 413, 415, 422, 429, 503),
        openapi_extra=_search_body(),
    )
    async def search(request: Request) -> SearchAnswer:
        """The query is a text, figures, or both; or a question of the index. JSON, or a form with figures."""
        return await in_turn(service.answer, request)

    @app.post(
        "/search/batch",
        summary="Many searches in one request",
        dependencies=needs_key,
        responses=_problems(400, 401, 413, 422),
        openapi_extra={"requestBody": {"content": {"application/json": {"schema": BatchBody.model_json_schema()}}}},
    )
    async def batch(request: Request) -> BatchAnswer:
        """A hundred searches at most, without figures; one that fails does not fail the others."""
        bodies = await read_batch(request)
        answers: list[BatchItem | None] = [None] * len(bodies)
        at_once = anyio.CapacityLimiter(_AT_ONCE)

        async def answer(place: int) -> None:
            async with at_once:
                try:
                    search = make_search(bodies[place], (), settings)
                    with service.room():
                        found = await anyio.to_thread.run_sync(service.answer, search, limiter=limiter)
                    answers[place] = BatchItem(status=200, answer=found)
                except HTTPException as error:
                    answers[place] = BatchItem(status=error.status_code, detail=error.detail)
                except tuple(_ANSWERS) as error:
                    response = await _handle(request, error)
                    detail = json.loads(bytes(response.body))["detail"]
                    answers[place] = BatchItem(status=response.status_code, detail=detail)

        async with anyio.create_task_group() as tasks:
            for place in range(len(bodies)):
                tasks.start_soon(answer, place)
        return BatchAnswer(answers=[item for item in answers if item is not None])

    @app.post(
        "/check",
        summary="Whether a question is there already",
        dependencies=needs_key,
        responses=_problems(400, 401, 404, 413, 415, 422, 429, 503),
        openapi_extra=_search_body(),
    )
    async def check(request: Request) -> CheckAnswer:
        """Ask before a question is saved. Text, options, figures and id of the search fields count."""
        return await in_turn(service.check_question, request)

    @app.post(
        "/render",
        summary="A typed question as HTML",
        dependencies=needs_key,
        responses=_problems(400, 401, 413, 415, 422),
        openapi_extra=_search_body(),
    )
    async def render(request: Request) -> QuestionHtml:
        """As a search would read its formulas. The body is that of a search; text and options alone have an effect."""
        search = await read_search(request, settings)  # without waiting: no model is needed
        return await anyio.to_thread.run_sync(render_typed, search)

    @app.post(
        "/pairs",
        summary="Keep a judgement of a pair",
        dependencies=[*needs_key, Depends(check_write_key)],
        status_code=204,
        responses=_problems(400, 401, 403, 404, 413, 422, 503),
    )
    def judge(pair: PairBody) -> None:
        """In the file of `tqnet serve --pairs`, for training and evaluation; 404 without such a file."""
        if len(pair.text or "") > settings.max_text:
            raise HTTPException(413, f"text: more than {settings.max_text:,} characters")
        service.judge(pair)

    @app.get(
        "/questions/{id:path}/figures/{number}",
        summary="A figure of a question",
        dependencies=needs_key,
        response_class=Response,
        responses={200: {"content": {"image/png": {}}}, **_problems(401, 404, 503)},
    )
    def figure(id: Id, number: Annotated[int, Path(description="From 1")]) -> Response:
        """As PNG, on white."""
        return Response(service.figure(id, number), media_type="image/png")

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

    @app.get(
        "/health",
        summary="Whether the server can answer",
        response_model_exclude_none=True,
        responses=_problems(503),
    )
    def health() -> Health:
        """Needs no key."""
        service.check()
        return Health(note=service.note)

    @app.get("/metrics", summary="Numbers for Prometheus", dependencies=needs_key, response_class=Response)
    async def numbers() -> Response:
        """Requests, latencies, waiting searches, batch sizes, the cache, whether the index is behind."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page(app: FastAPI) -> None:
    def fields(schema: dict[str, Any]) -> dict[str, Any]:
        """Return the properties of a schema, or of that which it refers to."""
        if reference := schema.get("$ref"):
            schema = app.openapi()["components"]["schemas"][reference.rpartition("/")[2]]
        return schema.get("properties", {})

    environment = Environment(autoescape=True, loader=PackageLoader("tqnet.serving", "page"))
    environment.filters["fields"] = fields
    index = (files("tqnet.serving") / "page" / "index.html").read_bytes()

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(index)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """Render the description of the API as HTML that fetches nothing from elsewhere."""
        return HTMLResponse(environment.get_template("docs.html.j2").render(app.openapi()))

    app.mount("/page", StaticFiles(packages=[("tqnet.serving", "page")]))


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


async def _handle(request: Request, error: Exception) -> Response:
    return next(answer for kind, answer in _ANSWERS.items() if isinstance(error, kind))(error)


def _problem(status: int, error: object, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status, headers)


def _unreadable(error: Exception) -> Response:
    # The message names folders of this machine.
    _log.error("%s", error)
    return _problem(503, "the index cannot be read now; see the server's log")


def _invalid(error: RequestValidationError) -> Response:
    faults = []
    for fault in error.errors():
        place = ".".join(str(part) for part in fault["loc"] if part not in ("body", "path", "query"))
        faults.append(f"{place or 'body'}: {fault['msg']}")
    return _problem(422, "; ".join(faults))


#: Errors of a request or the index -> response; subclasses first.
_ANSWERS: dict[type[Exception], Callable[[Any], Response]] = {
    UnknownIdError: partial(_problem, 404),
    QueryError: partial(_problem, 400),
    FilterError: partial(_problem, 422),
    FieldError: partial(_problem, 422),
    RequestValidationError: _invalid,
    UploadError: lambda error: _problem(error.status, error),
    BusyError: lambda error: _problem(429, f"{error}; try again", {"Retry-After": str(_RETRY)}),
    EngineError: _unreadable,
    IndexFolderError: _unreadable,
}
