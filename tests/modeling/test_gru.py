"""The text encoder of bidirectional GRUs: padding, what stands for the text, and a solver that learns with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.word_problems import train, write_problems
from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.gru import GRUConfig, GRUEncoder
from tqnet.modeling.heads import EmbeddingAugmentation
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.settings import ModelConfig

TEXTS = ["Tom has 3 pens and buys 5 more pens.", "Ann eats 2 cakes."]


@pytest.fixture
def shape() -> ModelConfig:
    return ModelConfig(
        text="gru", scratch_hidden=12, scratch_layers=2, gru_embedding=8, visual=None, fusion="none", dropout=0.0
    )


def test_states_do_not_depend_on_padding() -> None:
    torch.manual_seed(0)
    encoder = GRUEncoder(GRUConfig(vocab_size=30, embedding_size=8, hidden_size=12, num_hidden_layers=2)).eval()
    ids = torch.randint(1, 30, (2, 7))
    ids[1, 4:] = 0
    together = encoder(ids, attention_mask=ids > 0).last_hidden_state
    assert together.shape == (2, 7, 12)
    torch.testing.assert_close(together[:1], encoder(ids[:1]).last_hidden_state)
    torch.testing.assert_close(together[1:, :4], encoder(ids[1:, :4]).last_hidden_state)


def test_the_first_state_is_that_of_both_ends() -> None:
    """A literal reference: the last state forwards plus the last one backwards; words have the sum of both."""
    torch.manual_seed(0)
    encoder = GRUEncoder(GRUConfig(vocab_size=30, embedding_size=8, hidden_size=12, num_hidden_layers=1)).eval()
    ids = torch.randint(1, 30, (1, 5))
    states, last = encoder.gru(encoder.words(ids))
    encoded = encoder(ids).last_hidden_state
    torch.testing.assert_close(encoded[0, 0], last[0, 0] + last[1, 0])
    torch.testing.assert_close(encoded[0, 2], states[0, 2, :12] + states[0, 2, 12:])


def test_it_is_saved_and_loaded(shape: ModelConfig, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, _ = build_model(shape, TEXTS)
    assert not [name for name, part in model.text.named_modules() if getattr(part, "p", 0) or name == "pooler"]
    model.save_pretrained(tmp_path)
    again = load_model(tmp_path)
    torch.testing.assert_close(torch.tensor(again.encode(TEXTS)), torch.tensor(model.eval().encode(TEXTS)))
    assert again.text.gru.num_layers == 2


def test_what_a_gru_cannot(shape: ModelConfig) -> None:
    model, _ = build_model(shape, TEXTS)
    assert isinstance(model, TQNetModel)
    with pytest.raises(ValueError, match="a text encoder tqnet_gru has no layer of embeddings"):
        EmbeddingAugmentation(model, ["shuffle"], 0.1)
    shape.fusion = "joint"
    with pytest.raises(ValueError, match=r"model\.fusion: joint, but the GRUs"):
        build_model(shape, TEXTS)


def test_a_solver_learns_with_it(tmp_path: Path) -> None:
    bank = write_problems(tmp_path / "bank.jsonl")
    gru = ("model.text=gru", "model.gru_embedding=32", "model.dropout=0.1", "run.epochs=20", "run.eval_every=30")
    train(bank, tmp_path / "run", *gru, "optim.schedule=linear")
    scores = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert max(score.get("valid/answers", 0) for score in scores) > 0.95
