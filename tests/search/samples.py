"""Engines that need no server, and the records that every engine is tried with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from tqnet.questions import Question
from tqnet.search.engine import SearchEngine
from tqnet.search.lance import LanceEngine
from tqnet.search.records import schema

WIDTH = 8


def new_lance(folder: Path, **limits: int) -> SearchEngine:
    return LanceEngine(folder / "lance", schema(WIDTH), **limits)


#: Name -> an empty engine in a folder.
EMBEDDED: dict[str, Callable[[Path], SearchEngine]] = {
    "lance": new_lance,
    "lance, graph": partial(new_lance, exact=20),
    "lance, partitions": partial(new_lance, exact=20, graph=40),
}


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
