"""The fields of a record, one reader each: ``reader(value, field)`` returns the value or raises `FieldError`.

``field`` is the name that an error gives; null stands for a value that is not there.
"""

from __future__ import annotations

import math
from typing import Any

from tqnet.questions.question import SPLITS, FieldError, KnowledgePath

_JSON_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


def kind(value: Any) -> str:
    """What JSON calls ``value``, for messages."""
    return _JSON_NAMES.get(type(value), "a number")


def text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise FieldError(field, f"expected a string, got {kind(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # JSON can spell half of a surrogate pair; nothing else can store it
            raise FieldError(field, "holds a lone surrogate, which is not valid Unicode") from None
    return value


def filled_text(value: Any, field: str) -> str:
    if not text(value, field).strip():
        raise FieldError(field, "empty")
    return value


def optional_text(value: Any, field: str) -> str | None:
    return None if value is None else text(value, field)


def label(value: Any, field: str) -> str | None:
    # An empty group would make all its questions similar to one another; null is the way to say "none".
    return None if value is None else filled_text(value, field)


def identifier(value: Any, field: str) -> str:
    """A non-empty string; an integer is taken for its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return filled_text(value, field)


def texts(value: Any, field: str) -> tuple[str, ...]:
    return tuple(text(item, f"{field}[{i}]") for i, item in enumerate(_list(value, field)))


def filled_texts(value: Any, field: str) -> tuple[str, ...]:
    return tuple(filled_text(item, f"{field}[{i}]") for i, item in enumerate(_list(value, field)))


def knowledge(value: Any, field: str) -> tuple[KnowledgePath, ...]:
    """Paths of non-empty names; no path is empty."""
    paths = []
    for i, names in enumerate(_list(value, field)):
        if not isinstance(names, list | tuple):
            raise FieldError(f"{field}[{i}]", f"expected a list of strings, got {kind(names)}")
        if not names:
            raise FieldError(f"{field}[{i}]", "empty path")
        paths.append(filled_texts(names, f"{field}[{i}]"))
    return tuple(paths)


def finite_number(value: Any, field: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError(field, f"expected a number, got {kind(value)}")
    try:
        number = float(value)
    except OverflowError:  # JSON's integers have no bound
        number = math.inf
    if not math.isfinite(number):
        raise FieldError(field, "not a finite number")
    return number


def split(value: Any, field: str) -> str | None:
    if value is None or (isinstance(value, str) and value in SPLITS):
        return value
    shown = f"{value!r:.80}" if isinstance(value, str) else kind(value)
    raise FieldError(field, f"expected one of {', '.join(SPLITS)} or null, got {shown}")


def _list(value: Any, field: str) -> list[Any] | tuple[Any, ...]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):  # dataclasses.asdict leaves a question's tuples as they are
        raise FieldError(field, f"expected a list, got {kind(value)}")
    return value
