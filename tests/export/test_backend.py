"""Which of the model and its exports is taken, and when none may be."""

from __future__ import annotations

import dataclasses
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tqnet.cli.groups import BackendOptions
from tqnet.export.encoder import ExportedEncoder, ExportError, Manifest, open_encoder
from tqnet.modeling.model import TQNetModel


@pytest.fixture
def folder(exported, tmp_path: Path) -> Path:
    """A model with an export of OpenVINO in fp32, to be done with as one likes."""
    _, encoder = exported("openvino")
    copied = tmp_path / "model"
    shutil.copytree(encoder.folder.parent, copied)
    rewrite(copied, check={"questions": 40, "figures": 20})
    return copied


def rewrite(folder: Path, **changed: Any) -> None:
    """Say something else in the export's manifest."""
    out = folder / "openvino"
    dataclasses.replace(Manifest.load(out), **changed).save(out)


def change_weights(folder: Path) -> None:
    model = TQNetModel.from_pretrained(folder)
    model.fusion.blocks[0].mlp_out.bias.data += 1
    model.save_pretrained(folder)


def test_auto_takes_the_export_beside_the_weights(folder: Path) -> None:
    encoder = open_encoder(str(folder))
    assert isinstance(encoder, ExportedEncoder)
    assert str(encoder) == "openvino fp32"
    assert isinstance(open_encoder(str(folder), precision="fp32"), ExportedEncoder)
    assert isinstance(open_encoder(str(folder), "torch"), TQNetModel)
    shutil.rmtree(folder / "openvino")
    assert isinstance(open_encoder(str(folder)), TQNetModel)


def test_another_precision_is_computed_by_the_model(folder: Path) -> None:
    assert isinstance(open_encoder(str(folder), precision="bf16"), TQNetModel)
    with pytest.raises(ExportError, match="is in fp32, but --precision is bf16"):
        open_encoder(str(folder), "openvino", precision="bf16")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_commands_cast_weights_once_to_the_same_vectors(folder: Path, precision: str) -> None:
    shutil.rmtree(folder / "openvino")
    options = BackendOptions(precision=precision, device="cpu")
    encoder = options.open_encoder(str(folder))
    assert {layer.weight.dtype for layer in encoder.modules() if isinstance(layer, nn.Linear)} == {
        torch.bfloat16 if precision == "bf16" else torch.float32
    }
    vector = open_encoder(str(folder)).encode("Find $x$.", precision=precision, device="cpu")
    np.testing.assert_array_equal(encoder.encode("Find $x$.", **options.settings), vector)


def test_a_stale_export_is_passed_over_or_refused(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = open_encoder(str(folder)).encode("Find $x$.")
    change_weights(folder)
    with caplog.at_level(logging.WARNING):
        encoder = open_encoder(str(folder))
    assert isinstance(encoder, TQNetModel)
    (message,) = caplog.messages
    assert message.startswith(f"{folder / 'openvino'}: stale, the model next to it has changed since;")
    assert message.endswith("using PyTorch")
    assert np.abs(encoder.encode("Find $x$.") - before).max() > 0.1
    with pytest.raises(ExportError, match="stale"):
        open_encoder(str(folder), "openvino")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"faults": ["mean cosine 0.5 is below 0.999 (fp32)"]}, "too far from PyTorch's (mean cosine 0.5 is below"),
        ({"check": {"questions": 40, "figures": 0}}, "its graphs of figures were not compared with PyTorch"),
        ({"check": {}}, "was not compared with PyTorch"),
    ],
)
def test_what_has_not_passed_is_taken_only_if_asked_for(
    folder: Path, changed: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(folder, **changed)
    with caplog.at_level(logging.WARNING):
        assert isinstance(open_encoder(str(folder)), TQNetModel)
    (message,) = caplog.messages
    assert reason in message
    assert message.endswith("; using PyTorch")
    assert isinstance(open_encoder(str(folder), "openvino"), ExportedEncoder)


def test_what_is_not_there_or_damaged_is_one_line(folder: Path) -> None:
    with pytest.raises(ExportError, match=r"onnx: no export here \(manifest.json is missing\); tqnet export makes one"):
        open_encoder(str(folder), "onnx")
    with pytest.raises(ExportError, match="--backend onnx: encoder:minilm has no folder"):
        open_encoder("encoder:minilm", "onnx")
    (folder / "openvino" / "text.xml").write_text("no graph")
    with pytest.raises(ExportError, match="openvino: its graphs cannot be read"):
        open_encoder(str(folder), "openvino")
    (folder / "openvino" / "manifest.json").write_text("{}")
    with pytest.raises(ExportError, match=r"manifest.json: not as tqnet export writes it"):
        open_encoder(str(folder), "openvino")
