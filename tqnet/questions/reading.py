"""From a JSON object to a `Question` and back; whatever a question cannot hold is refused by name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from tqnet.questions import fields, html
from tqnet.questions.question import FieldError, Question

_READERS: dict[str, Callable[[Any, str], Any]] = {
    "id": fields.identifier,
    "stem": fields.text,
    "options": fields.texts,
    "answer": fields.optional_text,
    "analysis": fields.optional_text,
    "images": fields.filled_texts,
    "knowledge": fields.knowledge,
    "difficulty": fields.finite_number,
    "type": fields.label,
    "language": fields.label,
    "group": fields.label,
    "split": fields.split,
    "source": fields.label,
}
_FIELDS = frozenset((*_READERS, "extras"))


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
    values, errors = read_fields(record)
    if errors:
        raise errors[0]
    return Question(**values | {"images": tuple(os.path.join(folder, image) for image in values["images"])})


def read_fields(record: Any) -> tuple[dict[str, Any], list[FieldError]]:
    """The values of a `Question` by name, images as the record has them, and one error for each bad field.

    With errors, the values are not to be used.
    """
    if not isinstance(record, dict):
        return {}, [FieldError("record", f"expected an object, got {fields.kind(record)}")]
    values: dict[str, Any] = {}
    errors = []
    for name, reader in _READERS.items():
        if name not in record and name in ("id", "stem"):
            errors.append(FieldError(name, "missing"))
            continue
        try:
            values[name] = reader(record.get(name), name)
        except FieldError as error:
            errors.append(error)
    try:
        values["extras"] = _read_extras(record)
    except FieldError as error:
        errors.append(error)
    if values.keys() >= {"stem", "options", "images", "answer", "analysis"}:
        _make_plain(values)
        if not (values["stem"].strip() or values["images"] or values["options"]):
            errors.append(FieldError("stem", "empty, with neither images nor options"))
    return values, errors


def _read_extras(record: dict[str, Any]) -> dict[str, Any]:
    extras = {key: value for key, value in record.items() if key not in _FIELDS}
    nested = record.get("extras")  # as `dataclasses.asdict` and our Parquet files have them
    if nested is None:
        return extras
    if not isinstance(nested, dict):
        raise FieldError("extras", f"expected an object, got {fields.kind(nested)}")
    if clash := sorted(nested.keys() & (_FIELDS | extras.keys())):
        raise FieldError("extras", f"{clash[0]!r} is also a field of the record")
    return extras | nested


def _make_plain(values: dict[str, Any]) -> None:
    """Turns HTML into plain text, in place.

    One text in HTML makes the whole record HTML: an option ``x &lt; 3`` has no tag that would show it.
    """
    content = (values["stem"], *values["options"])
    solution = {name: values[name] for name in ("answer", "analysis") if values[name] is not None}
    if not any(map(html.is_html, (*content, *solution.values()))):
        return
    texts, found = zip(*map(html.to_plain, content), strict=True)
    values["stem"], *options = texts
    values["options"] = tuple(options)
    for name, text in solution.items():
        values[name], _ = html.to_plain(text)  # a figure of the analysis would give the answer away
    first: dict[str, str] = {}
    for image in (*(source for sources in found for source in sources), *values["images"]):
        first.setdefault(os.path.normpath(image), image)
    values["images"] = tuple(first.values())


def write_question(question: Question, folder: str | os.PathLike[str] = "") -> dict[str, Any]:
    """The JSON object from which `read_question` gives ``question`` again; extras lie at the top level.

    Images inside ``folder`` are written relative to it, so that bank and images can move together.

    Raises:
        FieldError: An extra has the name of a field or is no JSON value.
    """
    if clash := sorted(_FIELDS & question.extras.keys()):
        raise FieldError("extras", f"{clash[0]!r} is also a field of the record")
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
