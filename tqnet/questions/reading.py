"""Records to questions and back: `read_question`, `write_question`, the records of files, and the readers of fields.

A field reader, ``reader(value, field)``, returns the value or raises `FieldError`; ``field`` is the name in the error,
and null stands for a missing value.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO, TypeVar

from tqnet.questions.question import SPLITS, Fault, FieldError, KnowledgePath, Question
from tqnet.text.plain import plain_texts, protect

Item = TypeVar("Item")

_JSON_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


def kind(value: Any) -> str:
    """Return the JSON name of the type of ``value``, for messages."""
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
    """Read a non-empty string; an integer is taken for its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return filled_text(value, field)


def texts(value: Any, field: str) -> tuple[str, ...]:
    return tuple(text(item, f"{field}[{i}]") for i, item in enumerate(_list(value, field)))


def filled_texts(value: Any, field: str) -> tuple[str, ...]:
    return tuple(filled_text(item, f"{field}[{i}]") for i, item in enumerate(_list(value, field)))


def knowledge(value: Any, field: str) -> tuple[KnowledgePath, ...]:
    """Read paths of non-empty names; no path is empty."""
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


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "id": identifier,
    "stem": text,
    "options": texts,
    "answer": optional_text,
    "analysis": optional_text,
    "images": filled_texts,
    "knowledge": knowledge,
    "difficulty": finite_number,
    "type": label,
    "language": label,
    "group": label,
    "split": split,
    "source": label,
}
_FIELDS = frozenset((*_READERS, "extras"))


def jsonl_records(file: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line, record) of a JSONL file; an unreadable line yields a `FieldError` in place of its record."""
    with file.open("rb") as stream:
        yield from parse_lines(enumerate(stream, 1))


def parse_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    """Yield (line, record) of numbered lines of JSON, as `jsonl_records` does."""
    for line, raw in lines:
        try:
            text = raw.decode("utf-8-sig" if line == 1 else "utf-8").strip()
            if text:
                yield line, json.loads(text, object_pairs_hook=_object_of)
        except FieldError as error:
            yield line, error
        except UnicodeDecodeError:
            yield line, FieldError("record", "not UTF-8")
        except json.JSONDecodeError as error:
            yield line, FieldError("record", f"not valid JSON: {error.msg}, column {error.colno}")
        except (ValueError, RecursionError):
            yield line, FieldError("record", "not valid JSON: a number is too long or the nesting too deep")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise FieldError(Counter(name for name, _ in pairs).most_common(1)[0][0], "given more than once")
    return values


def csv_rows(stream: TextIO, delimiter: str = ",") -> Any:
    """Return a ``csv.reader`` whose cells may have 64 MiB, not only Python's 128 KiB: a figure may be in one."""
    csv.field_size_limit(max(csv.field_size_limit(), 64 * 2**20))
    return csv.reader(stream, delimiter=delimiter)


def unrepeated(names: Sequence[str]) -> list[str]:
    """Return names of columns, those that occur again with a number: ``note``, ``note_2``; empty ones stay empty."""
    taken, numbers = set(names), Counter[str]()
    different = []
    for name in names:
        numbers[name] += 1
        free = name
        while name and numbers[name] > 1 and (free := f"{name}_{numbers[name]}") in taken:
            numbers[name] += 1
        different.append(free)
    return different


def records(file: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line, record) of a .jsonl file, or of a .csv file with a header; a `FieldError` for an unreadable record.

    Raises:
        ValueError: The file is neither.
    """
    if file.suffix == ".jsonl":
        yield from jsonl_records(file)
        return
    if file.suffix != ".csv":
        raise ValueError(f"{file}: pairs are read from .csv or .jsonl")
    with file.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv_rows(stream)
        try:
            names: list[str] = next(rows, [])
            header = unrepeated(names)
            for name, number in Counter(filter(None, names)).items():
                if number > 1:
                    yield rows.line_num, FieldError(name, "several columns have this name; the first is read")
            for cells in filter(None, rows):
                yield rows.line_num, dict(zip_longest(header, cells))  # cells too many under None, missing ones None
        except csv.Error as error:
            yield rows.line_num, FieldError("record", f"not valid CSV: {error}")
        except UnicodeDecodeError:  # in a block of many lines
            yield 0, FieldError("record", "not UTF-8")


def read_records(file: Path, read: Callable[[dict[str, Any], int], Sequence[Item]]) -> tuple[list[Item], list[Fault]]:
    """Read the objects of a file (`records`): all that ``read(record, line)`` returns, and its errors as faults."""
    items: list[Item] = []
    faults = []
    for line, record in records(file):
        try:
            items += read(_object(record), line)
        except FieldError as error:
            faults.append(Fault(str(file), line, error.field, error.message))
    return items, faults


def no_pair(file: Path, pairs: Sequence[Any], faults: Sequence[Fault]) -> list[Fault]:
    """Return the fault of a file without pairs that has no other."""
    return [] if pairs or faults else [Fault(str(file), 0, "record", "the file holds no pair")]


def _object(record: Any) -> dict[str, Any]:
    if isinstance(record, FieldError):  # in place of an unreadable record
        raise record
    if not isinstance(record, dict):
        raise FieldError("record", f"expected an object, got {kind(record)}")
    return record


def read_question(record: Any, folder: str | os.PathLike[str] = "") -> Question:
    """Return the question that ``record`` (a decoded JSON object) describes.

    HTML in the stem, options, answer or analysis becomes plain text; images in the stem and options come
    first, then those listed in ``images``, each once. Unknown keys go to ``extras``.

    Args:
        record: A JSON object with at least ``id`` and ``stem``.
        folder: Folder to resolve image paths against; empty leaves them as they are.

    Raises:
        FieldError: A value of the wrong type or shape, or an image outside of the folder; ``field`` names the place.
    """
    values, errors = read_fields(record)
    errors += images_outside(values["images"]) if folder and not errors else []
    if errors:
        raise errors[0]
    return Question(**values | {"images": tuple(os.path.join(folder, image) for image in values["images"])})


def images_outside(images: Sequence[str]) -> list[FieldError]:
    """Return an error for each path that leads out of the folder of a bank."""
    return [
        FieldError(f"images[{i}]", f"outside of the bank's folder: {image!r:.200}")
        for i, image in enumerate(images)
        if os.path.isabs(image) or os.path.normpath(image).split(os.sep)[0] == os.pardir or os.path.splitdrive(image)[0]
    ]


def read_fields(record: Any) -> tuple[dict[str, Any], list[FieldError]]:
    """Return the fields of a `Question` by name, images as the record has them, and an error for each bad field.

    With errors, the values are not to be used. A `FieldError` in place of a record is returned as its error.
    """
    try:
        record = _object(record)
    except FieldError as error:
        return {}, [error]
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
    if nested is not None:
        if not isinstance(nested, dict):
            raise FieldError("extras", f"expected an object, got {kind(nested)}")
        if clash := sorted(nested.keys() & (_FIELDS | extras.keys())):
            raise FieldError("extras", f"{clash[0]!r} is also a field of the record")
        extras |= nested
    for name, value in extras.items():
        _check_json(value, text(name, "extras"))
    return extras


def _check_json(value: Any, field: str) -> None:
    """Raise FieldError for what JSON's grammar, Unicode or a Parquet file of ours cannot hold."""
    if isinstance(value, str):
        text(value, field)
    elif isinstance(value, float):
        finite_number(value, field)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_json(inner, f"{field}.{text(name, field)}")
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            _check_json(inner, f"{field}[{i}]")
    elif value is not None and not isinstance(value, int):
        raise FieldError(field, f"expected a value of JSON, got {type(value).__name__}")


def _make_plain(values: dict[str, Any]) -> None:
    """Turn HTML and editors' notations into plain text, in place."""
    solution = [name for name in ("answer", "analysis") if values[name] is not None]
    texts = plain_texts([values["stem"], *values["options"], *(values[name] for name in solution)])
    content, of_solution = texts[: len(texts) - len(solution)], texts[len(texts) - len(solution) :]
    values["stem"], *options = (part.text for part in content)
    values["options"] = tuple(options)
    # A figure of the analysis would give the answer away.
    values.update(zip(solution, (part.text for part in of_solution), strict=True))
    if sources := [source for part in content for source in part.images]:
        first: dict[str, str] = {}
        for image in (*sources, *values["images"]):
            first.setdefault(os.path.normpath(image), image)
        values["images"] = tuple(first.values())


def write_question(question: Question, folder: str | os.PathLike[str] = "") -> dict[str, Any]:
    """Return the JSON object that `read_question` turns into ``question`` again; extras lie at the top level.

    Images are written relative to ``folder``, so that bank and images can move together.

    Raises:
        FieldError: An extra has the name of a field or is not a JSON value.
    """
    if clash := sorted(_FIELDS & question.extras.keys()):
        raise FieldError("extras", f"{clash[0]!r} is also a field of the record")
    try:
        json.dumps(question.extras)
    except (TypeError, ValueError) as error:
        raise FieldError("extras", f"not JSON: {error}") from None
    solution = [text for text in (question.answer, question.analysis) if text is not None]
    texts = iter(protect([question.stem, *question.options, *solution]))
    return {
        "id": question.id,
        "stem": next(texts),
        "options": [next(texts) for _ in question.options],
        "answer": None if question.answer is None else next(texts),
        "analysis": None if question.analysis is None else next(texts),
        "images": [os.path.relpath(image, folder) if folder else image for image in question.images],
        "knowledge": [list(path) for path in question.knowledge],
        **{name: getattr(question, name) for name in ("difficulty", "type", "language", "group", "split", "source")},
        **question.extras,
    }
