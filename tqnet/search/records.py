"""What an index holds of a question: its vector, its words, what it may be filtered by, and the question itself."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tqnet.questions import Question
from tqnet.questions.reading import read_question, write_question
from tqnet.text.sentences import search_words

#: Fields that are searched by words.
TEXT_FIELDS = ("stem", "concepts")


def schema(width: int) -> pa.Schema:
    """Columns of a record whose vector has ``width`` numbers.

    - ``vector``: of length 1, or all zeros.
    - ``stem``, ``concepts``: words of the stem with its options, and of the names of its concepts, by spaces.
    - ``concept``: every concept of the question and those above it, each as a path with ``/`` and by its name alone.
    - ``content``: equal where texts and figures are, whatever the questions and files are called.
    - ``state``: equal where the whole record is.
    - ``question``: the whole record as JSON, and in ``images`` the figures' paths, which no answer shows.
    """
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), width), nullable=False),
            pa.field("stem", pa.string(), nullable=False),
            pa.field("concepts", pa.string(), nullable=False),
            pa.field("concept", pa.list_(pa.string()), nullable=False),
            pa.field("difficulty", pa.float64()),
            pa.field("type", pa.string()),
            pa.field("language", pa.string()),
            pa.field("source", pa.string()),
            pa.field("figures", pa.int64(), nullable=False),
            pa.field("content", pa.string(), nullable=False),
            pa.field("state", pa.string(), nullable=False),
            pa.field("question", pa.string(), nullable=False),
            pa.field("images", pa.list_(pa.string()), nullable=False),
        ]
    )


def records(questions: Sequence[Question], vectors: np.ndarray) -> pa.Table:
    """The records of ``questions``, whose vectors ``[questions, width]`` are scaled to length 1.

    Raises:
        ValueError: Not one vector per question, or one that is not finite.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    if len(vectors) != len(questions):
        raise ValueError(f"{len(vectors)} vectors for {len(questions)} questions")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector is not finite")
    columns = schema(vectors.shape[1])
    rows = [_plain(question) for question in questions]
    arrays = {field.name: [row[field.name] for row in rows] for field in columns if field.name != "vector"}
    flat = pa.array(unit(vectors).ravel(), pa.float32())
    arrays["vector"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table([arrays[field.name] for field in columns], schema=columns)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors ``[n, width]`` scaled to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def question_of(text: str, images: Iterable[str]) -> Question:
    """The question of a record, from its columns ``question`` and ``images``."""
    return read_question(json.loads(text) | {"images": list(images)})


def query_words(question: Question) -> dict[str, list[str]]:
    """Words of a question by the field that they are looked for in."""
    names = dict.fromkeys(name for path in question.knowledge for name in path)
    return {"stem": search_words(question.content), "concepts": search_words("\n".join(names))}


def content_key(question: Question) -> str:
    """Equal for questions that say the same and show the same figures; 16 hex digits."""
    # NFC: other than in `normal_text`, the two of x² and x2 are not the same.
    text = " ".join(unicodedata.normalize("NFC", question.content).split())
    return _digest([text, *map(_figure, question.images)])


def state_key(question: Question) -> str:
    """Equal where nothing about a question has changed; 16 hex digits."""
    return _digest([json.dumps(write_question(question), sort_keys=True), *map(_figure, question.images)])


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def _figure(path: str) -> str:
    """What is in a figure's file; of one that is not there, its name."""
    try:
        return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()
    except OSError:
        return path


def _plain(question: Question) -> dict[str, object]:
    words = query_words(question)
    paths = dict.fromkeys(path[:end] for path in question.knowledge for end in range(1, len(path) + 1))
    names = ["/".join(path) for path in paths] + [path[-1] for path in paths]
    return {
        "id": question.id,
        "stem": " ".join(words["stem"]),
        "concepts": " ".join(words["concepts"]),
        "concept": list(dict.fromkeys(names)),
        "difficulty": question.difficulty,
        "type": question.type,
        "language": question.language,
        "source": question.source,
        "figures": len(question.images),
        "content": content_key(question),
        "state": state_key(question),
        "question": json.dumps(write_question(question) | {"images": []}, ensure_ascii=False),
        "images": list(question.images),
    }


# What a search is restricted to: ``difficulty<=3``, ``type=choice|blank``, ``concept=Algebra/Equations``.


#: Fields by which one may filter, and what their values are.
FIELDS: dict[str, type] = {
    "id": str,
    "concept": str,
    "difficulty": float,
    "type": str,
    "language": str,
    "source": str,
    "figures": int,
}
_ORDERED = ("<", "<=", ">", ">=")
_CONDITION = re.compile(r"\s*(?P<field>\w+)\s*(?P<sign><=|>=|!=|=|<|>)(?!=)\s*(?P<value>.*?)\s*", re.DOTALL)


class FilterError(ValueError):
    """A filter that cannot be read, or asks about a field that there is not."""


@dataclass(frozen=True)
class Filter:
    """One condition; those of a search hold together.

    Attributes:
        field: One of :data:`FIELDS`. ``concept`` is a set: it equals a value that it contains.
        sign: ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``.
        values: With ``=``, one of them; with ``!=``, none of them; otherwise there is only one. A question that does
            not say its difficulty, type, language or source meets no condition on it but ``!=``.
    """

    field: str
    sign: str
    values: tuple[str | float | int, ...]

    def __post_init__(self) -> None:
        if self.field not in FIELDS:
            raise FilterError(f"filter: there is no field {self.field!r}; there are {', '.join(FIELDS)}")
        if self.sign in _ORDERED and (FIELDS[self.field] is str or len(self.values) > 1):
            raise FilterError(f"filter: {self.field}{self.sign}: only one number is more or less than another")


def read_filter(text: str) -> Filter:
    """A condition as a user writes it; ``|`` parts values of which one is meant.

    Raises:
        FilterError: It is none, its field is unknown, or its value is of another type.
    """
    found = _CONDITION.fullmatch(text)
    if not found or not found["value"]:
        raise FilterError(
            f"filter: {text!r} is not of the form FIELD=VALUE, such as difficulty<=3 or type=choice|blank"
        )
    kind = FIELDS.get(found["field"], str)
    values = found["value"].split("|") if kind is str else re.split(r"\s*\|\s*", found["value"])
    return Filter(found["field"], found["sign"], tuple(_value(kind, value, text) for value in values))


def _value(kind: type, value: str, text: str) -> str | float | int:
    if kind is str:
        return value
    try:
        read = float(value)
    except ValueError:
        read = math.nan
    if not abs(read) < 2**53:
        raise FilterError(f"filter: {text!r}: {value!r} is no number")
    if kind is int and not read.is_integer():
        raise FilterError(f"filter: {text!r}: {value!r} is no whole number")
    return int(read) if kind is int else read
