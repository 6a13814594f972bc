"""The server as an ASGI application: endpoints, API key, search page and API description."""

from __future__ import annotations

import hmac
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeVar

import anyio
from fastapi import Depends, FastAPI, HTTPException, Path, Request, Response
from fastapi.params import Depends as DependsParameter
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import APIKeyHeader
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from tqnet.search.searcher import OpenSearcher, UnknownIdError
from tqnet.serving import examples, figures
from tqnet.serving.answers import (
    BatchAnswer,
    BatchItem,
    CheckAnswer,
    Health,
    QuestionBody,
    QuestionHtml,
    Ready,
    SearchAnswer,
    Suggestions,
    Written,
)
from tqnet.serving.metrics import Metrics
from tqnet.serving.middleware import Guard, client_of
from tqnet.serving.problems import ANSWERS, handle, problems
from tqnet.serving.requests import (
    BatchBody,
    PairBody,
    QuestionRecord,
    Search,
    SearchBody,
    Settings,
    make_search,
    read_batch,
    read_json,
    read_pair,
    read_search,
)
from tqnet.serving.service import SearchService, render_typed
from tqnet.serving.writing import MAX_RECORDS
from tqnet.version import __version__

T = TypeVar("T")

_DESCRIPTION = (
    "Similar questions from an index. If the server has a key, send it as `X-API-Key`. Every error is "
    '`{"detail": "why"}`.'
)

Id = Annotated[str, Path(description="Id of a question; it may contain slashes")]

#: Number of searches of a batch that run at a time, to leave room for others.
_AT_ONCE = 4

#: Seconds between two checks for another version of the index.
_NOTICE = 1.0

_KEY = APIKeyHeader(name="X-API-Key", auto_error=False)


def create_app(index: FilePath, open_searcher: OpenSearcher, settings: Settings | None = None) -> FastAPI:
    """Make the application that answers from the current version of an index.

    Args:
        index: Folder of the index.
        open_searcher: See `Follower`, also for the errors raised.
    """
    settings = settings or Settings()
    metrics = Metrics()
    service = SearchService(index, open_searcher, settings, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        figures.start()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_notice_versions, service)
            yield
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(service.close)

    app = FastAPI(
        title="tqnet serve",
        description=_DESCRIPTION,
        version=__version__,
        docs_url=None,  # FastAPI's own pages fetch scripts from other servers
        redoc_url=None,
        max_body_size=settings.max_upload,
        lifespan=lifespan,
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts), www_redirect=False)
    app.add_middleware(Guard, metrics=metrics, body_seconds=settings.body_seconds, per_client=settings.per_client)
    if settings.origins:  # outermost: a browser first asks without a key
        headers = [_KEY.model.name, "Content-Type"]
        methods = ["GET", "POST", "PUT", "DELETE"]
        app.add_middleware(CORSMiddleware, allow_origins=settings.origins, allow_methods=methods, allow_headers=headers)
    for kind in ANSWERS:
        app.add_exception_handler(kind, handle)
    _add_api(app, service, settings, metrics)
    _add_page(app)
    return app


async def _notice_versions(service: SearchService) -> None:
    """Follow the index even while nobody searches."""
    while True:
        await anyio.sleep(_NOTICE)
        await anyio.to_thread.run_sync(service.notice_version)


def _add_api(app: FastAPI, service: SearchService, settings: Settings, metrics: Metrics) -> None:
    def is_any_of(key: str | None, *expected: str | None) -> bool:
        given = (key or "").encode("latin-1")
        return any(hmac.compare_digest(given, valid.encode()) for valid in expected if valid is not None)

    async def check_key(key: Annotated[str | None, Depends(_KEY)]) -> None:
        if settings.api_key is not None and not is_any_of(key, settings.api_key, settings.write_key):
            raise HTTPException(401, f"send the key in the header {_KEY.model.name}")

    async def check_write_key(key: Annotated[str | None, Depends(_KEY)]) -> None:
        if settings.write_key is not None and not is_any_of(key, settings.write_key):
            raise HTTPException(403, f"send the key for writing in the header {_KEY.model.name}")

    needs_key = [Depends(check_key)]
    may_write = [*needs_key, Depends(check_write_key)]
    limiter = anyio.CapacityLimiter(settings.queue)

    async def in_turn(work: Callable[[Search], T], request: Request) -> T:
        search = await read_search(request, settings)
        if settings.log_queries:
            request.state.search = search.body.model_dump(exclude_defaults=True)
        with service.room(search.client):  # only now, so that slow uploads do not block others
            return await anyio.to_thread.run_sync(work, search, limiter=limiter)

    @app.post(
        "/search",
        summary="Find similar questions",
        dependencies=needs_key,
        responses=_example(examples.ANSWER) | problems(400, 401, 404, 413, 415, 422, 429, 503),
        openapi_extra=_search_body(examples.SEARCH),
    )
    async def search(request: Request) -> SearchAnswer:
        """The query is a text, figures, or both; or a question of the index. JSON, or a form with figures."""
        return await in_turn(service.answer, request)

    @app.post(
        "/search/batch",
        summary="Many searches in one request",
        dependencies=needs_key,
        responses=problems(400, 401, 413, 422),
        openapi_extra=_json_body(BatchBody.model_json_schema(), examples.BATCH),
    )
    async def batch(request: Request) -> BatchAnswer:
        """At most 100 searches, without figures; if one fails, the others still run."""
        bodies = await read_batch(request)
        answers: list[BatchItem | None] = [None] * len(bodies)
        at_once = anyio.CapacityLimiter(_AT_ONCE)

        async def answer(place: int) -> None:
            async with at_once:
                if await request.is_disconnected():
                    return
                try:
                    search = await anyio.to_thread.run_sync(make_search, bodies[place], (), settings)
                    with service.room(client_of(request.scope)):
                        result = await anyio.to_thread.run_sync(service.answer, search, limiter=limiter)
                    answers[place] = BatchItem(status=200, answer=result)
                except HTTPException as error:
                    answers[place] = BatchItem(status=error.status_code, detail=error.detail)
                except tuple(ANSWERS) as error:
                    response = await handle(request, error)
                    detail = json.loads(bytes(response.body))["detail"]
                    answers[place] = BatchItem(status=response.status_code, detail=detail)

        async with anyio.create_task_group() as tasks:
            for place in range(len(bodies)):
                tasks.start_soon(answer, place)
        return BatchAnswer(answers=[item for item in answers if item is not None])

    @app.post(
        "/check",
        summary="Whether a question already exists",
        dependencies=needs_key,
        responses=problems(400, 401, 404, 413, 415, 422, 429, 503),
        openapi_extra=_search_body(examples.CHECK),
    )
    async def check(request: Request) -> CheckAnswer:
        """Ask before saving a question. Of the fields of a search, text, options, figures and id are used."""
        return await in_turn(service.check_question, request)

    @app.post(
        "/render",
        summary="A typed question as HTML",
        dependencies=needs_key,
        responses=problems(400, 401, 413, 415, 422),
        openapi_extra=_search_body(examples.CHECK),
    )
    async def render(request: Request) -> QuestionHtml:
        """Formulas are read as in a search. The body is that of a search; only text and options are used."""
        search = await read_search(request, settings)  # without waiting: no model is needed
        return await anyio.to_thread.run_sync(render_typed, search)

    @app.post(
        "/pairs",
        summary="Keep a judgement of a pair",
        dependencies=may_write,
        status_code=204,
        responses=problems(400, 401, 403, 404, 413, 422, 503),
        openapi_extra=_json_body(PairBody.model_json_schema(), examples.PAIR),
    )
    async def judge(request: Request) -> None:
        """Judgements are kept in the file of `tqnet serve --pairs`, for training and evaluation; 404 without a file."""
        pair = await read_pair(request, settings)
        await anyio.to_thread.run_sync(service.judge, pair)

    @app.get(
        "/questions/{id:path}/figures/{number:int}",
        summary="A figure of a question",
        dependencies=needs_key,
        response_class=Response,
        responses={200: {"content": {"image/png": {}}}, **problems(401, 404, 503)},
    )
    def figure(id: Id, number: Annotated[int, Path(description="From 1")]) -> Response:
        """As PNG, on white. Without such a figure, the question whose id is the whole rest of the path."""
        try:
            return Response(service.figure(id, number), media_type="image/png")
        except UnknownIdError:
            with suppress(UnknownIdError):
                return JSONResponse(service.question(f"{id}/figures/{number}").model_dump(mode="json"))
            raise

    @app.get(
        "/questions/{id:path}",
        summary="A question with its solution",
        dependencies=needs_key,
        responses=problems(401, 404, 503),
    )
    def question(id: Id) -> QuestionBody:
        """All fields of the question that are meant for people."""
        return service.question(id)

    @app.get("/filters", summary="Values to filter by", dependencies=needs_key, responses=problems(401, 503))
    def filters() -> Suggestions:
        """The values in the index."""
        return service.suggestions()

    @app.get("/health", summary="Whether the server runs")
    async def health() -> Health:
        """Needs no key; says nothing about the index."""
        return Health()

    @app.get(
        "/ready",
        summary="Whether the server can answer",
        response_model_exclude_none=True,
        responses=problems(503),
    )
    def ready() -> Ready:
        """Needs no key. The note says why an older version of the index is searched."""
        service.check()
        return Ready(note=service.note)

    @app.get("/metrics", summary="Numbers for Prometheus", dependencies=needs_key, response_class=Response)
    async def numbers() -> Response:
        """Requests, latencies, waiting searches, batch sizes, the cache, whether the index is behind."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    if settings.writable:
        _add_writing(app, service, may_write, limiter)


def _add_writing(
    app: FastAPI, service: SearchService, may_write: Sequence[DependsParameter], limiter: anyio.CapacityLimiter
) -> None:
    async def write(work: Callable[[Any], T], argument: Any) -> T:
        return await anyio.to_thread.run_sync(work, argument, limiter=limiter)

    @app.put(
        "/questions",
        summary="Insert or replace questions",
        dependencies=may_write,
        responses=problems(400, 401, 403, 413, 422, 429, 503),
        openapi_extra=_json_body(
            {"type": "array", "items": QuestionRecord.model_json_schema(), "minItems": 1, "maxItems": MAX_RECORDS},
            examples.QUESTIONS,
        ),
    )
    async def put(request: Request) -> Written:
        """By id: at most 1000 records of a bank, without figures; nothing is written unless all are valid."""
        with service.room(client_of(request.scope)):
            changes = await write(service.writer.put, await read_json(request))
        return Written(**asdict(changes))

    @app.delete(
        "/questions/{id:path}",
        summary="Remove a question",
        dependencies=may_write,
        status_code=204,
        responses=problems(401, 403, 404, 429, 503),
    )
    async def delete(id: Id, request: Request) -> None:
        """The next search does not find the question."""
        with service.room(client_of(request.scope)):
            await write(service.writer.delete, id)


def _add_page(app: FastAPI) -> None:
    def fields(schema: dict[str, Any]) -> dict[str, Any]:
        """Return the properties of a schema, or of the schema it refers to."""
        if reference := schema.get("$ref"):
            schema = app.openapi()["components"]["schemas"][reference.rpartition("/")[2]]
        schema = schema.get("items", schema)
        return schema.get("properties", {})

    environment = Environment(autoescape=True, loader=PackageLoader("tqnet.serving", "page"))
    environment.filters["fields"] = fields
    index = (files("tqnet.serving") / "page" / "index.html").read_bytes()

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(index)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """Render the description of the API as HTML that fetches nothing from other servers."""
        return HTMLResponse(environment.get_template("docs.html.j2").render(app.openapi()))

    app.mount("/page", StaticFiles(packages=[("tqnet.serving", "page")]))


def _example(value: Any) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {"application/json": {"example": value}}}}


def _json_body(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    """Describe a body that the endpoint parses itself."""
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def _search_body(example: dict[str, Any]) -> dict[str, Any]:
    """Describe a body of two content types; FastAPI only describes bodies of one."""
    fields = SearchBody.model_json_schema()
    figures = {
        "type": "array",
        "items": {"type": "string", "format": "binary"},
        "description": "Figures of the query: PNG, JPEG, GIF, WebP or BMP",
    }
    form = fields | {"properties": fields["properties"] | {"figures": figures}}
    body = _json_body(fields, example)
    body["requestBody"]["content"]["multipart/form-data"] = {"schema": form}
    return body
