"""Searches as they come in: JSON, or a form with figures; what is too large or of another kind is refused."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from PIL import Image, ImageOps
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from tqnet.questions.images import read_image
from tqnet.questions.pairs import Classify
from tqnet.search.records import Filter, read_filter
from tqnet.search.rerank import Curriculum, Rerank
from tqnet.search.retrieval import SOURCES
from tqnet.search.searcher import QueryError
from tqnet.serving.models import SearchBody

# Figures that come with a query: of few kinds, bounded, never larger than a model can make use of.


#: Of the formats that Pillow knows, those that browsers send; few decoders are few ways in.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")

#: Pixels of the longer side that are kept: photographs of many users have to fit into memory at once.
_LARGEST = 2048


class UploadError(ValueError):
    """A file that is no figure for a query; ``status`` is HTTP's for it."""

    def __init__(self, status: int, message: str):
        super().__init__(f"figures: {message}")
        self.status = status


class Upload:
    """A file as it came."""

    def __init__(self, content: bytes):
        self._content = content

    @cached_property
    def digest(self) -> str:
        """Equal for equal files."""
        return hashlib.blake2b(self._content, digest_size=16).hexdigest()

    def save(self, path: Path, max_pixels: int) -> None:
        """Write the figure, scaled down if it is large.

        Raises:
            UploadError: 415 of another kind, 413 too many pixels, 422 damaged.
        """
        if self._pixels() > max_pixels:
            raise UploadError(413, f"a figure has more than {max_pixels / 1e6:g} million pixels")
        image = read_image(self._content, max_pixels)
        if isinstance(image, str):
            raise UploadError(422, image)
        if max(image.size) <= _LARGEST:
            path.write_bytes(self._content)
            return
        image = ImageOps.exif_transpose(image)
        if not image.mode.startswith("I"):  # 16 bits of grey are scaled as they are
            image = image.convert("RGBA" if image.has_transparency_data else "RGB")
        image.thumbnail((_LARGEST, _LARGEST))
        image.save(path, "PNG")

    def _pixels(self) -> int:
        """As the head of the file says; nothing is decoded."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow warns of sizes that are refused here anyway
                with Image.open(io.BytesIO(self._content), formats=FORMATS) as opened:
                    return opened.width * opened.height
        except Image.DecompressionBombError:
            raise UploadError(413, "a figure is gigantic") from None
        except Exception:  # Pillow's readers raise errors of many kinds
            raise UploadError(415, f"a file is none of {', '.join(FORMATS)}") from None


# What can be chosen about a server.


@dataclass(frozen=True)
class Settings:
    """Limits, and who may ask.

    Attributes:
        api_key: Without it nothing of the index is told; None: everyone may ask.
        hosts: Names under which the server may be addressed. Behind a page of another site whose name was made to point
            here, a browser sends that name.
        batch_size: Queries that are encoded at once, at most.
        batch_wait: Seconds that the first of a batch waits for others.
        queue: Searches that wait or run at a time; more are refused.
        cache: Answers that are kept.
        max_upload: Bytes of a request.
        max_pixels: Of a figure.
        max_figures: Of a query.
        max_text: Characters of a query.
        curriculum: By which it is told what is beyond a learning stage.
        classify: By which variants of the query are told from similar questions and from duplicates.
    """

    api_key: str | None = None
    hosts: tuple[str, ...] = ("*",)
    batch_size: int = 32
    batch_wait: float = 0.005
    queue: int = 64
    cache: int = 1000
    max_upload: int = 10 * 2**20
    max_pixels: int = 20_000_000
    max_figures: int = 4
    max_text: int = 8000
    curriculum: Curriculum | None = None
    classify: Classify | None = None


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
