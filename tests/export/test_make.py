"""What is refused, and what an export tells of how it was made."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tqnet.export.graphs import graphs
from tqnet.export.make import QUESTIONS, beside, export
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank


def test_a_model_of_grus_is_one_line(build_tiny: Callable[..., TQNetModel]) -> None:
    model = build_tiny(text="gru", gru_embedding=24, visual=None, fusion="none")
    with pytest.raises(ValueError, match=r"a tqnet of model\.text=gru is not exported"):
        graphs(model)


def test_int8_is_fitted_to_questions_compared_only_where_others_run_out() -> None:
    compared = np.arange(100)
    assert not np.isin(beside(compared, 1000, seed=0), compared).any()
    short = beside(compared, 300, seed=0)
    assert len(np.unique(short)) == QUESTIONS
    assert np.isin(np.arange(100, 300), short).all()
    assert beside(compared, 120, seed=0).tolist() == list(range(120))


@pytest.mark.slow
def test_int8_of_a_bank_without_figures_tells_what_stays_in_fp32(
    tiny_model: TQNetModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("openvino")
    pytest.importorskip("nncf")
    questions = (Question(id=str(i), stem=f"Find $x_{{{i}}}$ twice.") for i in range(12))
    QuestionBank.from_questions(questions).save(tmp_path / "questions.jsonl")
    tiny_model.save_pretrained(tmp_path / "model")
    out = tmp_path / "export"
    with caplog.at_level(logging.WARNING, "tqnet"):
        bank = QuestionBank.load(tmp_path)
        export(tmp_path / "model", bank, out, "openvino", "int8", questions=8, force=True)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["calibration"] == {"questions": 12, "also_compared": 8}
    assert manifest["not_quantized"] == ["figures", "fused"]
    assert any(m.endswith("uses it: figures, fused") for m in caplog.messages)
