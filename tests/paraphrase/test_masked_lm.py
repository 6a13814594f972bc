"""Guesses of what stands in a gap: whole words, in order, by a model that has a head for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertModel

from tqnet.paraphrase.rewriting import load_masked_lm
from tqnet.text.vocabulary import learn_wordpiece

CPU = torch.device("cpu")
TEXTS = ["Ann has 3 red pens and Bob has 4 blue pens.", "How many pens do Ann and Bob have?"] * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked language model of transformers with random weights."""
    folder = tmp_path_factory.mktemp("masked")
    tokenizer = learn_wordpiece(TEXTS, 200)
    torch.manual_seed(0)
    shape = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=24,
    )
    BertForMaskedLM(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_guesses_of_each_gap(folder: Path) -> None:
    model = load_masked_lm(str(folder), CPU)
    assert model.gap == "[MASK]"
    found = model(["Ann has [MASK] red [MASK].", "No gap.", "[MASK]?"])
    assert [len(of) for of in found] == [2, 0, 1]
    for words, probability in (guesses for of in found for guesses in of):
        assert len(words) == len(set(words)) == len(probability)
        assert all(word.isalnum() for word in words)
        assert probability.sum() == pytest.approx(1)
        assert (probability[:-1] >= probability[1:]).all()
    alone = model(["[MASK]?"])[0][0]
    assert alone.words == found[2][0].words
    assert alone.probability == pytest.approx(found[2][0].probability, abs=1e-5)


def test_a_long_text_is_cut(folder: Path) -> None:
    (found,) = load_masked_lm(str(folder), CPU)(["Ann has " * 20 + "[MASK]"])
    assert found == []


def test_a_model_without_a_head_is_refused(folder: Path, tmp_path: Path) -> None:
    BertModel(BertConfig.from_pretrained(folder)).save_pretrained(tmp_path / "encoder")
    with pytest.raises(ValueError, match=r"encoder: has no head for masked tokens \(cls\.predictions"):
        load_masked_lm(str(tmp_path / "encoder"), CPU)
    with pytest.raises(FileNotFoundError, match="missing: no such folder"):
        load_masked_lm(str(tmp_path / "missing"), CPU)
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "model").mkdir()
    with pytest.raises(ValueError, match=r"an encoder without its head; the folder of the run, .*run, has both"):
        load_masked_lm(str(tmp_path / "run" / "model"), CPU)
