"""``tqnet encode`` writes what the model says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tqnet.cli import main
from tqnet.modeling.build import load_model
from tqnet.questions import QuestionBank

BROKEN = Path(__file__).parent.parent / "broken_banks" / "corrupt_image"


def test_vectors_and_ids(model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "new" / "folder"
    call = ["encode", "--model", model_folder, "--bank", bank_folder, "--out", str(out)]
    assert main([*call, "--device", "cpu", "--precision", "fp32"]) == 0
    bank = QuestionBank.load(bank_folder)
    vectors = np.load(out / "vectors.npy")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(bank), 48)
    assert np.array_equal(vectors, load_model(model_folder).encode(bank, device="cpu"))
    assert json.loads((out / "ids.json").read_text(encoding="utf-8")) == bank.ids
    assert sorted(path.name for path in out.iterdir()) == ["ids.json", "vectors.npy"]
    assert capsys.readouterr().out == f"{len(bank)} vectors of width 48: {out / 'vectors.npy'}\n"


def test_normalize(model_folder: str, write_bank, tmp_path: Path) -> None:
    call = ["encode", "--model", model_folder, "--bank", write_bank(), "--out", str(tmp_path), "--normalize"]
    assert main(call) == 0
    assert np.linalg.norm(np.load(tmp_path / "vectors.npy"), axis=1) == pytest.approx(1, abs=1e-5)


def test_figures_are_decoded_before_the_first_question_is_encoded(
    model_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["encode", "--model", model_folder, "--bank", str(BROKEN), "--out", str(tmp_path / "out")]
    assert main(call) == 1
    assert "questions.jsonl:1: images[0]: corrupt image: 'cut.png'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.warns(UserWarning, match="2 of 3 records left out"):
        assert main([*call, "--on-error", "skip"]) == 0
    assert json.loads((tmp_path / "out" / "ids.json").read_text(encoding="utf-8")) == ["good"]
    assert main([*call, "--no-verify-images"]) == 2
    assert f"{BROKEN / 'cut.png'}: corrupt image" in capsys.readouterr().err


def test_a_folder_without_a_model_is_one_line(write_bank, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encode", "--model", str(tmp_path), "--bank", write_bank(), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"tqnet: error: {tmp_path}: no model here (config.json is missing)\n"
    assert not (tmp_path / "out").exists()
