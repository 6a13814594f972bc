"""Text encoders of every family behind one contract, and what they lack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForTextEncoding, BartConfig

from tests.families import FAMILIES, HIDDEN, write_encoder
from tqnet.config import ConfigError
from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.heads import EmbeddingAugmentation
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.settings import ModelConfig
from tqnet.modeling.text_encoders import first_position, most_tokens, new_text_encoder
from tqnet.questions import Question, QuestionBank

#: What a sentence-transformers folder says of pooling -> ours.
POOLINGS = {"pooling_mode_cls_token": "first", "pooling_mode_lasttoken": "last", "pooling_mode_mean_tokens": "tokens"}

Build = Callable[..., TQNetModel]


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory, sample_bank: QuestionBank) -> Callable[[str], Path]:
    texts = [question.content for question in sample_bank]
    written: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in written:
            written[family] = write_encoder(family, tmp_path_factory.mktemp(family), texts)
        return written[family]

    return folder


@pytest.fixture
def build(write: Callable[[str], Path], tiny_bank: QuestionBank) -> Build:
    def built(family: str, **options: Any) -> TQNetModel:
        settings = {"visual": "test_resnet", "image_size": 64, "max_length": 96, "vocabulary_min_count": 5} | options
        torch.manual_seed(0)
        texts = [question.content for question in tiny_bank]
        return build_model(ModelConfig(text=str(write(family)), **settings), texts)[0]  # type: ignore[return-value]

    return built


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_depend_on_the_question_alone(
    family: str, build: Build, mixed_questions: list[Question], tmp_path: Path
) -> None:
    model = build(family)
    together = model.encode(mixed_questions, device="cpu")
    alone = np.concatenate([model.encode([question], device="cpu") for question in mixed_questions])
    assert together.shape == (len(mixed_questions), HIDDEN)
    np.testing.assert_allclose(together, alone, atol=2e-5)
    assert len(np.unique(together.round(4), axis=0)) > len(mixed_questions) // 2
    model.save_pretrained(tmp_path)
    assert np.array_equal(load_model(tmp_path).encode(mixed_questions, device="cpu"), together)


@pytest.mark.parametrize("family", FAMILIES)
def test_text_alone_is_read_as_by_the_encoder(family: str, build: Build, write: Callable[[str], Path]) -> None:
    model = build(family, visual=None, fusion="none", vocabulary_min_count=0)
    batch = model.processor(["Find $x$ if $2x = 7$.", "How many?"])
    kind = AutoModelForTextEncoding if family == "t5" else AutoModel
    encoder = kind.from_pretrained(write(family), dtype=torch.float32).eval()
    with torch.no_grad():
        states = encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1)
    expected = (states * mask).sum(1) / mask.sum(1)
    torch.testing.assert_close(model.eval()(**batch).embedding, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", [f for f in FAMILIES if f not in ("albert", "electra", "qwen3")])
def test_figures_in_the_encoders_own_sequence_leave_text_alone_as_it_was(
    family: str, build: Build, mixed_questions: list[Question]
) -> None:
    """Positions of RoBERTa begin after that of padding, also where they are given."""
    joint, apart = build(family, fusion="joint"), build(family, fusion="none", visual=None)
    apart.text.load_state_dict(joint.text.state_dict())
    batch = joint.processor([question for question in mixed_questions if question.images][:2])
    mask = batch["attention_mask"].bool()
    joint.eval(), apart.eval()
    with torch.no_grad():
        nothing = torch.zeros(2, 3, HIDDEN)
        unseen = torch.zeros(2, 3, dtype=torch.bool)
        text, _, _ = joint.fused(batch["input_ids"], mask, nothing, unseen)
        plain, _, _ = apart.fused(batch["input_ids"], mask, nothing[:, :0], unseen[:, :0])
    torch.testing.assert_close(text[mask], plain[mask], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("family", "why"), [("qwen3", "a decoder"), ("albert", "embeddings of this albert"), ("electra", "16 wide")]
)
def test_joint_fusion_is_refused_where_it_cannot_be(family: str, why: str, build: Build) -> None:
    with pytest.raises(ConfigError, match=f"^model.fusion: joint, but .*{why}"):
        build(family, fusion="joint")


@pytest.mark.parametrize(
    ("family", "most", "first"), [("bert", 512, 0), ("roberta", 96, 2), ("mpnet", 96, 2), ("t5", None, 0)]
)
def test_limits_are_those_of_the_positions(family: str, most: int | None, first: int, build: Build) -> None:
    model = build(family)
    assert (most_tokens(model.text), first_position(model.text)) == (most, first)
    long = model.processor(["x " * 200])
    assert model.eval()(**long).embedding.isfinite().all()
    if most:
        with pytest.raises(ConfigError, match=rf"^model.max_length: {most + 1} is more than the encoder's {most} "):
            build(family, max_length=most + 1)


def test_an_encoder_with_a_decoder_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="a bart is an encoder and a decoder"):
        new_text_encoder(BartConfig())


@pytest.mark.parametrize(("mode", "pooling"), POOLINGS.items())
def test_pooling_is_that_of_the_card(mode: str, pooling: str, write: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.symlink_to(write("qwen3"))
    (tmp_path / "copy").mkdir()
    for file in folder.iterdir():
        (tmp_path / "copy" / file.name).symlink_to(file)
    (tmp_path / "copy/1_Pooling").mkdir()
    (tmp_path / "copy/1_Pooling/config.json").write_text(f'{{"{mode}": true}}')
    model, _ = build_model(
        ModelConfig(text=str(tmp_path / "copy"), visual=None, fusion="none", prompt="Query: "), ["a b", "c"]
    )
    assert (model.config.pooling, model.processor.prompt) == (pooling, "Query: ")
    batch = model.processor(["one", "one and two and three"])
    with torch.no_grad():
        states = model.eval().text(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        embedding = model(**batch).embedding
    lengths = batch["attention_mask"].sum(1)
    rows = states.last_hidden_state
    expected = {
        "first": rows[:, 0],
        "last": torch.stack([rows[i, n - 1] for i, n in enumerate(lengths)]),
        "tokens": torch.stack([rows[i, :n].mean(0) for i, n in enumerate(lengths)]),
    }[pooling]
    torch.testing.assert_close(embedding, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", ["bert", "modernbert", "t5", "qwen3"])
def test_checkpointed_gradients_are_those_of_the_model(
    family: str, build: Build, mixed_questions: list[Question]
) -> None:
    model = build(family, dropout=0.0, fusion="none", visual=None).train()
    batch = model.processor(mixed_questions)

    def gradients() -> list[torch.Tensor]:
        model.zero_grad()
        model(**batch).embedding.square().sum().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    plain = gradients()
    model.activation_checkpointing_enable()
    assert any(getattr(module, "gradient_checkpointing", False) for module in model.text.modules())
    torch.testing.assert_close(gradients(), plain, atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["first", "last"])
def test_every_pooling_is_exported(pooling: str, build: Build, tiny_bank: QuestionBank, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    from tqnet.export.make import export

    build("qwen3", pooling=pooling).save_pretrained(tmp_path / "model")
    check = export(tmp_path / "model", tiny_bank, tmp_path / "export", "openvino", "fp32", questions=20)
    assert check.cosine_mean > 0.999


@pytest.mark.parametrize("family", ["bert", "albert", "distilbert", "roberta"])
def test_positions_of_every_family_are_shuffled(family: str, build: Build) -> None:
    model = build(family, fusion="none", visual=None, dropout=0.0).train()
    batch = model.processor(["one two three four five six", "seven"])
    plain = model(**batch).embedding
    EmbeddingAugmentation(model, ["shuffle"], 0.0)
    assert not torch.allclose(model(**batch).embedding[0], plain[0])


def test_without_positions_nothing_is_shuffled(build: Build) -> None:
    with pytest.raises(ValueError, match="modernbert adds no positions"):
        EmbeddingAugmentation(build("modernbert"), ["shuffle"], 0.0)
