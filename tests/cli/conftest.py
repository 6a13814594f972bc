"""A tiny saved model and a part of the sample bank, for the commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question, QuestionBank

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"

#: Questions of the sample bank that the slower commands are tried on: whole groups, so that P@5 has queries.
GROUPS = 24


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TQNET_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, cache: None) -> str:
    torch.manual_seed(0)
    config = ModelConfig(
        text="scratch",
        scratch_hidden=48,
        scratch_layers=2,
        scratch_vocab=1200,
        vocabulary_min_count=3,
        visual="resnet10t",
        image_size=64,
        fusion_heads=12,
        max_length=96,
    )
    model, _ = build_model(config, (question.content for question in QuestionBank.load(SAMPLE)))
    folder = tmp_path_factory.mktemp("run") / "model"
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def bank_folder(tmp_path_factory: pytest.TempPathFactory, cache: None) -> str:
    """Some 180 questions of the sample bank, about half of them with figures, in all three splits; 10 have no group."""
    bank = QuestionBank.load(SAMPLE)
    groups = np.array([group or "" for group in bank.column("group")])
    names = [name for name in dict.fromkeys(groups.tolist()) if name][:GROUPS]
    folder = tmp_path_factory.mktemp("part")
    lone = np.flatnonzero(groups == "")[:10]
    bank.select(np.union1d(np.flatnonzero(np.isin(groups, names)), lone)).save(folder / "questions.jsonl")
    return str(folder)


@pytest.fixture
def write_bank(tmp_path: Path):
    """Writes questions without figures to a bank of their own; options are fields of every question."""

    def write(count: int = 14, **fields: object) -> str:
        questions = (Question(id=f"q{i:02d}", stem=f"Find $x_{{{i}}}$ twice.", **fields) for i in range(count))
        path = tmp_path / "own" / "questions.jsonl"
        path.parent.mkdir(exist_ok=True)
        QuestionBank.from_questions(questions).save(path)
        return str(path.parent)

    return write
