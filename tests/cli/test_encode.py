"""``tqnet encode`` and ``export``, and the commands that take an export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tqnet.cli import main
from tqnet.export import make as check
from tqnet.files import content_digest
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


@pytest.fixture
def folder(model_folder: str, tmp_path: Path) -> Path:
    """A model of one's own."""
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def test_it_is_checked_written_and_taken(
    folder: Path, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openvino")
    pytest.importorskip("lancedb")
    index, search = str(tmp_path / "index"), ["search", str(tmp_path / "index"), "--by", "vector", "--json"]
    options = ["--device", "cpu"]
    assert main(["index", bank_folder, "--model", str(folder), "--out", index, *options, "--precision", "fp32"]) == 0
    digest = content_digest(folder)
    export = ["export", "--model", str(folder), "--format", "openvino", "--bank", bank_folder, "--questions", "90"]
    assert main(export) == 0
    out = folder / "openvino"
    assert f"{out}: openvino fp32; cosine to PyTorch fp32: mean 1.00000, minimum 1.0000" in capsys.readouterr().out
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["format"], manifest["precision"]) == ("openvino", "fp32")
    assert manifest["weights"] == digest == content_digest(folder)  # an export is no part of the model
    assert manifest["check"]["questions"] == 90
    assert manifest["check"]["figures"] > 0
    assert manifest["check"]["torch_p5"] == pytest.approx(manifest["check"]["export_p5"], abs=0.01)
    assert {"tqnet", "torch", "openvino"} <= manifest["versions"].keys()
    assert not list(folder.glob(".*"))

    for backend in ("auto", "torch"):
        call = ["encode", "--model", str(folder), "--bank", bank_folder, "--out", str(tmp_path / backend), *options]
        precision = ["--precision", "fp32"] if backend == "torch" else []
        assert main([*call, "--backend", backend, *precision]) == 0
        said = f"tqnet: vectors by the export {out} (fp32)\n" in capsys.readouterr().err
        assert said == (backend == "auto")
    vectors = [np.load(tmp_path / backend / "vectors.npy") for backend in ("auto", "torch")]
    np.testing.assert_allclose(*vectors, atol=2e-4)
    assert (tmp_path / "auto" / "ids.json").read_text() == (tmp_path / "torch" / "ids.json").read_text()

    found = {}
    for backend in ("auto", "torch"):
        assert main([*search, "--text", "Find the area of the triangle.", "--backend", backend, *options]) == 0
        captured = capsys.readouterr()
        found[backend] = [one["id"] for one in json.loads(captured.out)["results"]]
    assert found["auto"][:1] == found["torch"][:1]


def test_vectors_too_far_off_are_refused_unless_forced(
    folder: Path, bank_folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(check.LEAST_COSINE, "bf16", 1.1)
    call = ["export", "--model", str(folder), "--format", "torch", "--precision", "bf16", "--bank", bank_folder]
    call += ["--questions", "40"]
    assert main(call) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("tqnet: mean cosine ")
    assert "is below 1.1 (bf16)" in error
    assert error.endswith("not written (--force writes it)")
    assert sorted(path.name for path in folder.iterdir() if path.is_dir() or path.name.startswith(".")) == []
    assert main([*call, "--force"]) == 0
    assert (folder / "torch" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "onnx", "--precision", "int8"], "--format onnx --precision int8: ONNX Runtime's int8 drifts"),
        (["--format", "onnx", "--precision", "bf16"], "--format onnx --precision bf16: ONNX Runtime has no bf16"),
        (
            ["--format", "torch", "--precision", "int8"],
            "--format torch --precision int8: PyTorch's int8 is not supported",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line(
    folder: Path, bank_folder: str, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--model", str(folder), "--bank", bank_folder, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tqnet: error: {said}")


def test_a_folder_that_is_no_export_is_left_alone(
    folder: Path, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "thesis.txt").write_text("years of work")
    call = ["export", "--model", str(folder), "--format", "torch", "--bank", bank_folder, "--out", str(own)]
    assert main(call) == 2
    assert capsys.readouterr().err == f"tqnet: error: {own}: exists and is not an export\n"
    assert (own / "thesis.txt").read_text() == "years of work"
