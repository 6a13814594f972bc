"""Errors of the server as responses: ``{"detail": "why"}`` with a status."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from tqnet.questions.question import FieldError
from tqnet.search.engine import EngineError
from tqnet.search.records import FilterError
from tqnet.search.searcher import QueryError, UnknownIdError
from tqnet.search.versions import AnotherWritesError, IndexFolderError
from tqnet.serving.answers import Problem
from tqnet.serving.figures import UploadError
from tqnet.serving.service import BusyError

_log = logging.getLogger(__name__)

#: Header with the seconds after which a rejected request may be repeated.
_LATER = {"Retry-After": "2"}

_PROBLEMS: dict[int, str] = {
    400: "Malformed JSON, or a query that cannot be answered",
    401: "A missing or wrong key",
    403: "Not the key for writing",
    404: "No such question or figure",
    408: "The body did not arrive in time",
    413: "Too many bytes (as plain text), characters or pixels",
    415: "An unsupported type",
    422: "An invalid value of a field, a malformed filter, a damaged figure",
    429: "Too many searches are waiting, in total or of one client; the header Retry-After has the seconds to wait",
    503: "The index cannot be read, or cannot be written now",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of an endpoint for the API description."""
    return {status: {"model": Problem, "description": _PROBLEMS[status]} for status in statuses}


async def handle(request: Request, error: Exception) -> Response:
    """Return the response to one of the errors in `ANSWERS`."""
    return next(answer for kind, answer in ANSWERS.items() if isinstance(error, kind))(error)


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
ANSWERS: dict[type[Exception], Callable[[Any], Response]] = {
    UnknownIdError: partial(_problem, 404),
    QueryError: partial(_problem, 400),
    FilterError: partial(_problem, 422),
    FieldError: partial(_problem, 422),
    RequestValidationError: _invalid,
    UploadError: lambda error: _problem(error.status, error),
    BusyError: lambda error: _problem(429, f"{error}; try again", _LATER),
    AnotherWritesError: lambda error: _problem(503, "the index cannot be written now; try again", _LATER),
    EngineError: _unreadable,
    IndexFolderError: _unreadable,
}
