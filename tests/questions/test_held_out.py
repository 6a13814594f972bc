"""Questions that are tested on are found in a bank, and have no part in a training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tqnet.config import ConfigError
from tqnet.questions import Question, QuestionBank
from tqnet.questions.leakage import rows_held_out
from tqnet.training.config import DataConfig
from tqnet.training.session import training_questions

ROPE = "A rope of 12 m is cut into pieces of 3 m each, and every piece is sold for 4 euros. What do all pieces bring?"
STEMS = [
    ROPE,
    ROPE.replace("12", "20").replace("4 euros", "7 euros"),
    ROPE.upper().replace(" ", "  "),
    "A rope of 12 m is cut. How long is each of the pieces?",
    "Lena reads 30 pages a day. After how many days has she read 210 pages?",
]


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    rows = [{"original": ROPE, "paraphrase": "What do the pieces bring?", "label": 0}]
    rows += [{"original": "How many sides has a cube?", "paraphrase": STEMS[4], "label": 0}]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


@pytest.fixture
def bank(tmp_path: Path) -> str:
    questions = [Question(str(at), stem=stem, split="train") for at, stem in enumerate(STEMS)]
    QuestionBank.from_questions(questions).save(tmp_path / "questions.jsonl")
    return str(tmp_path / "questions.jsonl")


def test_originals_are_found_but_for_spacing_and_numbers(bank: str, pairs: str) -> None:
    """And no paraphrases: a question that only stands there as one is another question."""
    found = rows_held_out(QuestionBank.load(bank), [pairs])
    assert found.tolist() == [0, 1, 2]
    assert rows_held_out(QuestionBank.load(bank), []).tolist() == []
    assert rows_held_out(QuestionBank.load(bank).select(np.array([], dtype=int)), [pairs]).tolist() == []


def test_no_recipe_trains_on_them(bank: str, pairs: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    data = DataConfig(bank=bank, held_out=[pairs])
    assert training_questions(data, pretraining=True).ids == ["3", "4"]
    assert "3 of 5 questions are left out: data.held_out has them" in caplog.text
    data.load().select([0, 1]).save(Path(bank).with_name("two.jsonl"))
    with pytest.raises(ConfigError, match=r"^data\.held_out: leaves no question of .*two\.jsonl to train on"):
        training_questions(DataConfig(bank=str(Path(bank).with_name("two.jsonl")), held_out=[pairs]), pretraining=False)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv: no such file"):
        training_questions(DataConfig(bank=bank, held_out=["nowhere.csv"]), pretraining=False)
