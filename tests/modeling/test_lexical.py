"""The linear read-out: a literal reference, numbers, and what a model with one does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tqnet.modeling.build import load_model
from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.lexical import LexicalReadout
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.training.config import RunConfig
from tqnet.training.frozen import FrozenEncoder


@pytest.fixture
def read_out(build_tiny: Callable[..., TQNetModel], tiny_bank: QuestionBank) -> TQNetModel:
    """A tiny model of texts with an untrained read-out."""
    model = build_tiny(awake=True, visual=None, fusion="none")
    FrozenEncoder(model, tiny_bank, 0.7, RunConfig(out="out")).features(tiny_bank)
    return model


def test_terms_are_added_up_without_padding() -> None:
    torch.manual_seed(0)
    shape = {"vocab_size": 20, "hidden_size": 4, "num_attention_heads": 2}
    readout = LexicalReadout(TQNetConfig(shape, fusion="none", lexical=3, lexical_buckets=50, lexical_weight=0.5))
    readout.first.copy_(torch.randint(50, (20,)))
    readout.second.copy_(torch.randint(50, (20,)))
    ids, mask, vectors = torch.randint(20, (2, 5)), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]), torch.randn(2, 4)
    for row, length in enumerate((5, 3)):
        rows = [int(readout.second[token]) for token in ids[row, :length]]
        pairs = zip(ids[row, : length - 1], ids[row, 1:length], strict=True)
        rows += [int(readout.first[a] + readout.second[b]) % 50 for a, b in pairs]
        terms = readout.terms.weight[rows].sum(0)
        read = torch.cat([vectors[row] / vectors[row].norm(), 0.5 * terms / terms.norm()])
        torch.testing.assert_close(readout(vectors, ids, mask)[row], readout.linear.weight @ read)


def test_it_is_traced_for_every_length(read_out: TQNetModel) -> None:
    assert read_out.readout is not None
    b, t = torch.export.Dim("b", min=1), torch.export.Dim("t", min=1)
    lengths = ({0: b}, {0: b, 1: t}, {0: b, 1: t})

    def given(count: int, length: int) -> tuple[torch.Tensor, ...]:
        ids = torch.randint(5, 20, (count, length))
        return torch.randn(count, read_out.config.hidden_size), ids, torch.ones_like(ids)

    traced = torch.export.export(read_out.readout, given(3, 7), dynamic_shapes=lengths).module()
    for inputs in (given(2, 2), given(4, 9)):
        torch.testing.assert_close(traced(*inputs), read_out.readout(*inputs))


def test_terms_tell_words_apart_but_not_numbers(read_out: TQNetModel) -> None:
    def terms(stem: str) -> np.ndarray:
        ids = torch.tensor(read_out.processor.tokenize([stem]))
        assert read_out.readout is not None
        with torch.no_grad():
            return read_out.readout.features(torch.zeros(1, read_out.config.hidden_size), ids, ids > 0)[0].numpy()

    first, numbers, words = map(terms, ("Find $x$ if $x=1$.", "Find $x$ if $x=2$.", "Name the shaded angle."))
    np.testing.assert_allclose(first, numbers, atol=1e-6)
    assert np.linalg.norm(first) == pytest.approx(0.7, abs=1e-5)  # the weight of the terms; the vector is zero
    assert abs(first - words).max() > 0.05


def test_an_untrained_read_out_keeps_what_is_near(read_out: TQNetModel, tiny_bank: QuestionBank) -> None:
    """It is a rotation, followed by a projection: equal questions have equal vectors, of finite length."""
    vectors = read_out.encode([*tiny_bank, tiny_bank[0]], device="cpu")
    np.testing.assert_allclose(vectors[0], vectors[-1], atol=1e-5)
    assert (np.linalg.norm(vectors, axis=1) > 0.1).all()


def test_a_read_out_is_saved_and_loaded(read_out: TQNetModel, tiny_bank: QuestionBank, tmp_path: Path) -> None:
    read_out.save_pretrained(tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.config.lexical == 256
    np.testing.assert_array_equal(loaded.encode(tiny_bank, device="cpu"), read_out.encode(tiny_bank, device="cpu"))


def test_a_read_out_of_the_vector_alone(
    build_tiny: Callable[..., TQNetModel], tiny_bank: QuestionBank, tmp_path: Path
) -> None:
    """It is a rotation at first, and stays when the vocabulary changes, as it counts no token."""
    model = build_tiny(awake=True, visual=None, fusion="none")
    vectors = model.encode(tiny_bank, device="cpu")
    FrozenEncoder(model, tiny_bank, 0, RunConfig(out="out")).features(tiny_bank)
    read = model.encode(tiny_bank, device="cpu")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(read @ read.T, unit @ unit.T, atol=1e-5)
    assert model.readout is not None
    assert model.readout.state_dict().keys() == {"linear.weight"}
    tokens = [str(number) * 9 for number in range(3)]
    model.processor.tokenizer.add_tokens(tokens)
    model.resize_token_embeddings(len(model.processor.tokenizer))
    model.save_pretrained(tmp_path)
    np.testing.assert_allclose(load_model(tmp_path).encode(tiny_bank, device="cpu"), read, atol=1e-5)


def test_a_read_out_in_bf16(read_out: TQNetModel) -> None:
    batch = read_out.processor(["Find $x$."])
    full = read_out(**batch).embedding
    half = read_out.to(torch.bfloat16)(**batch).embedding
    assert torch.cosine_similarity(full, half.float()).item() > 0.99


def test_a_read_out_is_left_out_with_the_vocabulary_that_it_counts(
    read_out: TQNetModel, caplog: pytest.LogCaptureFixture
) -> None:
    read_out.resize_token_embeddings(len(read_out.processor.tokenizer) + 3)
    assert read_out.readout is None
    assert not read_out.config.readout
    assert "read-out" in caplog.text
    assert read_out.encode([Question(id="q", stem="Find $x$.")]).shape == (1, read_out.config.hidden_size)
