"""Changes to the index over HTTP: records are checked together, encoded, and written under the index's lock."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import HTTPException

from tqnet.errors import first_line
from tqnet.parallel import batched
from tqnet.questions import Question, QuestionBank
from tqnet.questions.reading import kind, read_fields
from tqnet.search.build import Changes, Encode, remove, update
from tqnet.search.engine import EngineError
from tqnet.search.index import Index
from tqnet.search.searcher import Follower, QueryError, Searcher, UnknownIdError
from tqnet.search.versions import AnotherWritesError, Versions, writing

#: Maximum number of records in a request, and of faults in a response.
MAX_RECORDS, _MAX_FAULTS = 1000, 10

#: Seconds to wait for another writer: an update of a few questions takes less.
_PATIENCE = 3.0


class IndexWriter:
    """Writes to the current version of the index in ``folder``, with the model of its searcher.

    Args:
        batch_size: Number of questions to encode at a time; queries of other clients may run in between.
    """

    def __init__(self, folder: Path, follower: Follower, batch_size: int):
        self._folder, self._follower, self._batch_size = folder, follower, batch_size

    def put(self, records: Any) -> Changes:
        """Insert questions, or replace those with the same id; nothing is written unless all are valid.

        Raises:
            HTTPException: 422 not a list of valid records without figures, or a question to replace has figures.
            AnotherWritesError: Another process keeps writing, or another version is being opened.
            QueryError: The server has no model to encode with.
            EngineError: The index cannot be written.
        """
        questions = read_questions(records)
        with self._locked() as searcher:
            if searcher.encode is None:
                raise QueryError("this server has no model to encode questions with")
            _refuse_loss_of_figures(searcher.index, questions)
            return update(searcher.index, questions, self._in_batches(searcher.encode))

    def delete(self, id: str) -> None:
        """Remove a question; raises UnknownIdError if there is none, and the errors of :meth:`put`."""
        with self._locked() as searcher:
            if not remove(searcher.index, [id]):
                raise UnknownIdError(f"id: the index has no question {id!r}")

    @contextmanager
    def _locked(self) -> Iterator[Searcher]:
        try:
            with writing(self._folder, _PATIENCE):
                searcher = self._follower.current()
                if Versions.written(self._folder) != searcher.index.written:
                    raise AnotherWritesError(f"{self._folder}: its current version is not open yet")
                yield searcher
        except EngineError:
            raise
        except OSError as error:  # the folder is read-only, the disk full
            raise EngineError(f"{self._folder}: cannot be written ({first_line(error)})") from error

    def _in_batches(self, encode: Encode) -> Encode:
        def encode_batches(questions: Sequence[Question] | QuestionBank) -> np.ndarray:
            return np.concatenate([encode(batch) for batch in batched(questions, self._batch_size)])

        return encode_batches


def read_questions(records: Any) -> list[Question]:
    """Read records in the bank's format.

    Raises:
        HTTPException: 422 with the faults, each as ``[index].field: message``, counting from 0.
    """
    if not isinstance(records, list):
        raise HTTPException(422, f"body: expected a list of questions, got {kind(records)}")
    if not 1 <= len(records) <= MAX_RECORDS:
        raise HTTPException(422, f"body: {len(records):,} questions; expected 1 to {MAX_RECORDS:,}")
    faults: list[str] = []
    places: dict[str, int] = {}
    questions = []
    for place, record in enumerate(records):
        values, errors = read_fields(record)
        faults += [f"[{place}].{error}" for error in errors]
        if errors:
            continue
        if values["images"]:
            faults.append(f"[{place}].images: figures are not accepted here; use tqnet index update")
        if (first := places.setdefault(values["id"], place)) != place:
            faults.append(f"[{place}].id: {values['id']!r} is also the id of [{first}]")
        if any(unicodedata.category(sign) == "Cc" for sign in values["id"]):
            faults.append(f"[{place}].id: holds a control character, which a URL cannot have")
        questions.append(Question(**values))
    if faults:
        more = f"; and {len(faults) - _MAX_FAULTS:,} more" if len(faults) > _MAX_FAULTS else ""
        raise HTTPException(422, "; ".join(faults[:_MAX_FAULTS]) + more)
    return questions


def _refuse_loss_of_figures(index: Index, questions: Sequence[Question]) -> None:
    rows = index.engine.get([question.id for question in questions], ["id", "images"]).to_pylist()
    if ids := sorted(row["id"] for row in rows if row["images"]):
        raise HTTPException(422, f"{', '.join(ids[:_MAX_FAULTS])}: would lose figures; use tqnet index update")
