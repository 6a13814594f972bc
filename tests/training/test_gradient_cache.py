"""Cached gradients are the gradients; what draws and what counts does so as in one pass."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tqnet.losses.contrastive import supervised_contrastive
from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.training.contrast import embed_in_chunks
from tqnet.training.data import QuestionViews, split_questions

Build = Callable[..., TQNetModel]
Inputs = dict[str, Tensor]


@pytest.fixture
def inputs(build_tiny: Build, tiny_bank: QuestionBank) -> Inputs:
    """40 questions: 24 without a figure, 12 with one, 4 with several."""
    views = QuestionViews(tiny_bank, build_tiny().processor, seed=0)
    return views.collate([views[0, i, 0] for i in range(len(tiny_bank))]).inputs


def scl(embedding: Tensor) -> Tensor:
    """Eq. 3, where question 2i is similar to 2i + 1."""
    pair = torch.arange(len(embedding)) // 2
    similar = (pair[:, None] == pair) & ~torch.eye(len(embedding), dtype=torch.bool)
    return supervised_contrastive(F.normalize(embedding, dim=-1), similar, 0.1)


def gradients(model: TQNetModel) -> dict[str, Tensor]:
    return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


def train(model: TQNetModel, inputs: Inputs, chunk: int, bf16: bool = False) -> dict[str, Tensor]:
    """The gradients of a step; dropout draws from seed 1."""
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        embedding = embed_in_chunks(model, inputs, chunk)
    scl(embedding.float() if bf16 else embedding).backward()
    return gradients(model)


def assert_close(actual: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """On the scale of the largest: sums of chunks round otherwise than one sum."""
    assert actual.keys() == expected.keys()
    largest = max(float(gradient.abs().max()) for gradient in expected.values())
    assert largest > 1e-3
    for name, gradient in expected.items():
        assert (actual[name] - gradient).abs().max() < 1e-4 * largest, name


@pytest.mark.parametrize("chunk", [1, 16])
@pytest.mark.parametrize("norm", ["frozen", "group"])
def test_the_gradients_of_chunks_are_those_of_the_batch(
    chunk: int, norm: str, build_tiny: Build, inputs: Inputs
) -> None:
    # In fp64: in fp32, sums of other lengths round too differently on some processors.
    model = build_tiny(awake=True, visual_norm=norm, dropout=0).train().double()
    inputs = inputs | {"pixel_values": inputs["pixel_values"].double()}
    expected = train(copy.deepcopy(model), inputs, 0)
    assert len(expected) == len(list(model.parameters()))
    assert_close(train(model, inputs, chunk), expected)


def cached_by_hand(model: TQNetModel, inputs: Inputs, chunk: int) -> dict[str, Tensor]:
    """The paper's loops, word for word."""
    torch.manual_seed(1)
    states, embeddings = [], []
    for part in split_questions(inputs, chunk):
        states.append(torch.get_rng_state())
        with torch.no_grad():
            embeddings.append(model(**part).embedding)
    features = torch.cat(embeddings).requires_grad_()
    scl(features).backward()
    assert features.grad is not None
    second = copy.deepcopy(model)
    for part, state, cached in zip(split_questions(inputs, chunk), states, features.grad.split(chunk), strict=True):
        torch.set_rng_state(state)
        second(**part).embedding.backward(cached)
    return gradients(second)


def test_it_is_the_loop_of_the_paper(build_tiny: Build, inputs: Inputs) -> None:
    """Dropout and batch norm differ from chunk to chunk, and agree in both passes; statistics move in the first."""
    by_hand, model = build_tiny(awake=True).train(), build_tiny(awake=True).train()
    expected, after_loops = cached_by_hand(by_hand, inputs, 16), torch.rand(1)
    assert_close(train(model, inputs, 16), expected)
    assert torch.equal(torch.rand(1), after_loops)
    torch.testing.assert_close(dict(model.named_buffers()), dict(by_hand.named_buffers()), rtol=0, atol=0)


def test_chunks_pass_one_after_the_other(build_tiny: Build, inputs: Inputs) -> None:
    """Forwards without activations, backwards with those of one chunk at a time."""
    model = build_tiny(dropout=0).train()
    passed: list[tuple[str, int]] = []
    model.register_forward_pre_hook(
        lambda _, __, given: passed.append(("forward", len(given["input_ids"]))), with_kwargs=True
    )
    embedding = embed_in_chunks(model, inputs, 16)
    for part in embedding.grad_fn.next_functions:  # type: ignore[union-attr]  # of torch.cat: a node per chunk
        part[0].register_prehook(lambda grads: passed.append(("backward", len(grads[0]))))  # type: ignore[union-attr]
    scl(embedding).backward()
    forwards = [("forward", 16), ("forward", 16), ("forward", 8)]
    backwards = [(name, size) for size in (8, 16, 16) for name in ("backward", "forward")]
    assert passed == [*forwards, *backwards]
