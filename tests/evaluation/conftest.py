"""A small bank whose vectors know the groups, and the real banks of ``TQNET_DATA`` where they are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tqnet.questions import KnowledgeHierarchy, Question, QuestionBank, Similarity


@pytest.fixture(scope="session")
def bank(tmp_path_factory: pytest.TempPathFactory) -> QuestionBank:
    """96 questions in 12 groups of 8, every group under one of 3 concepts; every third has a figure."""
    figure = tmp_path_factory.mktemp("figures") / "circle.png"
    Image.new("RGBA", (60, 40), (0, 0, 0, 0)).save(figure)
    questions = []
    for i in range(96):
        group = i % 12
        questions.append(
            Question(
                id=f"q{i:03d}",
                stem=f"Find $x^{{{group}}}$ of item {i} by theorem number {group}.",
                images=(str(figure),) if i // 12 % 3 == 0 else (),
                knowledge=((f"Area {group % 3}", f"Topic {group % 6}"),),
                group=f"g{group}",
                split=("train", "train", "valid", "test")[group % 4],
            )
        )
    return QuestionBank.from_questions(questions)


@pytest.fixture(scope="session")
def similarity(bank: QuestionBank) -> Similarity:
    return Similarity.from_groups(bank)


@pytest.fixture(scope="session")
def hierarchy(bank: QuestionBank) -> KnowledgeHierarchy:
    return KnowledgeHierarchy.from_bank(bank)


@pytest.fixture(scope="session")
def vectors(bank: QuestionBank) -> np.ndarray:
    """Noisy group centres, ``[96, 16]``."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(12, 16))
    return centres[np.arange(96) % 12] + 1.2 * rng.normal(size=(96, 16))


@pytest.fixture(scope="session")
def real_bank() -> QuestionBank:
    """The geometry bank below ``TQNET_DATA``."""
    folder = Path(os.environ.get("TQNET_DATA", "")) / "geometry"
    if not (folder / "questions.jsonl").is_file():
        pytest.skip("TQNET_DATA names no folder with the bank geometry")
    return QuestionBank.load(folder)
