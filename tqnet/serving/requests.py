"""Searches as they come in: JSON, or a form with figures; what is too large or of another kind is refused."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from tqnet.search.filters import Filter, read_filter
from tqnet.search.recall import SOURCES
from tqnet.search.rerank import Rerank
from tqnet.search.searcher import QueryError
from tqnet.serving.models import SearchBody
from tqnet.serving.settings import Settings
from tqnet.serving.uploads import Upload

_LISTS = ("filters",)

#: Faults of a request that are told, and fields that are looked at.
_TOLD, _MOST_FIELDS = 10, 40


@dataclass(frozen=True)
class Search:
    """What is asked for, in order."""

    text: str
    figures: tuple[Upload, ...]
    id: str | None
    k: int
    where: tuple[Filter, ...]
    by: tuple[str, ...]
    difficulty: float | None = None
    rerank: Rerank | None = None

    @property
    def key(self) -> Hashable:
        """Equal for equal searches; without the figures themselves."""
        asked = self.text, tuple(figure.digest for figure in self.figures), self.id, self.k, self.where, self.by
        # The server has one curriculum and one classifier, which are the same in every search.
        whom = self.rerank and replace(self.rerank, stage=None, prefer=None, curriculum=None, classify=None)
        return *asked, self.difficulty, whom, self.rerank and (self.rerank.stage, self.rerank.prefer)


async def read_search(request: Request, settings: Settings) -> Search:
    """The search that a request asks for.

    Raises:
        HTTPException: 400 no JSON, 413 too long, 415 of another kind.
        RequestValidationError: A field that there is not, or with a value that it cannot have.
        FilterError: A condition that cannot be read.
        QueryError: Nothing is asked for, or two things.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        values, figures = await _json(request), []
    elif kind == "multipart/form-data":
        limits = {"max_files": settings.max_figures, "max_fields": _MOST_FIELDS, "max_part_size": 2**18}
        async with request.form(**limits) as form:
            values, figures = _fields(form), [await _upload(part) for part in form.getlist("figures")]
    else:
        raise HTTPException(415, "send application/json, or multipart/form-data with figures")
    try:
        body = SearchBody.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError(error.errors()[:_TOLD]) from None
    if len(body.text or "") > settings.max_text:
        raise HTTPException(413, f"text: more than {settings.max_text:,} characters")
    text = (body.text or "").strip()
    if bool(text or figures) == (body.id is not None):
        raise QueryError("the query is either text and figures, or the id of a question of the index")
    return Search(
        text=text,
        figures=tuple(figures),
        id=body.id,
        k=body.k,
        where=tuple(map(read_filter, body.filters)),
        by=SOURCES if body.by == "both" else (body.by,),
        difficulty=body.difficulty,
        rerank=_rerank(body, settings),
    )


def _rerank(body: SearchBody, settings: Settings) -> Rerank | None:
    """For whom the answer is, where that is said."""
    if not (body.student or body.stage or body.prefer or body.diversity):
        return None
    try:
        return Rerank(
            student=body.student,
            tolerance=body.tolerance,
            stage=body.stage,
            curriculum=settings.curriculum,
            section=body.section,
            prefer=body.prefer,
            classify=settings.classify,
            diversity=body.diversity,
        )
    except ValueError as error:
        raise QueryError(str(error)) from None


async def _json(request: Request) -> Any:
    try:
        values = await request.json()
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is no JSON") from None
    if isinstance(values, dict) and len(values) > _MOST_FIELDS:
        raise HTTPException(400, f"the body has {len(values):,} fields")
    return values


def _fields(form: FormData) -> dict[str, Any]:
    """Texts by name; a field that is empty in a form is not meant."""
    texts = [(name, value) for name, value in form.multi_items() if value != "" and name != "figures"]
    lists = {name: [value for other, value in texts if other == name] for name in _LISTS}
    return dict(texts) | {name: values for name, values in lists.items() if values}


async def _upload(part: UploadFile | str) -> Upload:
    if isinstance(part, str):
        raise HTTPException(422, "figures: a file is wanted, not a text")
    return Upload(await part.read())
