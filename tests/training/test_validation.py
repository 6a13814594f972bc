"""What a run's best state is chosen by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.training.config import DataConfig, RunConfig
from tqnet.training.validation import ValidationPrecision, similar_questions

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"


def test_distractors_join_the_corpus_and_ask_nothing(
    build_tiny: Callable[..., TQNetModel], sample_bank: QuestionBank
) -> None:
    model, size = build_tiny(), len(sample_bank.split("valid"))
    alone, among = (
        ValidationPrecision.of(model, DataConfig(bank=str(SAMPLE), distractors=count), RunConfig())
        for count in (0, 100)
    )
    assert alone is not None
    assert among is not None
    assert (len(alone.bank), len(among.bank)) == (size, size + 100)
    splits = np.asarray(among.bank.column("split"), dtype=object)
    assert set(splits[:size]) == {"valid"}
    assert set(splits[size:]) == {"train"}
    assert 0 < among()["valid/p@5"] <= alone()["valid/p@5"]  # the same queries, searched in more


def test_pairs_of_records_that_are_skipped_are_skipped(tmp_path: Path) -> None:
    bank, pairs = tmp_path / "questions.jsonl", tmp_path / "pairs.csv"
    bank.write_text('{"id": "1", "stem": "x"}\n{"id": "2"}\n{"id": "3", "stem": "y"}\n', encoding="utf-8")
    pairs.write_text("a,b,similar\n1,2,1\n1,3,1\n", encoding="utf-8")
    data = DataConfig(bank=str(bank), on_error="skip", pairs=str(pairs))
    with (
        pytest.warns(UserWarning, match="1 of 3 records left out"),
        pytest.warns(UserWarning, match="1 of 2 pairs left out, .* no question '2' in the bank"),
    ):
        assert similar_questions(data.load(), data).neighbours(0).tolist() == [1]


def test_a_bank_without_validation_questions_has_no_score(
    build_tiny: Callable[..., TQNetModel], tmp_path: Path
) -> None:
    bank = tmp_path / "questions.jsonl"
    bank.write_text('{"id": "1", "stem": "What is $1+1$?", "split": "train"}\n', encoding="utf-8")
    assert ValidationPrecision.of(build_tiny(), DataConfig(bank=str(bank)), RunConfig()) is None
