"""Judgements of pairs, in a file that training and evaluation read (`tqnet.questions.pairs`)."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock

from tqnet.files import atomic
from tqnet.questions import Question
from tqnet.questions.reading import write_question

Label = Literal["duplicate", "similar", "variant", "no"]

#: Label -> score of similarity, and relation of the two questions.
_VERDICTS: dict[str | None, dict[str, Any]] = {
    "duplicate": {"similar": 1, "label": "duplicate"},
    "similar": {"similar": 1, "label": "similar"},
    "variant": {"similar": 0.5, "label": "variant"},
    "no": {"similar": 0, "label": "unrelated"},
}


class JudgementFile:
    """Keeps one judgement per pair as JSON Lines with ``a``, ``b``, ``similar`` and ``label``.

    Typed queries are kept as questions of a bank next to it, :attr:`queries`. Several servers may write.

    Raises:
        ValueError: The file is not a .jsonl file.
        OSError: The file cannot be written.
    """

    def __init__(self, path: Path):
        if path.suffix != ".jsonl":
            raise ValueError(f"{path}: judgements are kept in a .jsonl file")
        self.path, self.queries = path, path.with_name(f"{path.stem}-queries.jsonl")
        path.open("a").close()
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))

    def write(self, query: Question, result: Question, label: Label | None, *, typed: bool) -> None:
        """Replace the judgement of a pair, or remove it if ``label`` is None.

        A ``typed`` query is identified by its text, and stays in the split of the first result it was judged with.
        """
        with self._lock:
            if typed:
                texts = json.dumps([query.stem, query.options], ensure_ascii=False)
                id = f"query-{hashlib.blake2b(texts.encode(), digest_size=8).hexdigest()}"
                query = replace(query, id=id, split=result.split)
                if label and not any(_field(line, "id") == query.id for line in _lines(self.queries)):
                    _append(self.queries, json.dumps(write_question(query), ensure_ascii=False))
            pair = {query.id, result.id}
            lines = _lines(self.path)
            others = [line for line in lines if {_field(line, "a"), _field(line, "b")} != pair]
            record = {"a": query.id, "b": result.id} | _VERDICTS.get(label, {})
            new = [json.dumps(record, ensure_ascii=False)] if label else []
            if len(others) < len(lines):
                _replace(self.path, [*others, *new])
            elif new:
                _append(self.path, *new)


def _lines(path: Path) -> list[str]:
    # Not splitlines: a text may hold U+2028.
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n") if path.exists() else []


def _field(line: str, name: str) -> object:
    """Return a field of a record; None if the line is not a record."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    value = record.get(name) if isinstance(record, dict) else None
    return str(value) if isinstance(value, (str, int)) else None


def _append(path: Path, line: str) -> None:
    with path.open("ab+") as file:
        is_cut = file.seek(0, os.SEEK_END) > 0 and (file.seek(-1, os.SEEK_END), file.read())[1] != b"\n"
        file.write(("\n" * is_cut + line + "\n").encode())  # a killed writer leaves half a line
        file.flush()
        os.fsync(file.fileno())


def _replace(path: Path, lines: list[str]) -> None:
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
