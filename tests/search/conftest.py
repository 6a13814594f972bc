"""The records that every engine is tried with, and every engine in turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tqnet.questions import Question, QuestionBank
from tqnet.search.engine import SearchEngine
from tqnet.search.lance import LanceEngine
from tqnet.search.records import records, schema

WIDTH = 8


def make_questions(count: int = 60) -> list[Question]:
    """Questions about a few things, some with a concept, a difficulty, a figure; two of a kind now and then."""
    shapes, tasks = ["circle", "triangle", "square"], ["area", "perimeter", "height"]
    return [
        Question(
            id=f"q{i:03d}",
            stem=f"Find the {tasks[i // 3 % 3]} of the {shapes[i % 3]} with ${i // 2} x + \\dfrac12$",
            options=("yes", "no") if i % 4 == 0 else (),
            images=(f"figure{i}.png",) if i % 5 == 0 else (),
            knowledge=(("Geometry", shapes[i % 3].title()),) if i % 7 else (),
            difficulty=None if i % 11 == 0 else i % 6,
            type="choice" if i % 4 == 0 else "blank",
            language="en" if i % 2 else None,
        )
        for i in range(count)
    ]


def make_vectors(count: int = 60, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)


QUESTIONS, VECTORS = make_questions(), make_vectors()
BANK = QuestionBank.from_questions(QUESTIONS)


def encode(questions: Sequence[Question] | QuestionBank) -> np.ndarray:
    """The vector of each question's number; one of none for those without an id, by which an index is calibrated."""
    return np.stack([make_vectors(100)[int(question.id[1:] or 99)] for question in questions])


def new_lance(folder: Path, **limits: int) -> SearchEngine:
    return LanceEngine(folder / "lance", schema(WIDTH), **limits)


#: Name -> an empty engine in a folder.
EMBEDDED: dict[str, Callable[[Path], SearchEngine]] = {
    "lance": new_lance,
    "lance, graph": partial(new_lance, exact=20),
    "lance, partitions": partial(new_lance, exact=20, graph=40),
}
MILVUS = pytest.param("milvus", marks=pytest.mark.slow)

NewEngine = Callable[[str, Path], SearchEngine]


@pytest.fixture
def new_engine(request: pytest.FixtureRequest) -> NewEngine:
    """Makes an empty engine of a name, with a folder for its files."""

    def make(name: str, folder: Path) -> SearchEngine:
        if name in EMBEDDED:
            return EMBEDDED[name](folder)
        from tqnet.search.milvus import MilvusEngine

        return MilvusEngine(request.getfixturevalue("milvus"), f"test_{uuid.uuid4().hex}", schema(WIDTH))

    return make


@pytest.fixture(params=[*EMBEDDED, MILVUS])
def engine(request: pytest.FixtureRequest, new_engine: NewEngine, tmp_path: Path) -> Iterator[SearchEngine]:
    engine = new_engine(request.param, tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def full_engine(engine: SearchEngine) -> SearchEngine:
    engine.add(records(QUESTIONS, VECTORS))
    return engine
