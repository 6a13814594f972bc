"""From a JSON object to a `Question` and back; whatever a question cannot hold is refused by name."""

from __future__ import annotations

import json
import math
import os
from typing import Any

from tqnet.questions import html
from tqnet.questions.question import SPLITS, FieldError, KnowledgePath, Question

_LABELS = ("type", "language", "source", "group")
_FIELDS = frozenset(Question.__dataclass_fields__)
_JSON_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


def read_question(record: Any, folder: str | os.PathLike[str] = "") -> Question:
    """The question that ``record`` (a decoded JSON object) describes.

    HTML in the stem, options, answer or analysis becomes plain text; images in the stem and options come
    first, then those listed in ``images``, each once. Keys that a question does not have go to ``extras``.

    Args:
        record: A JSON object with at least ``id`` and ``stem``.
        folder: Relative image paths are resolved against it; left as they are if empty.

    Raises:
        FieldError: A value of the wrong type or shape; its ``field`` names the place.
    """
    if not isinstance(record, dict):
        raise FieldError("record", f"expected an object, got {_kind(record)}")
    stem, options, solution, images = _read_content(record)
    if not stem.strip() and not images and not options:
        raise FieldError("stem", "empty, with neither images nor options")
    return Question(
        id=_read_id(record),
        stem=stem,
        options=options,
        images=tuple(os.path.join(folder, image) for image in images),
        knowledge=_read_knowledge(record.get("knowledge")),
        difficulty=_read_difficulty(record.get("difficulty")),
        split=_read_split(record.get("split")),
        extras=_read_extras(record),
        **solution,
        **{name: _read_label(record.get(name), name) for name in _LABELS},
    )


def write_question(question: Question, folder: str | os.PathLike[str] = "") -> dict[str, Any]:
    """The JSON object from which `read_question` gives ``question`` again; extras lie at the top level.

    Images inside ``folder`` are written relative to it, so that bank and images can move together.

    Raises:
        FieldError: An extra has the name of a field or is no JSON value.
    """
    if clash := sorted(_FIELDS & question.extras.keys()):
        raise FieldError("extras", f"{clash[0]!r} is the name of a field")
    try:
        json.dumps(question.extras)
    except (TypeError, ValueError) as error:
        raise FieldError("extras", f"not JSON: {error}") from None
    solution = [text for text in (question.answer, question.analysis) if text is not None]
    texts = iter(html.protect([question.stem, *question.options, *solution]))
    return {
        "id": question.id,
        "stem": next(texts),
        "options": [next(texts) for _ in question.options],
        "answer": None if question.answer is None else next(texts),
        "analysis": None if question.analysis is None else next(texts),
        "images": [_relative(image, folder) for image in question.images],
        "knowledge": [list(path) for path in question.knowledge],
        "difficulty": question.difficulty,
        "type": question.type,
        "language": question.language,
        "group": question.group,
        "split": question.split,
        "source": question.source,
        **question.extras,
    }


def _relative(image: str, folder: str | os.PathLike[str]) -> str:
    if not folder:
        return image
    relative = os.path.relpath(image, folder)
    return os.path.abspath(image) if relative.split(os.sep)[0] == os.pardir else relative


def _read_content(
    record: dict[str, Any],
) -> tuple[str, tuple[str, ...], dict[str, str | None], tuple[str, ...]]:
    """Stem, options, answer and analysis as plain text, and the images of the question."""
    if "stem" not in record:
        raise FieldError("stem", "missing")
    stem = _text(record["stem"], "stem")
    options = _texts(record.get("options"), "options")
    solution = {name: _optional_text(record.get(name), name) for name in ("answer", "analysis")}
    images = _texts(record.get("images"), "images")
    for i, image in enumerate(images):
        if not image.strip():
            raise FieldError(f"images[{i}]", "empty")
    # One field in HTML makes the record HTML: an option "x &lt; 3" has no tag that would show it.
    if any(html.is_html(text) for text in (stem, *options, *filter(None, solution.values()))):
        (stem, *choices), found = zip(*map(html.to_plain, (stem, *options)), strict=True)
        options = tuple(choices)
        # A figure of the analysis would give the answer away: it is not part of the question.
        solution = {name: None if text is None else html.to_plain(text)[0] for name, text in solution.items()}
        images = _distinct([image for sources in found for image in sources] + list(images))
    return stem, options, solution, images


def _distinct(images: list[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for image in images:
        first.setdefault(os.path.normpath(image), image)
    return tuple(first.values())


def _read_id(record: dict[str, Any]) -> str:
    if "id" not in record:
        raise FieldError("id", "missing")
    value = record["id"]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _filled_text(value, "id")


def _read_knowledge(value: Any) -> tuple[KnowledgePath, ...]:
    paths = _list(value, "knowledge")
    for i, path in enumerate(paths):
        if not isinstance(path, list):
            raise FieldError(f"knowledge[{i}]", f"expected a list of strings, got {_kind(path)}")
        if not path:
            raise FieldError(f"knowledge[{i}]", "empty path")
    return tuple(
        tuple(_filled_text(name, f"knowledge[{i}][{j}]") for j, name in enumerate(path)) for i, path in enumerate(paths)
    )


def _read_difficulty(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError("difficulty", f"expected a number, got {_kind(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FieldError("difficulty", "not a finite number")
    return number


def _read_split(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value in SPLITS):
        return value
    shown = f"{value!r:.80}" if isinstance(value, str) else _kind(value)
    raise FieldError("split", f"expected one of {', '.join(SPLITS)} or null, got {shown}")


def _read_label(value: Any, field: str) -> str | None:
    # An empty group would make all its questions similar to one another; null is the way to say "none".
    return None if value is None else _filled_text(value, field)


def _read_extras(record: dict[str, Any]) -> dict[str, Any]:
    extras = {key: value for key, value in record.items() if key not in _FIELDS}
    nested = record.get("extras")  # as `dataclasses.asdict` and our Parquet files have them
    if nested is None:
        return extras
    if not isinstance(nested, dict):
        raise FieldError("extras", f"expected an object, got {_kind(nested)}")
    if clash := sorted(nested.keys() & (_FIELDS | extras.keys())):
        raise FieldError("extras", f"{clash[0]!r} is also a field of the record")
    return extras | nested


def _list(value: Any, field: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise FieldError(field, f"expected a list, got {_kind(value)}")
    return value


def _texts(value: Any, field: str) -> tuple[str, ...]:
    return tuple(_text(item, f"{field}[{i}]") for i, item in enumerate(_list(value, field)))


def _optional_text(value: Any, field: str) -> str | None:
    return None if value is None else _text(value, field)


def _filled_text(value: Any, field: str) -> str:
    text = _text(value, field)
    if not text.strip():
        raise FieldError(field, "empty")
    return text


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise FieldError(field, f"expected a string, got {_kind(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # JSON can spell half of a surrogate pair; nothing else can store it
            raise FieldError(field, "holds a lone surrogate, which is not valid Unicode") from None
    return value


def _kind(value: Any) -> str:
    return _JSON_NAMES.get(type(value), "a number")
