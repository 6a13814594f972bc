"""Read search requests, JSON or forms with figures, and reject those that are too large or of another type."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import anyio
from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.types import Message

from tqnet.questions.pairs import Classify
from tqnet.search.ranking import FLOOR
from tqnet.search.records import Filter, read_filter
from tqnet.search.rerank import Curriculum, Rerank
from tqnet.search.retrieval import SOURCES
from tqnet.search.searcher import QueryError
from tqnet.serving.figures import Upload
from tqnet.serving.judgements import Label
from tqnet.serving.middleware import client_of

#: Maximum number of errors in a response, and of fields in a request.
_MAX_ERRORS, _MAX_FIELDS = 10, 40

#: Maximum number of bytes of a search in JSON: twice what its longest text, options and filters take.
_MAX_JSON = 2**20


T = TypeVar("T", bound=BaseModel)


class SearchBody(BaseModel):
    """A query: text, figures or both, or the id of a question of the index."""

    model_config = ConfigDict(extra="forbid")

    text: str | None = Field(None, description="Stem of the query, with LaTeX formulas: $..$, $$..$$, \\(..\\)")
    options: list[Annotated[str, Field(max_length=2000)]] = Field(
        [], max_length=26, description="Options of a typed query"
    )
    id: str | None = Field(
        None, max_length=2000, description="Find questions similar to the question of the index with this id"
    )
    k: int = Field(5, ge=1, le=100, description="Number of results")
    offset: int = Field(0, ge=0, le=900, description="Number of results to skip: those of previous pages")
    filters: list[Annotated[str, Field(max_length=2000)]] = Field(
        [],
        max_length=20,
        description="Conditions, all of which must hold: difficulty<=3, type=choice|blank, concept=Algebra/Equations. "
        "Fields: id, concept, difficulty, type, language, source, figures",
    )
    fold: bool = Field(
        True, description="Results that differ only in numbers or figures, or share their story, are one result"
    )
    exact_spelling: bool = Field(
        False, description="Search for the text as typed; otherwise its misspelt words are corrected, with a note"
    )
    floor: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Evidence that results must exceed; by default the server's floor",
    )
    ids_only: bool = Field(False, description="Return only id and score of results")
    by: Literal["both", "text", "vector"] = Field("both", description="Search by words, vectors or both")
    duplicates: Literal["show", "hide", "only"] = Field(
        "show",
        description="Questions that repeat the query: show them next to the results, hide them, or list only them, "
        "unfiltered",
    )
    difficulty: float | None = Field(None, allow_inf_nan=False, description="Difficulty of a query by text or figures")
    student: Literal["strong", "weak"] | None = Field(
        None,
        description="strong: nothing easier than the query; weak: nothing harder; no effect, with a note, if the query "
        "has no difficulty",
    )
    tolerance: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="Maximum difference of difficulties that count as equal"
    )
    stage: Literal["practice", "review"] | None = Field(
        None,
        description="practice: nothing beyond the current section of the server's curriculum; review: nothing beyond "
        "the current semester",
    )
    prefer: Literal["variant", "similar"] | None = Field(
        None, description="Kind to list first, by the server's classifier of pairs; duplicates are dropped"
    )
    section: str | None = Field(None, max_length=2000, description="Current section; by default the query's latest")
    diversity: float = Field(0.0, ge=0, le=1, description="How far to move repetitive questions down")


class BatchBody(BaseModel):
    """Searches without figures."""

    model_config = ConfigDict(extra="forbid")

    searches: list[Any] = Field(min_length=1, max_length=100, description="Searches, each as in POST /search")


class PairBody(BaseModel):
    """A judgement of a query, by text or id, and a result."""

    model_config = ConfigDict(extra="forbid")

    text: str | None = Field(None, description="The typed query")
    options: list[Annotated[str, Field(max_length=2000)]] = Field(
        [], max_length=26, description="Options of a typed query"
    )
    id: str | None = Field(None, max_length=2000, description="Id of the query, if it is a question of the index")
    result: str = Field(max_length=2000, description="Id of the result")
    label: Label | None = Field(description="null removes an earlier judgement of the pair")


class QuestionRecord(BaseModel):
    """A question in the format of a bank, without figures; described here, read by `tqnet.questions.reading`."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(description="Unique in the index")
    stem: str = Field(description="Text with LaTeX formulas, or HTML")
    options: list[str] = Field([], description="Options in order, without letters")
    answer: str | None = None
    analysis: str | None = None
    knowledge: list[list[str]] = Field([], description="Concepts, each a path from coarse to fine")
    difficulty: float | None = None
    type: str | None = None
    language: str | None = Field(None, description="ISO 639-1 code")
    group: str | None = Field(None, description="Questions of one group are similar to one another")
    split: Literal["train", "valid", "test"] | None = None
    source: str | None = None


@dataclass(frozen=True)
class Settings:
    """Settings of a server: limits and access.

    Attributes:
        api_key: Key required to read the index; None lets everyone read.
        write_key: Key required to write, which also allows reading; None lets everyone write who may read.
        pairs: File for judgements of pairs; None accepts no judgements.
        floor: Likeness that results must exceed, unless a search sets another one.
        writable: Questions may be put and deleted, only with ``write_key``.
        origins: Origins of other sites whose pages may use the API from a browser (CORS).
        hosts: Accepted host names of the server. They protect from DNS rebinding, where the browser sends the name of
            another site that resolves to this server.
        batch_size: Maximum number of queries to encode together.
        batch_wait: Seconds that the first query of a batch waits for others.
        queue: Maximum number of searches waiting or running; more are rejected.
        per_client: Maximum number of concurrent requests of an address; more are rejected. 0 for no limit.
        body_seconds: Seconds for a request's body to arrive.
        log_queries: Include queries in the log of requests.
        cache: Maximum number of cached answers.
        max_upload: Maximum number of bytes of a request.
        max_pixels: Maximum number of pixels of a figure.
        max_figures: Maximum number of figures of a query.
        max_text: Maximum number of characters of a query.
        curriculum: Curriculum for the learning stage.
        classify: Classifier of variants, similar questions and duplicates.
    """

    api_key: str | None = None
    write_key: str | None = None
    pairs: Path | None = None
    floor: float = FLOOR
    writable: bool = False
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("*",)
    batch_size: int = 32
    batch_wait: float = 0.005
    queue: int = 64
    per_client: int = 32
    body_seconds: float = 15.0
    log_queries: bool = False
    cache: int = 1000
    max_upload: int = 10 * 2**20
    max_pixels: int = 20_000_000
    max_figures: int = 4
    max_text: int = 8000
    curriculum: Curriculum | None = None
    classify: Classify | None = None

    def __post_init__(self) -> None:
        if self.writable and self.write_key is None:
            raise ValueError("writable: needs a key for writing (--write-key-file)")


@dataclass(frozen=True)
class Search:
    """A validated search request, and the address that it came from."""

    body: SearchBody
    figures: tuple[Upload, ...]
    where: tuple[Filter, ...]
    by: tuple[str, ...]
    rerank: Rerank | None
    client: str = ""

    @property
    def key(self) -> Hashable:
        """Cache key: equal for equal searches."""
        written = json.dumps([self.body.model_dump(), [figure.digest for figure in self.figures]])
        return hashlib.blake2b(written.encode(), digest_size=16).digest()


async def read_search(request: Request, settings: Settings) -> Search:
    """Read and validate a request.

    Raises:
        HTTPException: 400 malformed JSON, 413 too long, 415 unsupported content type.
        RequestValidationError: An unknown field, or an invalid value.
        FilterError: A malformed filter.
        QueryError: There is no query, or more than one.
    """
    kind = _media_type(request)
    if kind not in ("application/json", "multipart/form-data"):
        raise HTTPException(415, "send application/json, or multipart/form-data with figures")
    body = await request.body()
    if kind == "application/json" and len(body) > _MAX_JSON:  # its parser blocks everything else
        raise HTTPException(413, f"the body has more than {_MAX_JSON >> 20} MiB")

    def read() -> Search:
        values, figures = (
            (_parsed(body), [])
            if kind == "application/json"
            else asyncio.run(_form(request, body, settings.max_figures))
        )
        return replace(make_search(values, figures, settings), client=client_of(request.scope))

    return await anyio.to_thread.run_sync(read)  # parsing may take long, and others wait for the event loop


async def _form(request: Request, body: bytes, max_figures: int) -> tuple[dict[str, Any], list[Upload]]:
    """Read a form from its complete body."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    limits = {"max_files": max_figures, "max_fields": _MAX_FIELDS, "max_part_size": 2**18}
    async with Request(dict(request.scope), receive).form(**limits) as form:
        return _fields(form), [await _upload(part) for part in form.getlist("figures")]


async def read_batch(request: Request) -> list[Any]:
    """Return the searches of a batch, for :func:`make_search`.

    Raises:
        HTTPException: 400 malformed JSON.
        RequestValidationError: The body is not a batch.
    """
    return _valid(BatchBody, await read_json(request)).searches


async def read_pair(request: Request, settings: Settings) -> PairBody:
    """Return a judgement.

    Raises:
        HTTPException: 400 malformed JSON, 413 too long.
        RequestValidationError: The body is not a judgement.
    """
    pair = _valid(PairBody, await read_json(request))
    _check_length(pair.text, settings)
    return pair


def make_search(values: Any, figures: Sequence[Upload], settings: Settings) -> Search:
    """Validate the fields of a search; raises the errors of :func:`read_search`."""
    body = _valid(SearchBody, values)
    _check_length(body.text, settings)
    if bool((body.text or "").strip() or figures) == (body.id is not None):
        raise QueryError("the query is either text and figures, or the id of a question of the index")
    where, by = tuple(map(read_filter, body.filters)), SOURCES if body.by == "both" else (body.by,)
    return Search(body, tuple(figures), where, by, _rerank(body, settings))


def _rerank(body: SearchBody, settings: Settings) -> Rerank | None:
    if not (body.student or body.stage or body.prefer or body.diversity):
        return None
    wanted = body.model_dump(include={"student", "tolerance", "stage", "section", "prefer", "diversity"})
    try:
        return Rerank(curriculum=settings.curriculum, classify=settings.classify, **wanted)
    except ValueError as error:
        raise QueryError(str(error)) from None


def _valid(model: type[T], values: Any) -> T:
    if isinstance(values, dict) and len(values) > _MAX_FIELDS:  # each would be a separate error
        raise HTTPException(400, f"the body has {len(values):,} fields")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError(error.errors()[:_MAX_ERRORS]) from None


def _check_length(text: str | None, settings: Settings) -> None:
    if len(text or "") > settings.max_text:
        raise HTTPException(413, f"text: more than {settings.max_text:,} characters")


def _media_type(request: Request) -> str:
    """Return the type of the body; HTTPException 415 if its text is not UTF-8."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    charset = options.get(b"charset", b"utf-8").decode("latin-1").lower()
    if charset not in ("utf-8", "utf8"):
        raise HTTPException(415, f"charset: expected utf-8, got {charset:.40}")
    return kind.decode("latin-1").lower()


async def read_json(request: Request) -> Any:
    """Return the body; HTTPException 400 if it is not JSON, 415 if it is not declared as JSON in UTF-8.

    A browser sends text/plain to other sites without asking them first.
    """
    if _media_type(request) != "application/json":
        raise HTTPException(415, "send application/json")
    return await anyio.to_thread.run_sync(_parsed, await request.body())


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None


def _fields(form: FormData) -> dict[str, Any]:
    """Return the texts by name; empty fields of a form do not count."""
    texts = [(name, value) for name, value in form.multi_items() if value != "" and name != "figures"]
    lists = {name: [value for other, value in texts if other == name] for name in ("filters", "options")}
    return dict(texts) | {name: values for name, values in lists.items() if values}


async def _upload(part: UploadFile | str) -> Upload:
    if isinstance(part, str):
        raise HTTPException(422, "figures: must be files, not text")
    return Upload(await part.read())
