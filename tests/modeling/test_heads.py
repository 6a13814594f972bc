"""Projections, key encoder and queue, augmented embeddings, heads."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.build import build_model
from tqnet.modeling.heads import (
    ContrastiveEncoder,
    EmbeddingAugmentation,
    FigureDecoder,
    KeyQueue,
    MaskedTokenHead,
    MomentumEncoder,
)
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question


def test_each_stream_is_projected_from_its_own_output(tiny_model: TQNetModel, mixed_questions: list[Question]) -> None:
    torch.manual_seed(0)
    encoder = ContrastiveEncoder(tiny_model, ("fused", "text", "visual"), 8).eval()
    with torch.no_grad():
        batch = tiny_model.processor(mixed_questions)
        projected, output = encoder(**batch), tiny_model(**batch)
    for stream, field in (("fused", "embedding"), ("text", "text_embedding"), ("visual", "visual_embedding")):
        first, _, last = encoder.projectors[stream]
        expected = last(first(output[field]).clamp(min=0))
        expected = expected / expected.norm(dim=1, keepdim=True)
        torch.testing.assert_close(projected[stream], expected)
        assert projected[stream].dtype == torch.float32


def test_masked_tokens_are_scored_by_the_word_embedding() -> None:
    torch.manual_seed(0)
    head, embedding, tokens = MaskedTokenHead(6, nn.Embedding(11, 6)), torch.randn(11, 6), torch.randn(4, 6)
    hidden = F.layer_norm(F.gelu(tokens @ head.dense.weight.T + head.dense.bias), (6,))
    torch.testing.assert_close(head(tokens, embedding), hidden @ embedding.T)


@pytest.mark.parametrize(("cells", "size"), [(2, 64), (4, 64), (3, 50)])
def test_a_figure_is_drawn_at_the_size_that_is_asked_for(cells: int, size: int) -> None:
    drawn = FigureDecoder(12, size, width=32)(torch.randn(2, 12, cells, cells))
    assert drawn.shape == (2, 1, size, size)


def test_without_a_projection_the_vectors_themselves_are_contrasted(
    tiny_model: TQNetModel, mixed_questions: list[Question]
) -> None:
    encoder = ContrastiveEncoder(tiny_model, ("fused",), 0).eval()
    with torch.no_grad():
        batch = tiny_model.processor(mixed_questions)
        torch.testing.assert_close(encoder(**batch)["fused"], F.normalize(tiny_model(**batch).embedding, dim=-1))
    assert encoder.dimension == tiny_model.config.hidden_size


@pytest.mark.parametrize("momentum", [0.0, 0.9, 0.999])
def test_the_key_encoder_moves_by_its_formula(momentum: float) -> None:
    query = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    key = MomentumEncoder(query, momentum)
    start = [p.detach().clone() for p in query.parameters()]
    assert all(torch.equal(p, s) for p, s in zip(key.encoder.parameters(), start, strict=True))
    expected = start
    for _ in range(3):
        for parameter in query.parameters():
            parameter.data.normal_()
        key.update(query)
        queries = [p.detach() for p in query.parameters()]
        expected = [momentum * k + (1 - momentum) * q for k, q in zip(expected, queries, strict=True)]
    for moved, wanted in zip(key.encoder.parameters(), expected, strict=True):
        torch.testing.assert_close(moved, wanted)
        assert not moved.requires_grad


@given(st.integers(1, 12), st.lists(st.integers(0, 20), max_size=8))
def test_the_queue_is_a_ring_of_the_newest_keys(size: int, batches: list[int]) -> None:
    queue = KeyQueue(size, 2)
    pushed: list[int] = []
    ring: dict[int, int] = {}
    for count in batches:
        ids = torch.arange(len(pushed), len(pushed) + count)
        before = queue.ids.tolist()
        queue.enqueue(torch.stack([ids, -ids], 1).float(), ids, ids + 1000)
        pushed += ids.tolist()
        newest = pushed[-size:]
        valid = int(queue.valid)
        assert valid == min(len(pushed), size)
        held = queue.ids[:valid].tolist()
        assert sorted(held) == newest
        assert queue.ids[valid:].tolist() == [-1] * (size - valid)
        assert queue.keys[:valid].tolist() == [[i, -i] for i in held]
        assert queue.hashes[:valid].tolist() == [i + 1000 for i in held]
        # What stays does so in its place; the pointer is at the oldest, or at the first free place.
        ring = {i: held.index(i) for i in held if i in before}
        assert all(before[place] == i for i, place in ring.items())
        pointer = int(queue.pointer)
        assert pointer == valid % size if valid < size else held[pointer] == min(held)
        keys, excluded = queue.negatives(torch.tensor([0]), torch.tensor([0]))
        assert keys.shape == (size, 2)
        assert excluded.shape == (1, size)
        assert excluded[:, valid:].all()


def test_absent_keys_are_not_queued() -> None:
    queue, ids = KeyQueue(5, 1), torch.arange(4)
    for present in ([True, False, True, False], [False] * 4, [False, True, True, True]):
        queue.enqueue(ids[:, None].float(), ids, ids, torch.tensor(present))
    assert queue.ids.tolist() == [0, 2, 1, 2, 3]
    assert (int(queue.valid), int(queue.pointer)) == (5, 0)
    queue.enqueue(ids[:, None].float(), ids, ids, torch.tensor([False, True, False, False]))
    assert queue.keys.flatten().tolist() == [1, 2, 1, 2, 3]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6), st.integers(1, 6))
def test_keys_of_the_same_question_or_content_are_masked(entries: list[tuple[int, int]], size: int) -> None:
    queue = KeyQueue(size, 1)
    ids, hashes = (torch.tensor(column) for column in zip(*entries, strict=True))
    queue.enqueue(torch.zeros(len(entries), 1), ids, hashes)
    asked = [(i, h) for i in range(4) for h in range(4)]
    _, excluded = queue.negatives(*(torch.tensor(column) for column in zip(*asked, strict=True)))
    held = list(zip(queue.ids.tolist(), queue.hashes.tolist(), strict=True))[: int(queue.valid)]
    assert excluded[:, len(held) :].all()
    assert excluded[:, : len(held)].tolist() == [[i == j or h == g for j, g in held] for i, h in asked]


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
        tokens_before, tokens_after = (
            {tuple(token.tolist()) for token in states[row, real]} for states in (before, after)
        )
        assert tokens_before == tokens_after
    assert not torch.equal(before[0], after[0])


def test_evaluation_and_an_empty_list_change_nothing(model: TQNetModel) -> None:
    before, after, _ = embedded(model, [])
    assert torch.equal(before, after)
    EmbeddingAugmentation(model.eval(), ["shuffle", "token_cutoff", "feature_cutoff", "dropout"], 0.5)
    ids = model.processor(TEXTS)["input_ids"]
    assert torch.equal(model.text.embeddings(input_ids=ids), before)
