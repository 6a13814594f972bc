"""The command line as a function, a tiny saved model and a part of the sample bank."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.conftest import TINY
from tqnet.cli import main
from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question, QuestionBank

WriteBank = Callable[..., str]
Call = Callable[..., list[object]]

#: Options for the same numbers on every machine.
FAST = ("--device", "cpu", "--precision", "fp32")

#: Questions of the sample bank that the slower commands are tried on: whole groups, so that P@5 has queries.
GROUPS = 24


@dataclass
class Tqnet:
    """Runs ``tqnet`` in this process and returns what it prints; ``err`` is what it printed last to stderr."""

    capsys: pytest.CaptureFixture[str]
    err: str = ""

    def __call__(self, *argv: object, code: int = 0) -> str:
        self.capsys.readouterr()
        try:
            ended = main(list(map(str, argv)))
        except SystemExit as usage:
            ended = int(usage.code or 0)
        out, self.err = self.capsys.readouterr()
        assert ended == code, self.err
        return out

    def json(self, *argv: object) -> Any:
        return json.loads(self(*argv, "--json"))

    def lines(self, *argv: object) -> list[Any]:
        return [json.loads(line) for line in self(*argv, "--json").splitlines()]

    def fails(self, *argv: object, code: int = 2) -> str:
        """Return the error: a line, or one for each fault."""
        self(*argv, code=code)
        assert "Traceback" not in self.err
        error = re.search(r"^tqnet[^\n]*error: .*", self.err, re.MULTILINE | re.DOTALL)
        assert error, self.err
        return error[0].strip()


@pytest.fixture
def tqnet(capsys: pytest.CaptureFixture[str]) -> Tqnet:
    return Tqnet(capsys)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, sample_bank: QuestionBank) -> str:
    torch.manual_seed(0)
    config = ModelConfig(**(TINY | {"max_length": 96, "max_images": 10}))
    model, _ = build_model(config, (question.content for question in sample_bank))
    folder = tmp_path_factory.mktemp("run") / "model"
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def bank_folder(tmp_path_factory: pytest.TempPathFactory, sample_bank: QuestionBank) -> str:
    """Some 180 questions of the sample bank, about half of them with figures, in all three splits; 10 have no group."""
    groups = np.array([group or "" for group in sample_bank.column("group")])
    names = [name for name in dict.fromkeys(groups.tolist()) if name][:GROUPS]
    folder = tmp_path_factory.mktemp("part")
    lone = np.flatnonzero(groups == "")[:10]
    sample_bank.select(np.union1d(np.flatnonzero(np.isin(groups, names)), lone)).save(folder / "questions.jsonl")
    return str(folder)


@pytest.fixture
def write_bank(tmp_path: Path) -> WriteBank:
    """Writes questions without figures to a bank of their own; options are fields of every question."""

    def write(count: int = 14, **fields: Any) -> str:
        questions = (Question(id=f"q{i:02d}", **{"stem": f"Find $x_{{{i}}}$ twice.", **fields}) for i in range(count))
        path = tmp_path / "own" / "questions.jsonl"
        path.parent.mkdir(exist_ok=True)
        QuestionBank.from_questions(questions).save(path)
        return str(path.parent)

    return write
