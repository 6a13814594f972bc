"""ConSERT's augmentation: what it does to the embeddings in training, and nothing otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from tqnet.modeling.build import build_model
from tqnet.modeling.heads import EmbeddingAugmentation
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.settings import ModelConfig

TEXTS = ["Find x if two x is four.", "Prove it."]


@pytest.fixture
def model() -> TQNetModel:
    torch.manual_seed(0)
    config = ModelConfig(
        text="scratch", scratch_hidden=48, scratch_layers=1, visual=None, fusion="none", dropout=0.0, max_length=32
    )
    model, _ = build_model(config, TEXTS * 5)
    assert isinstance(model, TQNetModel)
    return model.train()


def embedded(model: TQNetModel, kinds: Sequence[str], rate: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
    """Embeddings [2, t, h] as they are and augmented, and the mask of real tokens."""
    batch = model.processor(TEXTS)
    ids, mask = batch["input_ids"], batch["attention_mask"].bool()
    before = model.text.embeddings(input_ids=ids)
    EmbeddingAugmentation(model, kinds, rate)
    return before, model.text.embeddings(input_ids=ids), mask


def test_cutoff_of_tokens(model: TQNetModel) -> None:
    before, after, _ = embedded(model, ["token_cutoff"])
    kept = (after == before).all(-1)
    assert ((after == 0).all(-1) | kept).all()
    assert 0 < kept.sum() < kept.numel()


def test_cutoff_of_features(model: TQNetModel) -> None:
    before, after, _ = embedded(model, ["feature_cutoff"])
    kept = (after == before).all(1)
    assert ((after == 0).all(1) | kept).all()
    assert kept.float().mean().item() == pytest.approx(0.5, abs=0.2)
    assert not torch.equal(kept[0], kept[1])  # each question loses its own


def test_shuffling_exchanges_positions_of_real_tokens(model: TQNetModel) -> None:
    """With words that all look alike, what is left are positions: the same ones in another order."""
    with torch.no_grad():
        model.text.embeddings.word_embeddings.weight.zero_()
    before, after, mask = embedded(model, ["shuffle"])
    for row, real in enumerate(mask):
        one, other = ({tuple(token.tolist()) for token in of[row, real]} for of in (before, after))
        assert one == other
    assert not torch.equal(before[0], after[0])


def test_evaluation_and_an_empty_list_change_nothing(model: TQNetModel) -> None:
    before, after, _ = embedded(model, [])
    assert torch.equal(before, after)
    EmbeddingAugmentation(model.eval(), ["shuffle", "token_cutoff", "feature_cutoff", "dropout"], 0.5)
    ids = model.processor(TEXTS)["input_ids"]
    assert torch.equal(model.text.embeddings(input_ids=ids), before)
    with pytest.raises(ValueError, match="'noise' is none of shuffle, token_cutoff"):
        EmbeddingAugmentation(model, ["noise"], 0.5)
