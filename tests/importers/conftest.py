"""A bank made of a source, and what was said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tqnet.importers import Imported, Settings, import_bank
from tqnet.questions import Question, QuestionBank

#: What `load` gives: the questions by id with their figures relative to the bank, and the report.
Loaded = tuple[dict[str, Question], Imported]

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes records as JSON Lines."""

    def write(*records: Any, name: str = "bank.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
        return path

    return write


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Loaded]:
    """Imports a source, and loads the bank with every figure decoded."""

    def load(source: Path, out: str = "bank", **options: object) -> Loaded:
        settings = options.pop("settings", Settings())
        imported = import_bank(source, tmp_path / out, settings=settings, **options)  # type: ignore[arg-type]
        bank = QuestionBank.load(tmp_path / out, verify_images=True)
        assert len(bank) == imported.questions
        return {question.id: question for question in bank}, imported

    return load


@pytest.fixture
def faults() -> Callable[[Imported], list[str]]:
    """The faults as they are printed, without the folders of the source."""

    def faults(imported: Imported) -> list[str]:
        return [f"{Path(fault.file).name}:{fault.line}: {fault.field}: {fault.message}" for fault in imported.faults]

    return faults


@pytest.fixture
def quiz(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a document of Moodle."""

    def quiz(document: str) -> Path:
        path = tmp_path / "quiz.xml"
        path.write_bytes(document.encode("utf-8", "surrogateescape"))
        return path

    return quiz
