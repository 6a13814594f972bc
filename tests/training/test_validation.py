"""What a run's best state is chosen by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.training.config import DataConfig
from tqnet.training.validation import ValidationPrecision

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"


def test_distractors_join_the_corpus_and_ask_nothing(
    build_tiny: Callable[..., TQNetModel], sample_bank: QuestionBank
) -> None:
    model, size = build_tiny(), len(sample_bank.split("valid"))
    alone, among = (
        ValidationPrecision.of(model, DataConfig(bank=str(SAMPLE), distractors=count), "no") for count in (0, 100)
    )
    assert alone is not None
    assert among is not None
    assert (len(alone.bank), len(among.bank)) == (size, size + 100)
    splits = np.asarray(among.bank.column("split"), dtype=object)
    assert set(splits[:size]) == {"valid"}
    assert set(splits[size:]) == {"train"}
    assert 0 < among()["valid/p@5"] <= alone()["valid/p@5"]  # the same queries, searched in more


def test_a_bank_without_validation_questions_has_no_score(
    build_tiny: Callable[..., TQNetModel], tmp_path: Path
) -> None:
    bank = tmp_path / "questions.jsonl"
    bank.write_text('{"id": "1", "stem": "What is $1+1$?", "split": "train"}\n', encoding="utf-8")
    assert ValidationPrecision.of(build_tiny(), DataConfig(bank=str(bank)), "no") is None
