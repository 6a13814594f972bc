"""Records of questions in an index (vector, search terms, fields, JSON), and filters over their fields."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tqnet.questions import Question
from tqnet.questions.reading import write_question
from tqnet.questions.traits import one_form
from tqnet.text.sentences import search_words

#: Columns that are searched by words.
TEXT_FIELDS = ("stem", "concepts")

#: Fields of a question that are stored as JSON; figures have a column of their own.
_STORED = tuple(field.name for field in fields(Question) if field.name != "images")

#: Maximum number of parsed questions to cache, some 2 kB each: searches meet many again.
_KEPT = 10_000

#: Columns that may be null.
OPTIONAL = ("difficulty", "type", "language", "source")


def schema(width: int) -> pa.Schema:
    """Return the columns of a record.

    - ``vector``: of length 1, or all zeros.
    - ``stem``, ``concepts``: search terms of stem and options, and of the concepts' names, separated by spaces.
    - ``concept``: every concept of the question and its ancestors, each as a path with ``/`` and by its name alone.
    - ``content``: hash of text and figures, independent of ids and file names.
    - ``form``, ``template``: hashes of the normalized text, options in any order, with and without numbers.
    - ``state``: hash of the whole record.
    - ``question``: its fields as JSON, without the paths of figures, which are in ``images`` and never shown.
    """
    columns = {
        "id": pa.string(),
        "vector": pa.list_(pa.float32(), width),
        "stem": pa.string(),
        "concepts": pa.string(),
        "concept": pa.list_(pa.string()),
        "difficulty": pa.float64(),
        "type": pa.string(),
        "language": pa.string(),
        "source": pa.string(),
        "figures": pa.int64(),
        "content": pa.string(),
        "form": pa.string(),
        "template": pa.string(),
        "state": pa.string(),
        "question": pa.string(),
        "images": pa.list_(pa.string()),
    }
    return pa.schema([pa.field(name, kind, nullable=name in OPTIONAL) for name, kind in columns.items()])


def records(questions: Sequence[Question], vectors: np.ndarray) -> pa.Table:
    """Return the records of ``questions``; their vectors ``[questions, width]`` are scaled to length 1.

    Raises:
        ValueError: The numbers of vectors and questions differ, or a vector is not finite.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    if len(vectors) != len(questions):
        raise ValueError(f"{len(vectors)} vectors for {len(questions)} questions")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector is not finite")
    columns = schema(vectors.shape[1])
    place = columns.get_field_index("vector")
    table = pa.Table.from_pylist(list(map(_row, questions)), schema=columns.remove(place))
    flat = pa.array(unit(vectors).ravel(), pa.float32())
    return table.add_column(place, columns.field(place), pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]))


def _row(question: Question) -> dict[str, object]:
    paths = dict.fromkeys(path[:end] for path in question.knowledge for end in range(1, len(path) + 1))
    names = ["/".join(path) for path in paths] + [path[-1] for path in paths]
    return {
        "id": question.id,
        **{field: " ".join(words) for field, words in query_words(question).items()},
        "concept": list(dict.fromkeys(names)),
        **{field: getattr(question, field) for field in OPTIONAL},
        "figures": len(question.images),
        "content": content_key(question),
        "form": form_key(question),
        "template": form_key(question, numbers=False),
        "state": state_key(question),
        "question": json.dumps({name: getattr(question, name) for name in _STORED}, ensure_ascii=False),
        "images": list(question.images),
    }


def record_question(record: Mapping[str, Any]) -> Question:
    """Rebuild the question of a record from its columns ``question`` and ``images``.

    Without :func:`read_question`: a search rebuilds hundreds, which were checked when written.
    """
    return _question(record["question"], tuple(record["images"]))


@lru_cache(_KEPT)
def _question(fields: str, images: tuple[str, ...]) -> Question:
    values = json.loads(fields)
    values["options"] = tuple(values["options"])
    values["knowledge"] = tuple(map(tuple, values["knowledge"]))
    return Question(**values, images=images)


def table_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the records of a table; the column ``vector``, if present, as separate arrays ``[width]``."""
    if "vector" not in table.column_names:
        return table.to_pylist()
    rows = table.drop_columns("vector").to_pylist()
    # Copied: a view would keep the vectors of the whole table.
    return [row | {"vector": vector.copy()} for row, vector in zip(rows, table_vectors(table), strict=True)]


def table_vectors(table: pa.Table) -> np.ndarray:
    """Return the column ``vector`` as an array, ``[records, width]``."""
    width = table.schema.field("vector").type.list_size
    return table["vector"].combine_chunks().flatten().to_numpy().reshape(len(table), width)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors ``[n, width]`` to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def query_words(question: Question) -> dict[str, list[str]]:
    """Return the search terms of a question by text column."""
    names = dict.fromkeys(name for path in question.knowledge for name in path)
    return {"stem": search_words(question.content), "concepts": search_words("\n".join(names))}


def content_key(question: Question) -> str:
    """Hash a question's text and figures to 16 hex digits."""
    # NFC rather than `normal_text`: x² and x2 differ.
    text = " ".join(unicodedata.normalize("NFC", question.content).split())
    return _digest([text, *map(_figure_digest, question.images)])


def form_key(question: Question, *, numbers: bool = True) -> str:
    """Hash a question's normalized text (`tqnet.questions.traits.one_form`), with its options in any order.

    A text without letters and digits has the key "".
    """
    forms = [one_form(text) for text in (question.stem, *question.options)]
    if not any(map(str.isalnum, "".join(forms))):
        return ""
    texts = [forms[0], *sorted(forms[1:])]
    return _digest(texts if numbers else (_NUMBER.sub("0", text) for text in texts))


def state_key(question: Question) -> str:
    """Hash a whole question to 16 hex digits."""
    return _digest([json.dumps(write_question(question), sort_keys=True), *map(_figure_digest, question.images)])


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def _figure_digest(path: str) -> str:
    """Hash a figure's file; return the path of a missing one."""
    try:
        return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()
    except OSError:
        return path


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

#: Columns to find a question's duplicates by.
KEYS = ("content", "form", "template")

#: Fields to filter by, and the types of their values.
FIELDS: dict[str, type] = {
    "id": str,
    "concept": str,
    "difficulty": float,
    "type": str,
    "language": str,
    "source": str,
    "figures": int,
}
_CONDITION = re.compile(r"\s*(?P<field>\w+)\s*(?P<sign><=|>=|!=|=|<|>)(?!=)\s*(?P<value>.*?)\s*", re.DOTALL)


class FilterError(ValueError):
    """A malformed filter, or one on an unknown field."""


@dataclass(frozen=True)
class Filter:
    """A condition on a field: ``difficulty<=3``, ``type=choice|blank``, ``concept=Algebra/Equations``.

    Attributes:
        field: One of :data:`FIELDS` or :data:`KEYS`. ``concept`` is a set: it equals every value that it contains.
        sign: ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``.
        values: ``=`` matches any of them, ``!=`` none; the other signs take a single number. A missing field matches
            only ``!=``.
    """

    field: str
    sign: str
    values: tuple[str | float | int, ...]

    def __post_init__(self) -> None:
        if self.field not in (*FIELDS, *KEYS):
            raise FilterError(f"filter: unknown field {self.field!r}; expected one of {', '.join(FIELDS)}")
        if self.sign not in ("=", "!=") and (FIELDS.get(self.field, str) is str or len(self.values) > 1):
            raise FilterError(f"filter: {self.field}{self.sign}: needs a numeric field and a single number")


def read_filter(text: str) -> Filter:
    """Parse a condition; ``|`` separates alternative values.

    Raises:
        FilterError: The condition is malformed, its field is unknown, or a value has the wrong type.
    """
    match = _CONDITION.fullmatch(text)
    if match and match["field"] in KEYS:
        raise FilterError(f"filter: unknown field {match['field']!r}; expected one of {', '.join(FIELDS)}")
    if not match or not match["value"]:
        raise FilterError(
            f"filter: {text!r} is not of the form FIELD=VALUE, such as difficulty<=3 or type=choice|blank"
        )
    kind = FIELDS.get(match["field"], str)
    values = match["value"].split("|")
    return Filter(match["field"], match["sign"], tuple(_value(kind, value, text) for value in values))


def _value(kind: type, value: str, text: str) -> str | float | int:
    if kind is str:
        return value
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not abs(number) < 2**53:
        raise FilterError(f"filter: {text!r}: {value!r} is not a number")
    if kind is int and not number.is_integer():
        raise FilterError(f"filter: {text!r}: {value!r} is not a whole number")
    return kind(number)
