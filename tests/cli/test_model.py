"""``tqnet encode`` and ``export``, and the commands that take an export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import FAST, Tqnet, WriteBank
from tqnet.export import make
from tqnet.files import content_digest
from tqnet.modeling.build import load_model
from tqnet.questions import QuestionBank

BROKEN = Path(__file__).parent.parent / "broken_banks" / "corrupt_image"


def test_vectors_and_ids(model_folder: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    out = tmp_path / "new" / "folder"
    output = tqnet("encode", "--model", model_folder, "--bank", bank_folder, "--out", out, *FAST)
    bank = QuestionBank.load(bank_folder)
    vectors = np.load(out / "vectors.npy")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(bank), 48)
    assert np.array_equal(vectors, load_model(model_folder).encode(bank, device="cpu"))
    assert json.loads((out / "ids.json").read_text(encoding="utf-8")) == bank.ids
    assert sorted(path.name for path in out.iterdir()) == ["ids.json", "vectors.npy"]
    assert output == f"{len(bank)} vectors of width 48: {out / 'vectors.npy'}\n"


def test_normalize(model_folder: str, write_bank: WriteBank, tmp_path: Path, tqnet: Tqnet) -> None:
    tqnet("encode", "--model", model_folder, "--bank", write_bank(), "--out", tmp_path, "--normalize")
    assert np.linalg.norm(np.load(tmp_path / "vectors.npy"), axis=1) == pytest.approx(1, abs=1e-5)


def test_vectors_are_cut(folder: Path, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    """Where the model was trained for it without a word; an index cuts those of its queries and changes too."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"matryoshka": [16]}), encoding="utf-8")
    call, index = ["--model", folder, *FAST], tmp_path / "index"
    full, cut = tmp_path / "whole", tmp_path / "cut"
    tqnet("encode", *call, "--bank", bank_folder, "--out", full)
    tqnet("encode", *call, "--bank", bank_folder, "--out", cut, "--dimensions", "16", "--normalize")
    assert "--dimensions" not in tqnet.err
    expected = np.load(full / "vectors.npy")[:, :16]
    assert np.load(cut / "vectors.npy") == pytest.approx(
        expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-5
    )

    tqnet("index", bank_folder, *call, "--out", index, "--dimensions", "16")
    assert json.loads(next(index.rglob("manifest.json")).read_text(encoding="utf-8"))["width"] == 16
    tqnet("index", "update", index, bank_folder, *FAST)
    question = QuestionBank.load(bank_folder)[0]
    results = tqnet.json("search", index, "--text", question.content, "--json", *FAST)["results"]
    assert len(results) == 5

    tqnet("encode", *call, "--bank", bank_folder, "--out", cut, "--dimensions", "8")
    assert f"tqnet: --dimensions 8: {folder} was trained for 16, 48" in tqnet.err
    error = tqnet.fails("encode", *call, "--bank", bank_folder, "--out", cut, "--dimensions", "64")
    assert "--dimensions: 64, but the model's vectors have 48" in error


def test_figures_are_decoded_before_the_first_question_is_encoded(
    model_folder: str, tmp_path: Path, tqnet: Tqnet
) -> None:
    call = ["encode", "--model", model_folder, "--bank", BROKEN, "--out", tmp_path / "out"]
    assert "questions.jsonl:1: images[0]: corrupt image: 'cut.png'" in tqnet.fails(*call, code=1)
    assert not (tmp_path / "out").exists()
    with pytest.warns(UserWarning, match="2 of 3 records left out"):
        tqnet(*call, "--on-error", "skip")
    assert json.loads((tmp_path / "out" / "ids.json").read_text(encoding="utf-8")) == ["good"]
    assert f"{BROKEN / 'cut.png'}: corrupt image" in tqnet.fails(*call, "--no-verify-images")


@pytest.fixture
def folder(model_folder: str, tmp_path: Path) -> Path:
    """A copy of the model."""
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


@pytest.mark.slow
def test_an_export_is_checked_written_and_taken(folder: Path, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    pytest.importorskip("openvino")
    index, cpu = tmp_path / "index", ["--device", "cpu"]
    tqnet("index", bank_folder, "--model", folder, "--out", index, *FAST)
    digest = content_digest(folder)
    call = ["export", "--model", folder, "--format", "openvino", "--bank", bank_folder, "--questions", "90"]
    out = folder / "openvino"
    assert f"{out}: openvino fp32; cosine to PyTorch fp32: mean 1.00000, minimum 1.0000" in tqnet(*call)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["format"], manifest["precision"]) == ("openvino", "fp32")
    assert manifest["weights"] == digest == content_digest(folder)  # an export is no part of the model
    assert manifest["check"]["questions"] == 90
    assert manifest["check"]["figures"] > 0
    assert manifest["check"]["torch_p5"] == pytest.approx(manifest["check"]["export_p5"], abs=0.01)
    assert {"tqnet", "torch", "openvino"} <= manifest["versions"].keys()
    assert not list(folder.glob(".*"))

    vectors, nearest = {}, {}
    for backend in ("auto", "torch"):
        options = ["--backend", backend, *(FAST if backend == "torch" else cpu)]
        tqnet("encode", "--model", folder, "--bank", bank_folder, "--out", tmp_path / backend, *options)
        assert (f"tqnet: vectors by the export {out} (fp32)\n" in tqnet.err) == (backend == "auto")
        vectors[backend] = np.load(tmp_path / backend / "vectors.npy")
        search = ["search", index, "--by", "vector", "--text", "Find the area of the triangle.", "--backend", backend]
        nearest[backend] = tqnet.json(*search, *cpu)["results"][0]["id"]
    np.testing.assert_allclose(vectors["auto"], vectors["torch"], atol=2e-4)
    assert nearest["auto"] == nearest["torch"]


@pytest.mark.slow
def test_vectors_too_far_off_are_refused_unless_forced(
    folder: Path, bank_folder: str, monkeypatch: pytest.MonkeyPatch, tqnet: Tqnet
) -> None:
    monkeypatch.setitem(make.LEAST_COSINE, "bf16", 1.1)
    call = ["export", "--model", folder, "--format", "torch", "--precision", "bf16", "--bank", bank_folder]
    tqnet(*call, "--questions", "40", code=1)
    error = tqnet.err.splitlines()[-1]
    assert error.startswith("tqnet: mean cosine ")
    assert "is below 1.1 (bf16)" in error
    assert error.endswith("not written (--force writes it)")
    assert not [path for path in folder.iterdir() if path.is_dir() or path.name.startswith(".")]
    tqnet(*call, "--questions", "40", "--force")
    assert (folder / "torch" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("format", "precision", "reason"),
    [
        ("onnx", "int8", "ONNX Runtime's int8 drifts"),
        ("onnx", "bf16", "ONNX Runtime has no bf16"),
        ("torch", "int8", "PyTorch's int8 is not supported"),
        ("onnx", "int8-weights", "only openvino's is supported"),
        ("torch", "int8-weights", "only openvino's is supported"),
    ],
)
def test_formats_without_a_precision(
    folder: Path, bank_folder: str, format: str, precision: str, reason: str, tqnet: Tqnet
) -> None:
    options = ["--format", format, "--precision", precision]
    error = tqnet.fails("export", "--model", folder, "--bank", bank_folder, *options)
    assert error.startswith(f"tqnet: error: {' '.join(options)}: {reason}")


def test_a_folder_that_is_no_export_is_left_alone(folder: Path, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    call = ["export", "--model", folder, "--format", "torch", "--bank", bank_folder, "--out", tmp_path / "mine"]
    assert tqnet.fails(*call) == f"tqnet: error: {tmp_path / 'mine'}: exists and is not an export"
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
